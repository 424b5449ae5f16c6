"""Runners in the background: starting one for a loop, and `_drive`, which is what it runs."""

from __future__ import annotations

import time

import click

from untildone import settings
from untildone.core.model import Status
from untildone.core.values.codec import timestamp
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.driver import LEAVING_WITHIN, Show, driver
from untildone.operations import control
from untildone.operations.driving import background
from untildone.operations.inside import refuse
from untildone.operations.stores import Store


def detached(store: Store, loop_id: str, *, as_json: bool) -> int:
    """Start a runner and print the id of the loop."""
    pid = background.start_runner(store, loop_id, parameters.environment())
    data = streams.data()
    if as_json:
        data.record({"event": "loop_detached", "ts": timestamp(time.time()), "loop_id": loop_id, "pid": pid})
    else:
        data.line(loop_id)
    streams.talk().prose(f"Loop {loop_id} goes on in the background (process {pid}).")
    return 0


@click.command(hidden=True)
@click.argument("name", metavar="LOOP")
@parameters.place
def command(name: str, folder: str) -> int:
    """Drive a loop until it rests."""
    store = parameters.open_store(folder)
    loop_id = store.find(name)
    refuse(store, "run")
    chosen = settings.load(store.home, {}, parameters.environment())
    with driver(store, chosen, Show(plain=True, ask=False)) as drives:
        loop = store.load(loop_id)
        patience = LEAVING_WITHIN if loop.runner is None else 0.0
        return drives.drive(control.start(store, loop_id) if loop.status is Status.CREATED else loop, patience=patience)
