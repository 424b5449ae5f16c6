"""`untildone say`: a message to a loop, with round control at its start."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from untildone.core.errors import UsageError
from untildone.core.model import Status
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.views import summaries
from untildone.operations import control
from untildone.operations.driving import background


@click.command(context_settings={"ignore_unknown_options": True})
@parameters.loop_name
@click.argument("words", metavar="TEXT | -", nargs=-1)
@parameters.place
@parameters.as_json
def command(name: str, words: Sequence[str], folder: str, as_json: bool) -> int:
    """Send a message to a loop: it is part of its next prompt.

    [r+5] at the very start adds five rounds, [r=5] sets what is left to five. A loop that was out of rounds, or that waits for an
    answer, goes on.
    """
    text = _text(words)
    store = parameters.open_store(folder)
    loop_id = store.find(name)
    heard = control.say(store, loop_id, text, environment=parameters.environment())
    pid = (
        background.start_runner(store, loop_id, parameters.environment())
        if heard.goes_on and not heard.has_driver
        else None
    )
    if as_json:
        fields = summaries.fields(heard.loop, driven=store.is_driven(loop_id))
        streams.data().record({**fields, "notices": list(heard.notices), "goes_on": heard.goes_on})
    else:
        for notice in heard.notices:
            streams.data().line(notice)
    if pid is not None:
        streams.talk().prose(f"Loop {loop_id} goes on in the background (process {pid}).")
    elif not as_json and not heard.notices:
        rests = heard.loop.status is Status.PAUSED and not heard.goes_on
        when = f"when it goes on: `untildone resume {loop_id}`" if rests else "with its next prompt"
        streams.talk().prose(f"Loop {loop_id} gets the message {when}.")
    return 0


def _text(words: Sequence[str]) -> str:
    text = sys.stdin.read() if list(words) == ["-"] and sys.stdin else " ".join(words)
    if not text.strip():
        raise UsageError("There is no message.", 'say something: untildone say LOOP "mind the tests"')
    return text
