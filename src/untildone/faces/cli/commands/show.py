"""`untildone show`: one loop, for people and for programs."""

from __future__ import annotations

import time

import click

from untildone.faces.cli import parameters, streams
from untildone.faces.cli.views import page
from untildone.operations import look


@click.command()
@parameters.loop_or_last
@parameters.place
@parameters.as_json
def command(name: str, folder: str, as_json: bool) -> int:
    """One loop: where it stands, what it used, what its gates say. With --json, its checkpoint."""
    store = parameters.open_store(folder)
    loop_id = store.find(name)
    loop, driven = store.load(loop_id), store.is_driven(loop_id)
    if as_json:
        streams.data().record({**look.checkpoint_fields(loop), "driven": driven})
    else:
        for line in page.lines(store, loop, driven=driven, now=time.time()):
            streams.data().line(line)
    return 0
