"""A loop under its lease: the stepper with everything that a store gives it, and what follows when the lease is released.

The stop hook imports this module: it loads what only some loops need when they need it.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress

from untildone.core.errors import LoopBusy, UntilDoneError
from untildone.core.events import RunnerLeased, StateRepaired
from untildone.core.model import Changes, Refused, Status
from untildone.engine.stepper import HostParts, Stepper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from untildone.core.kinds import Host
    from untildone.store import Journal, Store


def _inherits_of(store: Store, stepper: Stepper, start: Changes) -> tuple[int, tuple[Refused, ...]]:
    from untildone.engine import inherited

    return inherited.look(store, stepper.loop, stepper.workspace.shadow, start)


@contextmanager
def leased(
    store: Store,
    loop_id: str,
    host: Host,
    token: str | None = None,
    *,
    parts: HostParts | None = None,
    reopens: bool = False,
) -> Iterator[Stepper]:
    """A stepper with the loop's lease. Raises LoopBusy if another runner holds it. Archives a loop that has ended, under the lease.

    With `reopens`, an archived loop is brought back first."""
    with _leased(store, loop_id, host, token, parts, reopens=reopens) as stepper:
        yield stepper
    if stepper.loop.status is Status.PAUSED and _has_late_stop(store, loop_id):
        with suppress(LoopBusy), _leased(store, loop_id, host, token, parts) as late:
            late.settle()


def _has_late_stop(store: Store, loop_id: str) -> bool:
    """Whether an order to stop came after the loop had come to rest: its sender saw the lease, and left the order to its holder.

    False if the loop cannot be read any more: it came to rest, and that is written."""
    try:
        return store.load(loop_id).stop is not None
    except UntilDoneError:
        return False


@contextmanager
def _leased(
    store: Store, loop_id: str, host: Host, token: str | None, parts: HostParts | None, *, reopens: bool = False
) -> Iterator[Stepper]:
    with store.lease(loop_id, host, token, reopens=reopens) as journal:
        from untildone.system.running import Orders

        orders = Orders(loop_id)
        stepper = Stepper(
            store,
            journal,
            parts,
            orders=orders,
            inherits=lambda stepper, start: _inherits_of(store, stepper, start),
        )
        stepper.is_first_runner = _is_first(journal)
        if stepper.loop.children:
            from untildone.engine.below import LoopsBelow

            stepper.below = LoopsBelow(store, stepper)
        stepper.obey()
        yield stepper
        if stepper.loop.parent is not None:
            from untildone.engine import below

            below.report_up(store, stepper.loop)
        if stepper.loop.status.ended:
            from untildone.engine.archiving import archive

            # Closing the journal writes its last checkpoint, which must be there before the files are archived.
            journal.close()
            archive(store, stepper.loop, stepper.place)


def _is_first(journal: Journal) -> bool:
    """Whether the holder of the lease is the loop's first runner. Not if the journal was damaged: its entries may not be all."""
    if journal.loop.start.fingerprint:
        return False
    leases = 0
    for entry in journal.entries():
        leases += isinstance(entry.event, RunnerLeased)
        if leases > 1 or isinstance(entry.event, StateRepaired):
            return False
    return leases == 1
