"""Drives a loop in this process until it rests, for `run`, `resume` and the background runner."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from untildone.core.errors import AgentMissing, LoopBusy, LoopNotFound, StoreError, UntilDoneError, UsageError
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.protection.secrets import Redactor
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.signals import interrupted_by_signals
from untildone.faces.cli.views import handback, loop_end
from untildone.faces.cli.views.json_view import JsonLines, JsonView
from untildone.faces.cli.views.plain_view import PlainView
from untildone.faces.text import loop_lines
from untildone.operations.driving import runner
from untildone.operations.driving.runner import TELL_WITHIN, Engine, Surroundings
from untildone.operations.stores import Store
from untildone.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from untildone.faces.cli.views.person import TerminalPerson

TRY_AGAIN = 0.05
LEAVING_WITHIN = 10.0
"""Seconds that the runner of a resting loop gets to exit."""


@dataclass(frozen=True, slots=True)
class Show:
    """The output options of a command."""

    as_json: bool = False
    plain: bool = False
    ask: bool = True
    """Whether a person may be asked, if there is one at a terminal."""


class Driver:
    """Drives loops of one store. Create it with `driver`, which catches signals before a loop is created."""

    def __init__(self, store: Store, around: Surroundings, show: Show) -> None:
        self._store = store
        self._around = around
        self._show = show
        self._data = streams.data()
        self._lines: JsonLines | None = None
        self.view = view_of(around.redactor, show, os.environ)
        self._at_terminal = self._person()
        self._engine = Engine(store, around, self.view, self._at_terminal)
        self._talks = False
        self._rested: Loop | None = None

    @property
    def has_person(self) -> bool:
        return self._at_terminal is not None and not self._engine.interrupted

    def interrupt(self, number: int) -> bool:
        """Handle a signal. Returns whether it ends the drive: in an interactive loop, the first Ctrl-C only asks the person."""
        if self._talks and number == signal.SIGINT and not self._engine.speaks.is_set():
            self._engine.speaks.set()
            return False
        self._engine.interrupt()
        return True

    def watch(self, loop_id: str, *, from_start: bool) -> None:
        """With --json, write the entries of the loop from here on, or from its first entry."""
        if self._show.as_json:
            self._lines = JsonLines(self._store, loop_id, self._data, from_start=from_start)
            self._engine.observer = JsonView(self.view, self._lines)

    def introduce(self, loop: Loop) -> None:
        """Show the title and settings of a loop."""
        for line in loop_lines.introduction(loop):
            self.view.line(line)

    def drive(self, loop: Loop, *, patience: float = 0.0) -> int:
        """Drive the loop until it rests and show its outcome. Returns the exit code.

        Waits `patience` seconds for a runner that is just leaving the loop.
        """
        loop_id = loop.loop_id
        self._talks = self._engine.person is not None and loop.settings.interactive
        try:
            with self.view, self._keys():
                loop = self._drive_when_free(loop_id, time.monotonic() + patience)
        except LoopBusy:
            raise
        except LoopNotFound as gone:
            # The loop existed when the command began, so this is no usage error.
            gone.exit_code = StoreError.exit_code
            raise
        except Exception as error:
            self._report_failure(loop_id, error)
            raise
        self._rested = loop
        exit_code = loop.outcome.exit_code if loop.outcome else 0
        for line in loop_end.lines(loop, self._store):
            self.view.line(line)
        self._write_result(loop, exit_code, None)
        return exit_code

    def _keys(self) -> AbstractContextManager[object]:
        return self._at_terminal.keys if self._at_terminal is not None and self._talks else nullcontext()

    def hand_back(self) -> None:
        """Open the agent's own session for the person at the terminal, if the mode of the loop hands it back."""
        if self._at_terminal is not None and self._rested is not None:
            handback.hand_back(self._rested)

    def _drive_when_free(self, loop_id: str, deadline: float) -> Loop:
        while True:
            try:
                return self._engine.drive(loop_id)
            except LoopBusy:
                if time.monotonic() > deadline or self._engine.interrupted:
                    raise
                time.sleep(TRY_AGAIN)

    def _report_failure(self, loop_id: str, error: Exception) -> None:
        with suppress(UntilDoneError):
            self._write_result(self._store.load(loop_id), getattr(error, "exit_code", 1), error)

    def _write_result(self, loop: Loop, exit_code: int, error: Exception | None) -> None:
        if self._lines is None:
            if error is None and not self._show.as_json:
                self._data.line(f"{loop.loop_id} {loop.outcome.word if loop.outcome else loop.status.value}")
            return
        self._lines.close()
        fields = loop_end.fields(loop, exit_code, time.time())
        self._data.record(fields if error is None else {**fields, "error": str(error)})

    def _person(self) -> TerminalPerson | None:
        if not self._show.ask or self._show.as_json or not (sys.stdin and sys.stdin.isatty()):
            return None
        if not streams.talk().is_terminal:
            return None
        from untildone.faces.cli.views.person import TerminalPerson

        return TerminalPerson(self.view, lambda: self._engine.interrupt(), lambda: self._engine.speaks.set())


def view_of(redactor: Redactor, show: Show, environment: Mapping[str, str]) -> PlainView:
    """The live view at a terminal that can draw it, plain lines elsewhere."""
    talk = streams.talk()
    if show.plain or show.as_json or not talk.is_terminal or environment.get("TERM", "dumb") == "dumb":
        return PlainView(talk, redactor)
    from untildone.faces.cli.views.live_view import LiveView

    return LiveView(talk, redactor)


def create_loop(store: Store, task: str, chosen: Settings, folder: Path, host: Host = Host.NONE) -> Loop:
    """Create and start a loop, and show the notices about its task."""
    from untildone.operations.creating import creation

    try:
        new = creation.create(store, task, chosen, folder, parameters.environment(), host=host, starts=True)
    except AgentMissing as problem:
        raise UsageError(problem.sentence, problem.hint) from None
    for notice in new.notices:
        streams.talk().prose(notice)
    return new.loop


@contextmanager
def driver(store: Store, chosen: Settings, show: Show) -> Iterator[Driver]:
    """A driver for the loops of a store. Signals interrupt it; at the end, the person may go on in the agent's session."""
    around = runner.surroundings(parameters.environment(), chosen, drives_one=True)
    store.redactor = around.redactor
    drives = Driver(store, around, show)
    with interrupted_by_signals(drives.interrupt):
        try:
            yield drives
        finally:
            around.guard.close()
            around.notifier.close(TELL_WITHIN)
    drives.hand_back()
