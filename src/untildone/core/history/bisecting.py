"""Bisection over the rounds of a loop: which one broke a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from untildone.core.events import Entry, Rewound, TurnEnded, WorkspaceSeen
from untildone.core.model import Role
from untildone.core.values.value import dataclass


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The workspace after a round; round 0: before the first one."""

    iteration: int
    tree: str


def snapshots(entries: Iterable[Entry]) -> tuple[Snapshot, ...]:
    """The snapshots of all rounds that led to the present state, without those that were taken back."""
    trees: dict[int, str] = {}
    for entry in entries:
        event = entry.event
        if isinstance(event, WorkspaceSeen) and not trees and event.changes.tree:
            trees[0] = event.changes.tree
        elif isinstance(event, TurnEnded) and event.role is Role.WORKER and event.changes and event.changes.tree:
            trees[event.iteration] = event.changes.tree
        elif isinstance(event, Rewound) and not event.undone:
            trees = {number: tree for number, tree in trees.items() if number <= event.to}
    return tuple(Snapshot(number, tree) for number, tree in sorted(trees.items()))


def first_bad(rounds: tuple[Snapshot, ...], holds: Callable[[Snapshot], bool]) -> int:
    """The place of the first round after which the check fails, if it holds after the first and fails after the last of these.

    Asks at most ⌈log2 n⌉ times for the n rounds after the first."""
    good, bad = 0, len(rounds) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if holds(rounds[middle]):
            good = middle
        else:
            bad = middle
    return bad
