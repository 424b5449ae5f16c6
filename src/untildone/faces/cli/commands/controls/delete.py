"""`untildone delete`: remove ended loops."""

from __future__ import annotations

import click

from untildone.faces.cli import parameters, streams
from untildone.operations import control


@click.command()
@click.argument("names", metavar="LOOP...", nargs=-1, required=True)
@parameters.place
@parameters.as_json
def command(names: tuple[str, ...], folder: str, as_json: bool) -> int:
    """Delete ended loops: journal, output and receipt. What they changed in the workspace stays."""
    store, data = parameters.open_store(folder), streams.data()
    for loop_id in [store.find(name) for name in names]:
        control.delete(store, loop_id)
        data.record({"loop_id": loop_id, "deleted": True}) if as_json else data.line(f"{loop_id} deleted")
    return 0
