"""`untildone budget`: other limits for a loop, while it runs or rests."""

from __future__ import annotations

from pathlib import Path

import click

from untildone.core import budget as budgets
from untildone.core.errors import UsageError
from untildone.core.events import BudgetChanged
from untildone.core.loop import Loop
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.parameters import AmountChange, Change
from untildone.faces.cli.views import summaries
from untildone.operations import verbs


@click.command()
@parameters.loop_name
@click.option(
    "--iterations",
    "--rounds",
    "iterations",
    metavar="+5|=10|none",
    type=AmountChange("rounds", whole=True, unlimited=True),
)
@click.option("--minutes", metavar="+30|=60|none", type=AmountChange("minutes", unlimited=True))
@click.option("--cost", metavar="+5|=10|none", type=AmountChange("dollars", unlimited=True), help="Dollars.")
@click.option("--tokens", metavar="+N|=N|none", type=AmountChange("tokens", whole=True, unlimited=True))
@click.option(
    "--iteration-timeout",
    metavar="+S|=S|none",
    type=AmountChange("seconds", unlimited=True),
    help="Seconds a round may take.",
)
@parameters.place
@parameters.as_json
def command(name: str, folder: str, as_json: bool, **limits: Change | None) -> int:
    """Change what a loop may use: +5 is five more, =10 (or 10) is ten in all, none is no limit.

    Without a change, show how much is used.
    """
    store = verbs.store_of(Path(folder))
    loop_id = store.find(name)
    changes = {limit: change for limit, change in limits.items() if change is not None}
    before = store.load(loop_id)
    events = [BudgetChanged(limit, change.amount, add=change.add) for limit, change in changes.items()]
    loop = verbs.budget(store, loop_id, *events) if events else before
    for limit, change in changes.items():
        if change.add and limit_of(before, limit) is None:
            streams.talk().line(
                f"No limit of {limit.replace('_', ' ')} is set, so +{change.amount:g} changes nothing; ={change.amount:g} sets one."
            )
    _tell(loop, driven=store.is_driven(loop_id), as_json=as_json)
    return 0


def limit_of(loop: Loop, limit: str) -> float | None:
    name = {"cost": "cost_usd"}.get(limit, limit)
    if name not in ("iterations", "minutes", "cost_usd", "tokens", "iteration_timeout"):
        raise UsageError(f"There is no limit of {limit}.")
    found: float | None = getattr(loop.budget, name)
    return found


def _tell(loop: Loop, *, driven: bool, as_json: bool) -> None:
    from untildone.core.codec import to_json

    if as_json:
        spend = {"budget": to_json(loop.budget), "spend": to_json(loop.spend)}
        streams.data().record({**summaries.fields(loop, driven=driven), **spend})
        return
    gauges = list(budgets.gauges(loop.budget, loop.spend))
    for gauge in gauges:
        streams.data().line(gauge.sentence())
    if loop.budget.iteration_timeout is not None:
        streams.data().line(f"{loop.budget.iteration_timeout:g} s for a round")
    if not gauges and loop.budget.iteration_timeout is None:
        streams.data().line("no limit")
