"""Why a running loop is not being driven."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from untildone.core.doing import DoingKind
from untildone.core.errors import UntilDoneError
from untildone.core.kinds import Host
from untildone.core.values.sentence import Sentence
from untildone.operations.driving import presence
from untildone.operations.driving.service import Service
from untildone.operations.loop_table import Row


class Waits(StrEnum):
    """The wait of a running loop without a runner."""

    PROBLEM = "problem"
    LIMIT = "limit"
    SLOT = "slot"
    RETRY = "retry"
    MACHINE = "machine"
    SERVER = "server"
    NOBODY = "nobody"
    """Its runner is gone, and nothing will go on with it before a person resumes it."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a running loop is not being driven."""

    kind: Waits
    text: str
    until: float = 0.0
    """When the wait is over (epoch seconds); 0: not known."""


def of_row(service: Service, row: Row) -> Waiting | None:
    """Why the loop is not being driven; None: it is, or it is not running."""
    if row.doing is None or is_driven(service, row):
        return None
    queued, problem = service.fleet.is_queued(row.loop_id), service.fleet.problems.get(row.loop_id, "")
    return why(row, queued=queued, problem=problem, slots=service.fleet.slots)


def is_driven(service: Service, row: Row) -> bool:
    """Whether a runner or an open session works on the loop."""
    store = service.stores[row.workspace]
    try:
        return presence.is_at_work(store, row.loop_id) if row.host is Host.HOOK else store.is_driven(row.loop_id)
    except UntilDoneError:
        return False


def why(row: Row, *, queued: bool, problem: str, slots: int) -> Waiting | None:
    """Why a loop without a runner waits; None: it is not running."""
    doing = row.doing
    if doing is None:
        return None
    if problem:
        return Waiting(Waits.PROBLEM, Sentence("The server cannot drive it: {problem}", problem=problem))
    if doing.kind is DoingKind.AT_LIMIT:
        return Waiting(Waits.LIMIT, doing.what, doing.until)
    if queued:
        return Waiting(Waits.SLOT, Sentence("It waits for a free slot: at most {n} loops run at once.", n=slots))
    if doing.kind is DoingKind.RETRIES:
        return Waiting(Waits.RETRY, Sentence("It tries again: {problem}", problem=doing.what), doing.until)
    return _by_host(row.host)


def _by_host(host: Host) -> Waiting:
    match host:
        case Host.CLUSTER:
            return Waiting(Waits.MACHINE, Sentence("It waits for a machine of the cluster."))
        case Host.SERVER:
            return Waiting(Waits.SERVER, Sentence("The server takes it up in a moment."))
        case _:
            return Waiting(Waits.NOBODY, Sentence("Nobody drives it. Resume it to go on here."))
