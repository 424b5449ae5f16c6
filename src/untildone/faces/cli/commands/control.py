"""`untildone pause` and `untildone stop`."""

from __future__ import annotations

import click

from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status, Urgency
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.views import summaries
from untildone.operations import control

now = click.option("--now", "at_once", is_flag=True, help="End the running round at once.")


@click.command()
@parameters.loop_or_last
@now
@parameters.place
@parameters.as_json
def pause(name: str, at_once: bool, folder: str, as_json: bool) -> int:
    """Pause a loop after its round, or now. `untildone resume` goes on."""
    store = parameters.open_store(folder)
    loop = control.pause(store, store.find(name), _urgency(at_once=at_once), parameters.environment())
    _show(loop, "pause", driven=store.is_driven(loop.loop_id), at_once=at_once, as_json=as_json)
    return 0


@click.command()
@parameters.loop_name
@now
@click.option("--abandon", is_flag=True, help="Give the job up: the outcome is abandoned instead of stopped.")
@parameters.place
@parameters.as_json
def stop(name: str, at_once: bool, abandon: bool, folder: str, as_json: bool) -> int:
    """End a loop for good, after its round or now."""
    store = parameters.open_store(folder)
    outcome = Outcome.ABANDONED if abandon else Outcome.STOPPED
    loop = control.stop(store, store.find(name), _urgency(at_once=at_once), outcome, parameters.environment())
    _show(loop, "end", driven=store.is_driven(loop.loop_id), at_once=at_once, as_json=as_json)
    return 0


def _urgency(*, at_once: bool) -> Urgency:
    return Urgency.NOW if at_once else Urgency.AFTER_ITERATION


def _show(loop: Loop, action: str, *, driven: bool, at_once: bool, as_json: bool) -> None:
    summaries.answer(loop, driven=driven, as_json=as_json)
    if loop.status is Status.RUNNING:
        sentence = f"Loop {loop.loop_id} will {action} {'now' if at_once else 'after this round'}."
    else:
        sentence = f"Loop {loop.loop_id} is {loop.outcome.word if loop.outcome else loop.status.value}."
    streams.talk().line(sentence)
