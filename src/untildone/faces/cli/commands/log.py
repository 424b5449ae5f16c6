"""`untildone log`: what happened in a loop, or what its agent printed in a round."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click

from untildone.core.agent_io import AgentEvent, Said, Thought
from untildone.core.apply import apply
from untildone.core.errors import UsageError
from untildone.core.events import Entry, LoopCreated
from untildone.core.limits import Limit
from untildone.core.loop import Loop, output_name
from untildone.core.model import Role
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.parameters import Amount
from untildone.faces.text import loop_lines
from untildone.faces.text.plain import harmless
from untildone.operations import look
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
    store = parameters.open_store(folder)
    loop_id = store.find(name)
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
            streams.talk().line(_missing(last + 1, entry.seq - 1))
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
        data.line(f"{at}  {line.text}")


def _show_output(store: Store, loop: Loop, role: Role, iteration: int, *, raw: bool) -> int:
    printed = store.spool(loop.loop_id, output_name(role, iteration))
    if printed.size() is None:
        raise UsageError(
            f"Loop {loop.loop_id} has no output of round {iteration}.", f"it took {loop.spend.iterations} rounds"
        )
    reads = reader(loop.settings.agent_for(role))
    data = streams.data()
    for line in _lines(printed):
        if raw:
            data.raw(line)
        else:
            _show_events(data, reads.feed(line.rstrip(b"\r\n")))
        if data.gone:
            break
    return 0


def _lines(printed: Spool) -> Iterator[bytes]:
    """The lines of the output, each with its line end."""
    at, begun = 0, b""
    while content := printed.read(at, AT_ONCE):
        at += len(content)
        *lines, begun = (begun + content).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if begun:
        yield begun


def _show_events(data: streams.Output, events: tuple[AgentEvent, ...]) -> None:
    for event in events:
        if isinstance(event, Said):
            data.line(harmless(event.text) if data.is_terminal else event.text)
        elif not isinstance(event, Thought) and (line := loop_lines.of_agent(event)) is not None:
            data.line(line.text)
