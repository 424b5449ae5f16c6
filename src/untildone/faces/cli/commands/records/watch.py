"""`untildone watch`: the view of a running loop from another terminal."""

from __future__ import annotations

import os
import time

import click

from untildone.core.apply import apply
from untildone.core.events import Entry, GatesRan, GateStarted, LimitReached, TurnRetried, TurnStarted
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.driver import Show, view_of
from untildone.faces.cli.views import loop_end
from untildone.faces.cli.views.plain_view import PlainView
from untildone.faces.text import loop_lines
from untildone.operations.showing.running_output import RunningOutput
from untildone.operations.stores import Records, Store

LOOK_EVERY, LOOK_AT_OUTPUT_EVERY = 0.05, 0.1


class AgentOutput:
    """Shows the output of the agent in the running turn. Looks for it now and then only, if there was none at the last look."""

    def __init__(self, store: Records, loop_id: str) -> None:
        self._output = RunningOutput(store, loop_id)
        self.turn = self._output.turn
        self._next_look = 0.0

    def show(self, view: PlainView, loop: Loop) -> bool:
        """Show new output. Returns whether there was some."""
        events = self._output.fresh() if time.monotonic() >= self._next_look else None
        self._next_look = time.monotonic() + LOOK_AT_OUTPUT_EVERY if events is None else 0.0
        for event in events or ():
            view.agent(event, loop)
        return events is not None

    def look_now(self) -> None:
        """Read output at the next call of `show`, so that it is shown before a new journal entry."""
        self._next_look = 0.0


class Watch:
    """Shows a loop that another process drives."""

    def __init__(self, store: Store, loop_id: str, view: PlainView) -> None:
        self._store = store
        self._loop_id = loop_id
        self._view = view
        self._output = AgentOutput(store, loop_id)
        self._loop: Loop | None = None

    def until_rest(self) -> Loop:
        """Show what happens until the loop rests."""
        journal = self._store.open(self._loop_id)
        try:
            self._begin(tuple(journal.entries()), journal.loop)
            while journal.loop.status in (Status.CREATED, Status.RUNNING) or self._store.is_driven(self._loop_id):
                fresh = journal.catch_up()
                if not self._step(fresh) and not fresh:
                    time.sleep(LOOK_EVERY)
            self._step(journal.catch_up())
            return journal.loop
        finally:
            journal.close()

    def _begin(self, entries: tuple[Entry, ...], loop: Loop) -> None:
        """Show the past of the loop: its title and the running turn."""
        self._loop = loop
        turns = [number for number, entry in enumerate(entries) if isinstance(entry.event, TurnStarted)]
        for line in loop_lines.introduction(loop):
            self._view.line(line)
        for entry in entries[turns[-1] if turns else 0 :] if loop.turn is not None else entries[-1:]:
            self._show(entry, loop)

    def _step(self, fresh: tuple[Entry, ...]) -> bool:
        assert self._loop is not None
        if fresh:
            self._output.look_now()
        printed = self._output.show(self._view, self._loop)
        for entry in fresh:
            self._loop = apply(self._loop, entry)
            self._show(entry, self._loop)
        return printed

    def _show(self, entry: Entry, loop: Loop) -> None:
        self._view.entry(entry, loop)
        match entry.event:
            case TurnStarted():
                self._output.turn(entry.event, loop)
            case GateStarted(command=command):
                self._view.gate(command, None)
            case GatesRan(results=results):
                for result in results:
                    if result.command:
                        self._view.gate(result.command, result)
            case LimitReached(until=until, message=message):
                self._view.waiting(until, f"limit: {message}", loop)
            case TurnRetried(not_before=until, failure=failure):
                self._view.waiting(until, f"{failure.kind.value}: {failure.message}", loop)


@click.command()
@parameters.loop_or_last
@click.option("--plain", is_flag=True, help="Plain lines even at a terminal.")
@parameters.place
def command(name: str, plain: bool, folder: str) -> int:
    """Watch a running loop from another terminal, until it rests. Ctrl-C leaves it alone."""
    store = parameters.open_store(folder)
    watched(store, store.find(name), Show(plain=plain))
    return 0


def watched(store: Store, loop_id: str, show: Show) -> Loop:
    """Show a loop until it rests, and its outcome."""
    view = view_of(store.redactor, show, os.environ)
    with view:
        loop = Watch(store, loop_id, view).until_rest()
    for line in loop_end.lines(loop, store):
        view.line(line)
    streams.data().line(f"{loop_id} {loop.outcome.word if loop.outcome else loop.status.value}")
    return loop
