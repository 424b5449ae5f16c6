"""`untildone tree`: a loop and the loops below it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from untildone.core import limits
from untildone.core.answers import rounds
from untildone.core.loop import Loop
from untildone.core.values.codec import to_json
from untildone.faces.cli import parameters, streams
from untildone.operations import look
from untildone.operations.stores import Store


@click.command()
@parameters.loop_or_last
@parameters.place
@parameters.as_json
def command(name: str, folder: str, as_json: bool) -> int:
    """A loop with the loops that its agent started, and theirs: state, rounds, and what all of them used."""
    store = parameters.open_store(folder)
    for depth, loop in _below(store, store.load(store.find(name)), 0):
        if as_json:
            streams.data().record(_fields(loop, depth))
        else:
            streams.data().line(f"{'  ' * depth}{_line(loop)}")
    return 0


def _below(store: Store, loop: Loop, depth: int) -> Iterator[tuple[int, Loop]]:
    yield depth, loop
    for child in look.children(store, loop):
        yield from _below(store, child, depth + 1)


def _fields(loop: Loop, depth: int) -> dict[str, object]:
    return {
        "loop_id": loop.loop_id,
        "depth": depth,
        "parent": loop.parent.loop_id if loop.parent else None,
        "title": loop.title,
        "status": loop.status.value,
        "outcome": loop.outcome.word if loop.outcome else None,
        "spend": to_json(loop.spend),
        "total_spend": to_json(loop.total_spend),
        "budget": to_json(loop.budget),
    }


def _line(loop: Loop) -> str:
    state = loop.outcome.word if loop.outcome else loop.status.value
    used = rounds.progress(loop.spend.iterations, loop.budget.iterations)
    in_all = f", {loop.total_spend.iterations} with those below" if loop.children else ""
    amounts = "".join(f", {each}" for each in limits.shown(loop.total_spend))
    return f"{loop.loop_id} {state} ({used} rounds{in_all}{amounts}) {loop.title}"
