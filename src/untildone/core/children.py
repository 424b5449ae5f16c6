"""Loops below a loop: what an agent may hand to a loop that it starts, and what that loop has used.

A child is an ordinary loop with a parent. Its share is taken from the parent's budget before it exists, and given back, but for what it
used, when it has ended. Amounts are absolute, so a report that is written twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from untildone.core.answers import rounds
from untildone.core.errors import UsageError
from untildone.core.limits import Limit
from untildone.core.model import Budget, LoopSettings, Spend, Status
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.loop import Loop

SOCKET = "UNTILDONE_LOOPS"
"""The variable that names the socket by which an agent reaches its own loops."""
MOST_DEPTH = 4
"""A loop that a person starts has depth 0; one of this depth starts none."""
COUNTED = tuple(limit for limit in Limit if limit.row.used is not None)
"""The limits of which a child gets a share: those of the whole loop."""
ASKED_AS = {limit: limit.row.change_flags[-1].removeprefix("--") for limit in COUNTED}
"""How an agent names each of them when it starts a child: `rounds`, `minutes`, …"""
NO_CHILDREN = "give it some with --children when you start it"


@dataclass(frozen=True, slots=True)
class Parent:
    """The loop whose agent started this one."""

    loop_id: str
    depth: int
    """How many loops are above this one."""


@dataclass(frozen=True, slots=True)
class Child:
    """A loop that the agent of a loop started."""

    loop_id: str
    share: Budget
    """What of the parent's budget it may use."""
    children: int = 0
    """How many of the parent's loops it may start itself."""
    spend: Spend = Spend()
    """What it and the loops below it have used, as far as the parent knows."""
    ended: bool = False
    """Whether it has ended: what is left of its share belongs to the parent again."""

    def takes(self, limit: Limit) -> float:
        """How much of the parent's limit is not the parent's own."""
        used = limit.row.used
        spent = 0.0 if used is None else used(self.spend)
        return spent if self.ended else max(spent, limit.of(self.share) or 0.0)


def reserve(children: tuple[Child, ...], child: Child) -> tuple[Child, ...]:
    """The children with one more; the same if it is there."""
    return children if any(each.loop_id == child.loop_id for each in children) else (*children, child)


def report(children: tuple[Child, ...], loop_id: str, spend: Spend, *, ended: bool) -> tuple[Child, ...]:
    """The children after a report of what one has used in all."""
    return tuple(replace(each, spend=spend, ended=ended) if each.loop_id == loop_id else each for each in children)


def own_budget(budget: Budget, children: Iterable[Child]) -> Budget:
    """The budget without what children have used or may use."""
    limits: dict[str, Any] = {}
    for limit in COUNTED:
        allowed = limit.of(budget)
        if allowed is not None:
            left = max(0.0, allowed - sum(child.takes(limit) for child in children))
            limits[limit.row.field] = int(left) if limit.row.whole else left
    return replace(budget, **limits)


def total(spend: Spend, children: Iterable[Child]) -> Spend:
    """What a loop and all loops below it have used."""
    spends = (spend, *(child.spend for child in children))
    return Spend(*(sum(getattr(each, name) for each in spends) for name in Spend.__match_args__))


def may_start(loop: Loop) -> int:
    """How many more loops the agent of a loop may start, directly or by its children."""
    depth = loop.parent.depth if loop.parent else 0
    if depth >= MOST_DEPTH:
        return 0
    return max(0, loop.settings.children - sum(1 + child.children for child in loop.children))


def share(loop: Loop, loop_id: str, requested: Budget, children: int = 0) -> Child:
    """The child that a loop may start with this budget. UsageError if it may not, or not with so much.

    Where the loop has a limit and `wanted` has none, the child gets half of what is left."""
    if loop.status is not Status.RUNNING:
        raise UsageError(f"Loop {loop.loop_id} does not run: it starts no loops.", "resume it first")
    most = may_start(loop)
    if most < 1:
        raise UsageError(f"Loop {loop.loop_id} may not start another loop.", NO_CHILDREN)
    if not 0 <= children < most:
        raise UsageError(
            f"Loop {loop.loop_id} may start {most} more, so a child gets less than that to start itself.",
            f"give it {most - 1} at most",
        )
    own = own_budget(loop.budget, loop.children)
    limits = {limit.row.field: _part(limit, limit.of(own), limit.of(requested), loop.spend) for limit in COUNTED}
    return Child(loop_id, replace(requested, iteration_timeout=own.iteration_timeout, **limits), children)


def _part(limit: Limit, allowed: float | None, requested: float | None, spend: Spend) -> Any:
    row = limit.row
    if requested is not None and not 0 < requested <= row.most:
        raise UsageError(
            f"{str(requested)[:20]} is not an amount of {row.unit} for a loop.", "give a number above zero"
        )
    if allowed is None or row.used is None:
        return requested
    left = max(0.0, allowed - row.used(spend))
    chosen = requested if requested is not None else max(1.0, left // 2) if row.whole else left / 2
    if chosen > left or chosen <= 0:
        raise UsageError(
            f"Too little is left for another loop: {row.show(left)}. It would get {row.show(chosen)}.",
            "ask for less, or stop a loop that is not needed",
        )
    return int(chosen) if row.whole else chosen


def asks_for_rounds(text: str) -> bool:
    """Whether a task or message begins with round controls: a child would get more by them than its share."""
    parsed = rounds.parse(text, 1)
    return bool(parsed.changes) or parsed.rest.strip() != text.strip()


def settings_of(loop: Loop, workspace: str, checks: tuple[str, ...], children: int) -> LoopSettings:
    """The settings of a child: those of its parent, in a worktree of its own, with other checks if some are given."""
    return replace(
        loop.settings,
        workspace=workspace,
        worktree=True,
        checks=checks or loop.settings.checks,
        children=children,
        interactive=False,
        once=False,
        hook_session="",
    )
