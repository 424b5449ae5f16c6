"""The loops below a loop: they rest before it, and what they have used is written in its journal.

`leased` gives every stepper of a loop with children `LoopsBelow`; a runner that drives the children itself has its own.
"""

from __future__ import annotations

from contextlib import suppress

from untildone.core.children import Child
from untildone.core.errors import LoopNotFound, UntilDoneError
from untildone.core.events import ChildSpent, PauseRequested, StopRequested
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status, Urgency
from untildone.engine.leasing import leased
from untildone.engine.stepper import Stepper
from untildone.store import Store
from untildone.system import orphans, running, trust


class LoopsBelow:
    """The children of a loop that is settled by a process which drives none of them."""

    def __init__(self, store: Store, stepper: Stepper) -> None:
        self._store, self._stepper = store, stepper

    def rest(self, outcome: Outcome) -> None:
        """Stop the children, or pause them. One that another process drives reports itself what it has used."""
        self._report()
        for child in self._stepper.loop.children:
            if not child.ended:
                order_rest(self._store, child.loop_id, outcome)
        self._report()

    def _report(self) -> None:
        if reports := news(self._store, self._stepper.loop):
            self._stepper.write(*reports)

    def go_on(self) -> None:
        """Go on above children that rest: they stay as they are, and the next runner of the loop takes them up."""


def order_rest(store: Store, loop_id: str, outcome: Outcome) -> None:
    """Have a child stopped or paused at once, as its parent rests with this outcome. Without a runner, it rests on return."""
    with suppress(UntilDoneError):
        if _wrote_order(store, loop_id, outcome) and not store.is_driven(loop_id):
            settle(store, loop_id)


def _wrote_order(store: Store, loop_id: str, outcome: Outcome) -> bool:
    """Write the order to the journal of a child. False: it rests already."""
    journal = store.open(loop_id)
    try:
        status = journal.loop.status
        if status.ended or (status is Status.PAUSED and not outcome.status.ended):
            return False
        ends = outcome.status.ended
        journal.append(StopRequested(Urgency.NOW) if ends else PauseRequested(Urgency.NOW, Outcome.INTERRUPTED))
        return True
    finally:
        journal.close()


def settle(store: Store, loop_id: str) -> Loop:
    """Write what follows from the orders to a loop that no runner has, without asking an agent anything. LoopBusy if one has it."""
    with leased(store, loop_id, Host.NONE) as stepper:
        # As every new runner does: the runner before may have died, and its guard as well.
        orphans.end_all(orphans.mark(loop_id)[0])
        stepper.settle()
    trust.end(loop_id)
    running.forget(loop_id)
    return stepper.loop


def news(store: Store, loop: Loop) -> tuple[ChildSpent, ...]:
    """What the children of a loop have used, as far as its journal does not say so. One that had ended may have been tried again."""
    reports = ((child, report_of(store, child)) for child in loop.children)
    return tuple(each for child, each in reports if (each.spend, each.ended) != (child.spend, child.ended))


def report_of(store: Store, child: Child) -> ChildSpent:
    """The report of a child's spend. A child that does not exist has ended with the spend that is known: its parent's runner died before
    it was created, or a person deleted it. One that cannot be read keeps its share, and the parent does not wait for it."""
    try:
        now = store.load(child.loop_id)
    except LoopNotFound:
        return ChildSpent(child.loop_id, child.spend, ended=True)
    except UntilDoneError:
        return ChildSpent(child.loop_id, child.spend, child.ended)
    return ChildSpent(child.loop_id, now.total_spend, now.status.ended)


def report_up(store: Store, loop: Loop) -> None:
    """Write what a loop that rests has used in the journal of its parent, if no runner of the parent does that."""
    if loop.parent is None or loop.status is Status.RUNNING or store.is_driven(loop.parent.loop_id):
        return
    with suppress(UntilDoneError):
        journal = store.open(loop.parent.loop_id)
        try:
            known = next((child for child in journal.loop.children if child.loop_id == loop.loop_id), None)
            if known is None or (known.spend, known.ended) == (loop.total_spend, loop.status.ended):
                return
            journal.append(ChildSpent(loop.loop_id, loop.total_spend, loop.status.ended))
            above = journal.loop
        finally:
            journal.close()
        report_up(store, above)
