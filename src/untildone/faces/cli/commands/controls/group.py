"""`untildone group`: what all loops of a group may use together."""

from __future__ import annotations

from typing import Any

import click

from untildone.core.errors import UsageError
from untildone.core.limits import Limit
from untildone.core.values.codec import to_json
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.parameters import Amount
from untildone.operations.driving import cluster
from untildone.operations.inside import refuse
from untildone.operations.stores import Group


@click.command()
@click.argument("name", required=False)
@click.option(
    "--max-cost",
    metavar="USD|none",
    type=Amount.of(Limit.COST, unlimited=True),
    help="Dollars, all its loops together.",
)
@click.option(
    "--at-once", metavar="N|none", type=Amount("loops", whole=True, unlimited=True), help="Loops at work at once."
)
@parameters.place
@parameters.as_json
def command(name: str | None, max_cost: Any, at_once: Any, folder: str, as_json: bool) -> int:
    """Show the groups of loops, or one of them, or change what it may use.

    Loops join a group with `run --group NAME`. The total holds on all machines: a loop whose group has no place waits for
    one, and a loop whose group has spent its dollars pauses before its next round.
    """
    store = parameters.open_store(folder)
    if max_cost is None and at_once is None:
        groups = tuple(group for group in store.groups() if name in (None, group.name))
        _show(groups, as_json=as_json)
        if not groups:
            streams.talk().prose(f"There is no group {name or 'yet'}; `untildone run --group NAME` begins one.")
        return 0
    if name is None:
        raise UsageError("There is no name of a group.", "say which: untildone group NAME --max-cost 50")
    refuse(store, "group")
    before = store.group(name)
    changed = cluster.change_group(
        store,
        name,
        parameters.environment(),
        max_cost=_after(before.max_cost, max_cost),
        at_once=_after(before.at_once, at_once),
    )
    _show((changed,), as_json=as_json)
    return 0


def _after(before: Any, given: Any) -> Any:
    """The new value of a limit: None leaves it as it is, the word `none` removes it."""
    return before if given is None else None if given == "none" else given


def _show(groups: tuple[Group, ...], *, as_json: bool) -> None:
    data = streams.data()
    for group in groups:
        if as_json:
            data.record(to_json(group))
        else:
            data.line(_sentence(group))


def _sentence(group: Group) -> str:
    cost = f"${group.cost:.2f}" + ("" if group.max_cost is None else f" of ${group.max_cost:.2f}")
    at_work = f"{group.at_work} at work" + ("" if group.at_once is None else f" of {group.at_once} at once")
    return f"{group.name}: {group.loops} loop{'' if group.loops == 1 else 's'}, {at_work}, {cost}"
