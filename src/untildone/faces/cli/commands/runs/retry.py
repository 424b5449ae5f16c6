"""`untildone retry`: go on with a loop that failed, was stopped or was given up."""

from __future__ import annotations

from functools import partial

import click

from untildone import settings
from untildone.core.errors import LoopBusy, UsageError
from untildone.core.kinds import Host
from untildone.core.limits import Limit
from untildone.faces.cli import loop_menus, parameters
from untildone.faces.cli.commands.runs import resume
from untildone.faces.cli.driver import Show, driver
from untildone.faces.cli.parameters import AmountChange, Change
from untildone.operations.history import retrying

LEAVING_WITHIN = 10.0


@click.command()
@parameters.loop_or_last
@click.option("--from-start", is_flag=True, help="Take everything back first, and begin with the first round.")
@click.option("--from-round", metavar="N", type=click.IntRange(1), help="Take round N and all later ones back first.")
@click.option(
    "-r",
    "--rounds",
    "--max-iterations",
    "--max-rounds",
    "rounds",
    metavar="+5|10",
    type=AmountChange.of(Limit.ITERATIONS, unlimited=True),
    help="+5: five rounds more; 10: ten are left; none: no limit.",
)
@click.option("--detach", is_flag=True, help="Go on in the background.")
@click.option("--plain", is_flag=True, help="Plain lines even at a terminal.")
@parameters.place
@parameters.as_json
def command(
    name: str,
    from_start: bool,
    from_round: int | None,
    rounds: Change | None,
    detach: bool,
    plain: bool,
    folder: str,
    as_json: bool,
) -> int:
    """Go on with a loop that failed, was stopped or was given up, from where it was.

    An agent that failed is asked again, in the same round and the same session. With --from-start or --from-round, workspace, state
    and sessions go back first; what was there is kept, and `untildone rewind LOOP --undo` brings it back.
    """
    if from_start and from_round is not None:
        raise UsageError("--from-start and --from-round contradict each other.", "give one of them")
    store = parameters.open_store(folder)
    loop_id = store.find(name)
    before, show = store.load(loop_id), Show(as_json=as_json and not detach, plain=plain)
    changes = () if rounds is None else resume.budget_changes(before, rounds)
    first = 1 if from_start else from_round
    chosen = settings.load(store.home, {}, parameters.environment())
    request = partial(retrying.retry, store, loop_id, *changes, from_round=first, environment=parameters.environment())
    if before.host is Host.CLUSTER:
        request()
        return resume.in_cluster(store, before, Show(as_json=as_json, plain=plain), detach=detach)
    with driver(store, chosen, show) as drives:
        retried = request(asks_person=not detach and loop_menus.asks_at_limit(drives, before))
        drives.watch(loop_id, from_start=False)
        try:
            if detach:
                return resume.detached(store, loop_id, LEAVING_WITHIN, as_json=as_json)
            return loop_menus.drive_on(drives, store, retried, patience=LEAVING_WITHIN)
        except LoopBusy as busy:
            return resume.already_running(store.load(loop_id), busy, as_json=as_json)
