"""`untildone show`: one loop, for people and for programs."""

from __future__ import annotations

import time
from typing import Any

import click

from untildone.core.loop import Loop
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.views import page, speech, summaries
from untildone.operations import look
from untildone.operations.stores import Store


@click.command()
@parameters.loop_or_last
@parameters.place
@parameters.as_json
def command(name: str, folder: str, as_json: bool) -> int:
    """One loop: where it stands, what it used, what its gates say. With --json, its checkpoint."""
    reached = parameters.reach(folder).find(name)
    store, loop_id = reached.store, reached.loop_id
    if store is None:
        return _show_unread(summaries.of_unread(reached), as_json=as_json)
    loop, driven = store.load(loop_id), store.is_driven(loop_id)
    if as_json:
        streams.data().record({**look.checkpoint_fields(loop), "driven": driven})
    else:
        show(streams.data(), store, loop, driven=driven)
    return 0


def show(out: streams.Output, store: Store, loop: Loop, *, driven: bool) -> None:
    """Write the page of a loop, and at its end what the agent said last."""
    for line in page.lines(store, loop, driven=driven, now=time.time()):
        out.prose(line)
    if words := page.last_words(loop):
        out.line("\nThe agent's last words:")
        speech.write(out, words)
    if hint := page.hint(store, loop):
        out.prose(f"\nhint: {hint}")


def _show_unread(fields: dict[str, Any], *, as_json: bool) -> int:
    """What is known of a loop whose journal cannot be read."""
    if as_json:
        streams.data().record(fields)
        return 0
    for name, value in fields.items():
        streams.data().prose(f"{name:<{page.WIDTH}} {value}")
    return 0
