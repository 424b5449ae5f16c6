"""`untildone budget`: changes the limits of a loop, while it runs or rests."""

from __future__ import annotations

import click

from untildone.core import budget as budgets
from untildone.core.events import BudgetChanged
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.parameters import Change
from untildone.faces.cli.views import summaries
from untildone.operations import control


@click.command()
@parameters.loop_name
@parameters.limit_changes
@parameters.place
@parameters.as_json
def command(name: str, folder: str, as_json: bool, **limits: Change | None) -> int:
    """Change what a loop may use: +5 is five more, =10 (or 10) is ten in all, none is no limit.

    Without a change, show how much is used.
    """
    store = parameters.open_store(folder)
    loop_id = store.find(name)
    changes = {Limit(name): change for name, change in limits.items() if change is not None}
    before = store.load(loop_id)
    events = [BudgetChanged(limit, change.amount, add=change.add) for limit, change in changes.items()]
    loop = control.budget(store, loop_id, *events) if events else before
    for limit, change in changes.items():
        if change.add and limit.of(before.budget) is None:
            of, amount = limit.row.label.lower(), f"{change.amount:g}"
            streams.talk().prose(f"No limit of {of} is set, so +{amount} changes nothing; ={amount} sets one.")
    _show(loop, driven=store.is_driven(loop_id), as_json=as_json)
    return 0


def _show(loop: Loop, *, driven: bool, as_json: bool) -> None:
    from untildone.core.values.codec import to_json

    if as_json:
        spend = {"budget": to_json(loop.budget), "spend": to_json(loop.spend)}
        streams.data().record({**summaries.fields(loop, driven=driven), **spend})
        return
    lines: list[str] = [gauge.sentence() for gauge in budgets.gauges(loop.budget, loop.spend)]
    by_turn = [(limit, limit.of(loop.budget)) for limit in Limit if limit.row.used is None]
    lines += [limit.row.show(allowed) for limit, allowed in by_turn if allowed is not None]
    for line in lines or ["no limit"]:
        streams.data().line(line)
