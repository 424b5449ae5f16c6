"""`untildone wait`: until a loop rests."""

from __future__ import annotations

import time

import click

from untildone.core.kinds import Host
from untildone.core.model import Status
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.parameters import Amount
from untildone.faces.cli.views import loop_end
from untildone.operations import look
from untildone.operations.driving import presence


@click.command()
@parameters.loop_or_last
@click.option(
    "--timeout", metavar="S", type=Amount("seconds"), help="Seconds to wait at most; then the exit code is 2."
)
@parameters.place
@parameters.as_json
def command(name: str, timeout: float | None, folder: str, as_json: bool) -> int:
    """Wait until a loop rests, and exit with the code of its outcome."""
    store = parameters.open_store(folder)
    loop_id = store.find(name)
    loop = store.load(loop_id)
    if loop.status is Status.RUNNING and loop.host is not Host.CLUSTER and not presence.is_at_work(store, loop_id):
        streams.talk().line(f"Nothing drives loop {loop_id} now; `untildone resume {loop_id}` goes on.")
    loop = look.wait(store, loop_id, timeout)
    exit_code = loop.outcome.exit_code if loop.outcome else 0
    if as_json:
        streams.data().record(loop_end.fields(loop, exit_code, time.time()))
    else:
        streams.data().line(f"{loop_id} {loop.outcome.word if loop.outcome else loop.status.value}")
    return exit_code
