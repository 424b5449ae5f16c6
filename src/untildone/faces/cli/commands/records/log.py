"""`untildone log`: what happened in a loop, or what its agent printed in a round."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click

from untildone.core.apply import apply
from untildone.core.errors import StoreError, UsageError
from untildone.core.events import Entry, LoopCreated
from untildone.core.limits import Limit
from untildone.core.loop import Loop, output_name
from untildone.core.model import Role
from untildone.core.plugins.agent_io import AgentEvent, Said, Thought
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.parameters import Amount
from untildone.faces.cli.views import speech
from untildone.faces.text import loop_lines
from untildone.operations import look, output
from untildone.operations.output import reader
from untildone.operations.stores import Spool, Store

AT_ONCE = 1 << 20


@click.command()
@parameters.loop_or_last
@click.option("-f", "--follow", is_flag=True, help="Go on showing what happens until the loop rests.")
@click.option(
    "--output",
    "iteration",
    metavar="N",
    type=Amount.of(Limit.ITERATIONS, unlimited=False),
    help="What the agent printed in round N; with --json, as it printed it.",
)
@click.option(
    "--role", type=click.Choice([role.value for role in Role]), default=Role.WORKER.value, help="Whose output."
)
@parameters.place
@parameters.as_json
def command(name: str, follow: bool, iteration: int | None, role: str, folder: str, as_json: bool) -> int:
    """What happened in a loop, a line each."""
    reached = parameters.reach(folder).find(name)
    store, loop_id = reached.store, reached.loop_id
    if store is None:
        raise StoreError(
            f"The journal of loop {loop_id} cannot be read.", f"`untildone show {loop_id}` says what is known"
        )
    if iteration is not None:
        return _show_output(store, store.load(loop_id), Role(role), iteration, raw=as_json)
    data = streams.data()
    loop: Loop | None = None
    for entry in _fresh(look.follow(store, loop_id, to_rest=follow)):
        if as_json:
            data.json(look.entry_json(entry, loop_id))
        else:
            loop = _after(loop, entry, store, loop_id)
            _show(data, entry, loop)
        if data.gone:
            break
    return 0


def _fresh(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Each entry once, in order. Reports entries that are missing because they are damaged."""
    last = 0
    for entry in entries:
        if entry.seq > last + 1:
            streams.talk().prose(_missing(last + 1, entry.seq - 1))
        if entry.seq > last:
            last = entry.seq
            yield entry


def _missing(first: int, last: int) -> str:
    which = f"Entry {first}" if first == last else f"Entries {first} to {last}"
    return f"{which} of the journal cannot be read: damaged or lost."


def _after(loop: Loop | None, entry: Entry, store: Store, loop_id: str) -> Loop:
    """The loop after an entry. If its first entry is damaged, the loop as it is now."""
    begins = isinstance(entry.event, LoopCreated)
    return store.load(loop_id) if loop is None and not begins else apply(loop, entry)


def _show(data: streams.Output, entry: Entry, loop: Loop) -> None:
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))
    for line in loop_lines.of_entry(entry, loop, live=False):
        data.prose(f"{at}  {line.text}")


def _show_output(store: Store, loop: Loop, role: Role, iteration: int, *, raw: bool) -> int:
    printed = store.spool(loop.loop_id, output_name(role, iteration))
    if printed.size() is None:
        raise UsageError(
            f"Loop {loop.loop_id} has no output of round {iteration}.", f"it took {loop.spend.iterations} rounds"
        )
    data = streams.data()
    if raw:
        for line in _lines(printed):
            data.raw(line)
        return 0
    profile = look.profile_of(store, loop.loop_id, role, iteration)
    reads, words = reader(loop.settings.agent_of(role, profile)), _Words(data, loop, role)
    for line in _lines(printed):
        for event in reads.feed(line.rstrip(b"\r\n")):
            words.take(event)
        if data.gone:
            break
    words.show()
    return 0


class _Words:
    """Shows what an agent wrote, piece by piece between its tool calls."""

    def __init__(self, data: streams.Output, loop: Loop, role: Role) -> None:
        self._data = data
        mode = output.mode(loop.settings.mode)
        self._reports = mode.spoken if role is Role.WORKER and mode.reports_in_json else None
        self._together = data.is_terminal or self._reports is not None
        self._said: list[str] = []

    def take(self, event: AgentEvent) -> None:
        if isinstance(event, Said):
            self._said.append(event.text)
            if not self._together:
                self.show()
        elif not isinstance(event, Thought):
            self.show()
            if (line := loop_lines.of_agent(event)) is not None:
                self._data.line(line.text)

    def show(self) -> None:
        text, self._said = "\n".join(self._said), []
        if text and self._reports is not None:
            text = self._reports(text)
        if text:
            speech.write(self._data, text)


def _lines(printed: Spool) -> Iterator[bytes]:
    """The lines of the output, each with its line end."""
    at, begun = 0, b""
    while content := printed.read(at, AT_ONCE):
        at += len(content)
        *lines, begun = (begun + content).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if begun:
        yield begun
