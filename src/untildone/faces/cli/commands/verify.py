"""`untildone verify`: the gates of an ended loop, then and now."""

from __future__ import annotations

import click

from untildone.core.codec import to_json
from untildone.core.errors import UsageError
from untildone.core.model import Outcome
from untildone.faces.cli import parameters, streams
from untildone.faces.text.plain import one_line
from untildone.operations import look
from untildone.operations.look import Verification


@click.command()
@parameters.loop_or_last
@parameters.place
@parameters.as_json
def command(name: str, folder: str, as_json: bool) -> int:
    """Run the checks of an ended loop again and compare: 0 if all pass now as they did then, 6 if not."""
    store = parameters.open_store(folder)
    loop_id = store.find(name)
    verifications = look.verify(store, loop_id, parameters.environment())
    if not verifications:
        raise UsageError(
            f"Loop {loop_id} has no check: there is nothing to verify.", 'name one when you run it: --check "pytest -q"'
        )
    holds = all(each.agrees and each.now.passed for each in verifications)
    data = streams.data()
    for each in verifications:
        if as_json:
            data.record(
                {
                    "loop_id": loop_id,
                    "command": each.now.command,
                    "agrees": each.agrees,
                    "before": dict(each.before),
                    "now": to_json(each.now),
                }
            )
        else:
            data.line(_line(each))
    streams.talk().line(
        "Every check passes, as it did then." if holds else "Not every check passes now as it did then."
    )
    return 0 if holds else Outcome.FAILED.exit_code


def _line(each: Verification) -> str:
    now = "passed" if each.now.passed else f"failed ({each.now.reason})"
    return f"{one_line(each.now.command)}: then {'passed' if each.before['passed'] else 'failed'}, now {now}"
