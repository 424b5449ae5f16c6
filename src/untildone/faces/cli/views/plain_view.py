"""The plain view: a line on standard error for each journal entry, agent event, gate and wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from untildone.core.events import AnswerRead, Entry, GatesRan, TurnEnded, TurnInterrupted
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Role
from untildone.core.plugins.agent_io import AgentEvent, Said
from untildone.core.protection.secrets import Redactor
from untildone.core.values.value import replace
from untildone.faces.cli.streams import Output
from untildone.faces.text import gate_lines, loop_lines
from untildone.faces.text.line import Kind, Line
from untildone.operations import output

BURST, A_SECOND = 200.0, 20.0
"""Lines of an agent that are shown at once, and lines a second after that. More lines are counted, not shown."""


class Throttle:
    """Limits the rate of lines to what a person can read, and counts the rest."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._allowance = BURST
        self._at = clock()
        self._left_out = 0

    def admits(self, lines: int = 1) -> int:
        """How many of the given number of further lines may be shown."""
        now = self._clock()
        self._allowance = min(BURST, self._allowance + (now - self._at) * A_SECOND)
        self._at = now
        shown = min(lines, int(self._allowance))
        self._left_out += lines - shown
        self._allowance -= shown
        return shown

    def left_out(self) -> int:
        """How many lines were not shown since the last call."""
        number, self._left_out = self._left_out, 0
        return number


class PlainView:
    """An observer that writes plain lines."""

    def __init__(self, talk: Output, redactor: Redactor) -> None:
        self._talk = talk
        self._redactor = redactor
        self._throttle = Throttle()
        self._held: list[Line] | None = None
        self._heard: list[str] = []
        self._last_speech = ""

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Stop drawing while a person is asked something."""
        yield

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep lines for `release` while a person types, so that they do not overwrite the input."""
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

    def speech(self, text: str) -> None:
        """Show words of an agent."""
        for line in loop_lines.of_speech(text):
            self.line(line)

    def entry(self, entry: Entry, loop: Loop) -> None:
        self._speak(loop)
        if isinstance(entry.event, TurnEnded | TurnInterrupted):
            self._show_left_out()
        for line in loop_lines.of_entry(self._news(entry), loop, live=True):
            if self._held is None:
                self.line(line)
            else:
                self._held.append(line)

    def _news(self, entry: Entry) -> Entry:
        """The entry, without what repeats the words that were just shown: a note, or what a supervisor asks for."""
        event, known = entry.event, self._last_speech.strip()
        if isinstance(event, AnswerRead) and event.note.strip() == known:
            return replace(entry, event=replace(event, note=""))
        if isinstance(event, GatesRan) and known:
            shown = (replace(each, tail="") if each.tail.strip() == known else each for each in event.results)
            return replace(entry, event=replace(event, results=tuple(shown)))
        return entry

    def agent(self, event: AgentEvent, loop: Loop) -> None:
        if isinstance(event, Said):
            self._heard.append(event.text)
            if not _reports_in_json(loop):
                self._speak(loop)
            return
        self._speak(loop)
        line = loop_lines.of_agent(event)
        if line is not None and self._throttle.admits():
            self._show_left_out()
            self.line(line)

    def _speak(self, loop: Loop) -> None:
        """Show what the agent has written so far: only words for people, and only as many lines as a person can read."""
        text, self._heard = "\n".join(self._heard), []
        if text and _reports_in_json(loop):
            text = output.mode(loop.settings.mode).spoken(text)
        lines = text.strip("\n").split("\n") if text.strip() else []
        shown = lines[: self._throttle.admits(len(lines))] if lines else []
        if shown:
            self._show_left_out()
            self._last_speech = text
            self.speech("\n".join(shown))

    def _show_left_out(self) -> None:
        if number := self._throttle.left_out():
            self.line(Line(f"  … {number:,} more lines, not shown", Kind.QUIET))

    def gate(self, command: str, result: GateResult | None) -> None:
        for line in (gate_lines.of_gate_start(command),) if result is None else gate_lines.of_gate(result):
            self.line(line)

    def trying(self, proof: str, number: int, total: int, about: str) -> None:
        if gate_lines.is_shown_trial(number, total):
            self.line(gate_lines.of_trial(proof, number, total, about))

    def waiting(self, until: float, reason: str, loop: Loop) -> None:
        self.line(loop_lines.of_waiting(until, reason, time.time()))


def _reports_in_json(loop: Loop) -> bool:
    """Whether the agent at work reports in JSON, so that its words can be shown only when they are complete."""
    works = loop.turn is None or loop.turn.role is Role.WORKER
    return works and output.mode(loop.settings.mode).reports_in_json
