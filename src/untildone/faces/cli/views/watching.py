"""Watching a loop go, in plain lines on standard error: what happened, what the agent says and does, gates and waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from untildone.core.agent_io import AgentEvent, Said
from untildone.core.events import Entry, TurnEnded, TurnInterrupted
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.core.secrets import Redactor
from untildone.faces.cli.streams import Output
from untildone.faces.text import telling
from untildone.faces.text.telling import Kind, Line

BURST, A_SECOND = 200.0, 20.0
"""So many lines of an agent are shown at once, and so many a second after that: a flood is counted, not shown."""


class Throttle:
    """Lets through what a person could read, and counts the rest."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._allowance = BURST
        self._at = clock()
        self._left_out = 0

    def admits(self, lines: int = 1) -> bool:
        """Whether what stands for so many lines may be shown, as one."""
        now = self._clock()
        self._allowance = min(BURST, self._allowance + (now - self._at) * A_SECOND)
        self._at = now
        if self._allowance < 1:
            self._left_out += lines
            return False
        self._left_out += lines - 1
        self._allowance -= 1
        return True

    def left_out(self) -> int:
        """How many were kept back since this was last asked."""
        number, self._left_out = self._left_out, 0
        return number


class PlainView:
    """An observer that writes a line for each thing worth one."""

    def __init__(self, talk: Output, redactor: Redactor) -> None:
        self._talk = talk
        self._redactor = redactor
        self._throttle = Throttle()
        self._held: list[Line] | None = None

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While a person is asked something."""
        yield

    @contextmanager
    def holding(self) -> Iterator[None]:
        """While a person writes: what happens is not written over their words, but kept for `release`."""
        self._held = []
        try:
            yield
        finally:
            self.release()
            self._held = None

    @property
    def holds_lines(self) -> bool:
        return bool(self._held)

    def release(self) -> None:
        held, self._held = self._held or [], []
        for line in held:
            self.line(line)

    def line(self, line: Line) -> None:
        self._talk.line(self._redactor.text(line.text))

    def entry(self, entry: Entry, loop: Loop) -> None:
        if isinstance(entry.event, TurnEnded | TurnInterrupted):
            self._tell_left_out()
        for line in telling.of_entry(entry, loop, live=True):
            if self._held is None:
                self.line(line)
            else:
                self._held.append(line)

    def agent(self, event: AgentEvent, loop: Loop) -> None:
        lines = event.lines if isinstance(event, Said) else 1
        if self._throttle.admits(lines) and (line := telling.of_agent(event)) is not None:
            self._tell_left_out()
            self.line(line)

    def _tell_left_out(self) -> None:
        if number := self._throttle.left_out():
            self.line(Line(f"  … {number:,} more lines, not shown", Kind.QUIET))

    def gate(self, command: str, result: GateResult | None) -> None:
        for line in (telling.of_gate_start(command),) if result is None else telling.of_gate(result):
            self.line(line)

    def waiting(self, until: float, reason: str, loop: Loop) -> None:
        self.line(telling.of_waiting(until, reason, time.time()))
