"""`untildone pause` and `untildone stop`."""

from __future__ import annotations

import click

from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status, Urgency
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.views import summaries
from untildone.operations import reach
from untildone.operations.reach import Reached

now = click.option("--now", "at_once", is_flag=True, help="End the running round at once.")


@click.command()
@parameters.loop_or_last
@now
@parameters.place
@parameters.as_json
def pause(name: str, at_once: bool, folder: str, as_json: bool) -> int:
    """Pause a loop after its round, or now. `untildone resume` goes on."""
    reached = parameters.reach(folder).find(name)
    loop = reach.pause(reached, _urgency(at_once=at_once), parameters.environment(), parameters.warn)
    _show(reached, loop, "pause", at_once=at_once, as_json=as_json)
    return 0


@click.command()
@parameters.loop_name
@now
@click.option("--abandon", is_flag=True, help="Give the job up: the outcome is abandoned instead of stopped.")
@parameters.place
@parameters.as_json
def stop(name: str, at_once: bool, abandon: bool, folder: str, as_json: bool) -> int:
    """End a loop for good, after its round or now."""
    reached = parameters.reach(folder).find(name)
    outcome = Outcome.ABANDONED if abandon else Outcome.STOPPED
    loop = reach.stop(reached, _urgency(at_once=at_once), outcome, parameters.environment(), parameters.warn)
    _show(reached, loop, "end", at_once=at_once, as_json=as_json)
    return 0


def _urgency(*, at_once: bool) -> Urgency:
    return Urgency.NOW if at_once else Urgency.AFTER_ITERATION


def _show(reached: Reached, loop: Loop | None, action: str, *, at_once: bool, as_json: bool) -> None:
    when = "now" if at_once else "after this round"
    if loop is None or reached.store is None:
        if as_json:
            streams.data().record(summaries.of_unread(reached))
        streams.talk().prose(f"The runner of loop {reached.loop_id} was asked to {action} it {when}.")
        return
    summaries.answer(loop, driven=reached.store.is_driven(loop.loop_id), as_json=as_json)
    if loop.status is Status.RUNNING:
        sentence = f"Loop {loop.loop_id} will {action} {when}."
    else:
        sentence = f"Loop {loop.loop_id} is {loop.outcome.word if loop.outcome else loop.status.value}."
    streams.talk().prose(sentence)
