"""`untildone approve`: a person accepts changes of judge files or programs that a gate refused."""

from __future__ import annotations

from collections.abc import Sequence

import click

from untildone.core.model import Status
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.views import summaries
from untildone.operations import control


@click.command()
@parameters.loop_name
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@parameters.place
@parameters.as_json
def command(name: str, paths: Sequence[str], folder: str, as_json: bool) -> int:
    """Accept the agent's changes of tests, runner settings, scripts or programs that a gate refused.

    A claim that was refused only because of these is judged again, without another round.
    """
    store = parameters.open_store(folder)
    loop = control.approve(store, store.find(name), *paths)
    summaries.answer(loop, driven=store.is_driven(loop.loop_id), as_json=as_json)
    rests = loop.status is Status.PAUSED
    then = f" `untildone resume {loop.loop_id}` goes on." if rests else ""
    streams.talk().prose(f"Approved in loop {loop.loop_id}: {', '.join(paths)}.{then}")
    return 0
