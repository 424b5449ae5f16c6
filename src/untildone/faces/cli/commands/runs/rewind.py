"""`untildone rewind`: take a loop back to where it was after a round."""

from __future__ import annotations

import click

from untildone.core.errors import UsageError
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.views import summaries
from untildone.operations.history import retrying


@click.command()
@parameters.loop_name
@click.option("--to", metavar="N", type=click.IntRange(0), help="As it was after round N; 0: before the first one.")
@click.option("--undo", is_flag=True, help="Undo the last rewind.")
@parameters.place
@parameters.as_json
def command(name: str, to: int | None, undo: bool, folder: str, as_json: bool) -> int:
    """Take a loop back to where it was after a round: the workspace, byte for byte, its state, and its sessions.

    The loop rests then; `untildone resume` goes on. What it used stays used. The workspace as it was before is kept in a snapshot.
    Agents that have worked since begin a new session, with an account of what happened.
    """
    if (to is None) != undo:
        raise UsageError("It is not clear where to go back to.", "give --to N, or --undo")
    store = parameters.open_store(folder)
    loop_id = store.find(name)
    taken = retrying.undo_rewind(store, loop_id) if to is None else retrying.rewind(store, loop_id, to)
    summaries.answer(taken.loop, driven=False, as_json=as_json)
    _tell(taken)
    return 0


def _tell(taken: retrying.Taken) -> None:
    talk, loop_id = streams.talk(), taken.loop.loop_id
    talk.prose(f"{taken.loop.reason} `untildone resume {loop_id}` goes on.")
    if taken.kept:
        talk.prose(f"What was there is kept: `untildone rewind {loop_id} --undo` brings it back.")
    for text in taken.messages:
        talk.prose(f"The agent does not get this message again, unless you send it again: {text}")
