"""`untildone diff`: what a loop changed."""

from __future__ import annotations

import os

import click

from untildone.faces.cli import parameters, streams
from untildone.operations import look


@click.command()
@parameters.loop_or_last
@click.option("--stat", is_flag=True, help="Only the files, and how much.")
@click.option("--acceptance", is_flag=True, help="Instead, the acceptance tests that its author wrote.")
@parameters.place
@parameters.as_json
def command(name: str, stat: bool, acceptance: bool, folder: str, as_json: bool) -> int:
    """What a loop changed in its workspace, from its start to its end, or until now."""
    store = parameters.open_store(folder)
    loop_id = store.find(name)
    data = streams.data()
    colour = data.is_terminal and not as_json and "NO_COLOR" not in os.environ
    text = (look.acceptance_tests if acceptance else look.diff)(store, loop_id, stat=stat, colour=colour)
    if as_json:
        data.record({"loop_id": loop_id, "diff": text})
    elif text.strip():
        data.raw(
            text.encode("utf-8", "surrogateescape")
            if text.endswith("\n")
            else f"{text}\n".encode("utf-8", "surrogateescape")
        )
    else:
        streams.talk().prose(f"Loop {loop_id} changed nothing.")
    return 0
