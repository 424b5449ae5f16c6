"""The loop after a control of a person: start, pause, resume, stop, retry, rewind."""

from __future__ import annotations

from untildone.core.applying.turns import given_up
from untildone.core.events import (
    PauseRequested,
    ResumeRequested,
    RetryRequested,
    Rewound,
    StartRequested,
    StopRequested,
    WorkspaceRestored,
)
from untildone.core.history import position
from untildone.core.history.position import Restoring
from untildone.core.kinds import Host
from untildone.core.loop import Loop, PauseOrder, Stall
from untildone.core.model import (
    Outcome,
    Status,
    Urgency,
)
from untildone.core.values.value import replace

TAKEN_BACK = "Taken back to"
REWIND_UNDONE = "The rewind was taken back."
"""How the reasons begin with which a loop rests after a rewind."""


def controlled(loop: Loop, event: StartRequested | PauseRequested | ResumeRequested | StopRequested) -> Loop:
    """The loop after it was started, paused, resumed or stopped."""
    match event:
        case StartRequested(host=host):
            return replace(loop, status=Status.RUNNING, host=host) if loop.status is Status.CREATED else loop
        case PauseRequested(urgency=urgency, outcome=outcome):
            order = _order(loop.pause, urgency, outcome if outcome.status is Status.PAUSED else Outcome.PAUSED)
            return replace(loop, pause=order) if loop.status is Status.RUNNING else loop
        case StopRequested(urgency=urgency, outcome=outcome):
            outcome = outcome if outcome.status is Status.FAILED else Outcome.STOPPED
            return replace(loop, stop=_order(loop.stop, urgency, outcome))
        case ResumeRequested(skip_wait=skip_wait, host=host):
            resumed = _going(loop, host)
            return _without_waits(resumed) if skip_wait else resumed


def _going(loop: Loop, host: Host) -> Loop:
    """The loop at work again after a rest or an end."""
    loop = replace(loop, status=Status.RUNNING, outcome=None, reason="", pause=None, stall=Stall(), asks_person=False)
    loop = replace(loop, live_resumed=loop.live_state is not None)
    return replace(
        loop, consultations=0, host=host or loop.host, refuted=False, fruitless=0, lacking=(), lacking_since=0.0
    )


def again(loop: Loop, event: RetryRequested | Rewound | WorkspaceRestored) -> Loop:
    """The loop after a retry or a rewind was asked for, or its workspace was put back."""
    match event:
        case RetryRequested(host=host):
            return replace(_going(loop, host), runner=None) if loop.status is Status.FAILED else loop
        case WorkspaceRestored(changes=changes, tree=tree):
            known = changes.fingerprint if loop.held is not None and loop.held.tree == tree else ""
            return replace(loop, changes=changes, restoring=None, weighed=known)
        case Rewound():
            return _rewound(loop, event)


def _rewound(loop: Loop, event: Rewound) -> Loop:
    then, tree = event.position, event.position.changes.tree
    loop = replace(given_up(loop), **{name: getattr(then, name) for name in position.names()})
    loop = replace(loop, status=Status.PAUSED, outcome=Outcome.PAUSED, reason=_where(event), account=event.account)
    loop = replace(
        loop, cut_off=None, claimed=False, blocked="", refuted=False, stall=Stall(), retry=None, consultations=0
    )
    loop = replace(loop, live_state=None, live_before="", live_in_turn=False, live_resumed=False)
    loop = replace(loop, asks_person=False, stop=None, pause=None)
    restoring = Restoring(tree, event.kept) if tree and event.kept else None
    loop = replace(loop, held=None, weighed="")
    return replace(loop, gate=None, runner=None, restoring=restoring)


def _where(event: Rewound) -> str:
    if event.undone:
        return REWIND_UNDONE
    return f"{TAKEN_BACK} where it was after round {event.to}." if event.to else f"{TAKEN_BACK} its start."


def _order(before: PauseOrder | None, urgency: Urgency, outcome: Outcome) -> PauseOrder:
    """The order to pause or stop after a second request. NOW stays NOW, and ABANDONED stays ABANDONED."""
    if before is None:
        return PauseOrder(urgency, outcome)
    given_up = before.outcome is Outcome.ABANDONED
    return PauseOrder(
        before.urgency if before.urgency is Urgency.NOW else urgency, before.outcome if given_up else outcome
    )


def _without_waits(loop: Loop) -> Loop:
    retry = loop.retry and replace(loop.retry, not_before=0.0)
    return replace(loop, limits={}, retry=retry, tries_limits=True)
