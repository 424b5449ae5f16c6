"""`untildone watch`: the view of a running loop from another terminal."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import BinaryIO

import click

from untildone import agents, verbs
from untildone.agents import Reader, Request
from untildone.core.apply import apply
from untildone.core.events import Entry, GatesRan, LimitReached, TurnRetried, TurnStarted
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.faces.cli import ending, parameters, streams, telling
from untildone.faces.cli.driving import Show, view_of
from untildone.faces.cli.watching import PlainView
from untildone.hosts.turns import output_name
from untildone.store.files import FileStore

LOOK_EVERY = 0.05
AT_ONCE = 1 << 20


class AgentOutput:
    """Reads along what the agent of the running turn prints."""

    def __init__(self, store: FileStore, loop_id: str) -> None:
        self._store = store
        self._loop_id = loop_id
        self._path: Path | None = None
        self._reader: Reader | None = None
        self._file: BinaryIO | None = None
        self._rest = b""

    def turn(self, event: TurnStarted, loop: Loop) -> None:
        choice = loop.settings.agent_for(event.role)
        path = self._store.output(self._loop_id, output_name(event.role, event.iteration))
        self._reader = agents.find(choice.agent).reader(Request(prompt="", command=choice.command))
        if path != self._path:
            self.close()
            self._path = path

    def show(self, view: PlainView, loop: Loop) -> bool:
        """Show what is new; whether there was something."""
        if self._file is None and self._path is not None and self._path.exists():
            self._file = open(self._path, "rb")  # noqa: SIM115 - it stays open for as long as the turn lasts
        content = self._file.read(AT_ONCE) if self._file else b""
        *lines, self._rest = (self._rest + content).split(b"\n")
        for line in lines:
            for event in self._reader.feed(line) if self._reader else ():
                view.agent(event, loop)
        return bool(content)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._path, self._rest = None, None, b""


class Watch:
    def __init__(self, store: FileStore, loop_id: str, view: PlainView) -> None:
        self._store = store
        self._loop_id = loop_id
        self._view = view
        self._output = AgentOutput(store, loop_id)
        self._loop: Loop | None = None

    def until_rest(self) -> Loop:
        """Show what happens until the loop rests."""
        journal = self._store.open(self._loop_id)
        try:
            self._begin(tuple(journal.entries()))
            while self._store.is_driven(self._loop_id) or journal.loop.status in (Status.CREATED, Status.RUNNING):
                fresh = journal.catch_up()
                if not self._step(fresh) and not fresh:
                    time.sleep(LOOK_EVERY)
            self._step(journal.catch_up())
            return journal.loop
        finally:
            journal.close()
            self._output.close()

    def _begin(self, entries: tuple[Entry, ...]) -> None:
        """What was before: only the running turn is shown again."""
        started = 0
        for number, entry in enumerate(entries):
            self._loop = apply(self._loop, entry)
            if isinstance(entry.event, TurnStarted):
                started = number
        if self._loop is None:
            return
        for line in telling.introduction(self._loop):
            self._view.line(line)
        for entry in entries[started:] if self._loop.turn is not None else entries[-1:]:
            self._tell(entry, self._loop)

    def _step(self, fresh: tuple[Entry, ...]) -> bool:
        assert self._loop is not None
        printed = self._output.show(self._view, self._loop)
        for entry in fresh:
            self._loop = apply(self._loop, entry)
            self._tell(entry, self._loop)
        return printed

    def _tell(self, entry: Entry, loop: Loop) -> None:
        self._view.entry(entry, loop)
        match entry.event:
            case TurnStarted():
                self._output.turn(entry.event, loop)
            case GatesRan(results=results):
                for result in results:
                    if result.gate == "check":
                        self._view.gate(result.command, result)
            case LimitReached(until=until, message=message):
                self._view.waiting(until, f"limit: {message}", loop)
            case TurnRetried(not_before=until, failure=failure):
                self._view.waiting(until, f"{failure.kind.value}: {failure.message}", loop)


@click.command()
@parameters.loop_or_last
@click.option("--plain", is_flag=True, help="Plain lines even at a terminal.")
@parameters.folder
def command(name: str, plain: bool, folder: str) -> int:
    """Watch a running loop from another terminal, until it rests. Ctrl-C leaves it alone."""
    store = verbs.store_of(Path(folder))
    loop_id = store.find(name)
    view = view_of(store.redactor, Show(plain=plain), os.environ)
    with view:
        loop = Watch(store, loop_id, view).until_rest()
    for line in ending.lines(loop, store.root):
        view.line(line)
    streams.data().line(f"{loop_id} {loop.outcome.word if loop.outcome else loop.status.value}")
    return 0
