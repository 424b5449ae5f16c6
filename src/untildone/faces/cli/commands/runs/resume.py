"""`untildone resume`: go on with a loop, here or in the background."""

from __future__ import annotations

import sys
import time

import click

from untildone import settings
from untildone.core import moves
from untildone.core.errors import LoopBusy
from untildone.core.events import BudgetChanged
from untildone.core.kinds import Host
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.core.moves import Control
from untildone.faces.cli import loop_menus, parameters, streams
from untildone.faces.cli.driver import LEAVING_WITHIN, Show, driver
from untildone.faces.cli.parameters import AmountChange, Change
from untildone.faces.cli.views import summaries
from untildone.operations import control
from untildone.operations.driving import presence
from untildone.operations.stores import Store

LOOK_EVERY = 0.02
STILL_THERE_AFTER = 0.5
"""Seconds after which a runner that is still there drives a running loop."""


@click.command()
@parameters.loop_or_unfinished
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
@click.option("--now", "skip_wait", is_flag=True, help="Do not wait for a usage limit or a retry.")
@click.option("--detach", is_flag=True, help="Go on in the background.")
@click.option("--plain", is_flag=True, help="Plain lines even at a terminal.")
@parameters.place
@parameters.as_json
def command(
    name: str | None, rounds: Change | None, skip_wait: bool, detach: bool, plain: bool, folder: str, as_json: bool
) -> int:
    """Go on with a loop where it was, in this terminal.

    Without a name: the newest that is unfinished. At a terminal you are asked what to do with it.
    """
    store = parameters.open_store(folder)
    asking = not (rounds or skip_wait or detach or as_json)
    loop_id = store.find(name) if name is not None else _unfinished(store, asking=asking)
    if loop_id is None:
        return 0
    before = store.load(loop_id)
    moves.check(presence.without_closed_session(store, before), Control.RESUME)
    changes = () if rounds is None else budget_changes(before, rounds)
    if before.host is Host.CLUSTER:
        _request(store, before, *changes, skip_wait=skip_wait)
        return in_cluster(store, before, Show(as_json=as_json, plain=plain), detach=detach)
    chosen = settings.load(store.home, {}, parameters.environment())
    with driver(store, chosen, Show(as_json=as_json and not detach, plain=plain)) as drives:
        drives.watch(loop_id, from_start=False)
        asks = not detach and loop_menus.asks_at_limit(drives, before)
        resumed = _request(store, before, *changes, skip_wait=skip_wait, asks_person=asks)
        patience = STILL_THERE_AFTER if before.status is Status.RUNNING else LEAVING_WITHIN
        try:
            if detach:
                return detached(store, loop_id, patience, as_json=as_json)
            return loop_menus.drive_on(drives, store, resumed, patience=patience)
        except LoopBusy as busy:
            return already_running(store.load(loop_id), busy, as_json=as_json)


def _unfinished(store: Store, *, asking: bool) -> str | None:
    """The loop to resume when none is named; None if the person chose otherwise in the menu."""
    if asking and sys.stdin and sys.stdin.isatty() and streams.talk().is_terminal:
        return loop_menus.loop_to_resume(store)
    loops = loop_menus.unfinished(store)
    return loops[0].loop_id if loops else store.find("last")


def _request(store: Store, before: Loop, *changes: BudgetChanged, skip_wait: bool, asks_person: bool = False) -> Loop:
    return control.resume(
        store,
        before.loop_id,
        *changes,
        skip_wait=skip_wait,
        asks_person=asks_person,
        environment=parameters.environment(),
    )


def budget_changes(loop: Loop, rounds: Change) -> tuple[BudgetChanged, ...]:
    """`+5` adds to the limit; `10` sets the limit so that ten rounds are left."""
    if rounds.add and loop.budget.iterations is None:
        streams.talk().prose(f"No limit of rounds is set, so +{rounds.amount:g} changes nothing.")
        return ()
    if rounds.add or rounds.amount is None:
        return (BudgetChanged(Limit.ITERATIONS, rounds.amount, add=rounds.add),)
    return (BudgetChanged(Limit.ITERATIONS, loop.spend.iterations + rounds.amount),)


def detached(store: Store, loop_id: str, patience: float, *, as_json: bool) -> int:
    """Resume in the background. Waits for a runner that is exiting: it does not go on with the loop."""
    from untildone.faces.cli.commands.runs import background

    deadline = time.monotonic() + patience
    while store.is_driven(loop_id) and store.load(loop_id).status is Status.RUNNING:
        if time.monotonic() > deadline:
            raise LoopBusy(f"Loop {loop_id} is running already.")
        time.sleep(LOOK_EVERY)
    return background.detached(store, loop_id, as_json=as_json)


def in_cluster(store: Store, before: Loop, show: Show, *, detach: bool) -> int:
    from untildone.faces.cli import cluster_runs

    if detach:
        return cluster_runs.detached(before.loop_id, as_json=show.as_json)
    return cluster_runs.watched(store, before.loop_id, show, after=before.seq)


def already_running(loop: Loop, busy: LoopBusy, *, as_json: bool) -> int:
    summaries.answer(loop, driven=True, as_json=as_json)
    streams.talk().prose(f"{busy.sentence} It goes on there.")
    if busy.hint:
        streams.talk().prose(f"hint: {busy.hint}")
    return 0
