"""A loop in one line, as the API lists it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from untildone.core.attention import Act, Need, NeedKind
from untildone.core.doing import Doing, DoingKind
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.core.values.codec import timestamp, to_json
from untildone.faces.api.schemas.models import (
    DoingLine,
    Limits,
    LoopLine,
    NeedLine,
    OutcomeWord,
    StatusWord,
    Used,
    WaitKind,
    WaitLine,
)
from untildone.operations.driving.service import Service
from untildone.operations.loop_table import Row, row_of
from untildone.operations.showing.listing import status_word


def line(service: Service, loop: Loop) -> LoopLine:
    """A loop as the API lists it."""
    workspace, _ = service.table.find(loop.loop_id)
    return line_of(service, row_of(loop, workspace))


def lines(service: Service, rows: Sequence[Row]) -> list[LoopLine]:
    """Rows of the loop table as the API lists them."""
    return [line_of(service, row) for row in rows]


def line_of(service: Service, row: Row) -> LoopLine:
    """A row of the loop table as the API lists it."""
    resting = row.status is None or row.status.ended
    driven = not resting and service.stores[row.workspace].is_driven(row.loop_id)
    queued = service.fleet.is_queued(row.loop_id)
    problem = row.problem or service.fleet.problems.get(row.loop_id, "")
    return LoopLine(
        loop_id=row.loop_id,
        title=row.title,
        status=StatusWord(status_word(row)),
        outcome=OutcomeWord(row.outcome.word) if row.outcome else None,
        proof=row.proof.value,
        reason=row.reason,
        needs=_need(row.need),
        waits=None if row.status is not Status.RUNNING else _wait(row, time.time(), queued, driven, problem),
        doing=_doing(row.doing) if driven else None,
        question=row.need.text if row.need and row.need.act is Act.ANSWER and _asks(row.need) else None,
        mode=row.mode,
        agent=row.agent,
        workspace=row.workspace,
        parent=row.parent or None,
        host=row.host,
        machine=row.machine,
        branch=row.branch or None,
        driven=driven,
        queued=queued,
        current_iteration=row.spend.iterations,
        max_iterations=row.budget.iterations,
        spend=Used.model_validate(to_json(row.spend)),
        budget=Limits.model_validate(to_json(row.budget)),
        created_at=timestamp(row.created_at),
        updated_at=timestamp(row.updated_at),
        seq=row.seq,
        problem=problem,
        not_ours=row.not_ours,
    )


def _asks(need: Need) -> bool:
    return need.kind in (NeedKind.ASKS, NeedKind.BLOCKED)


def _need(need: Need | None) -> NeedLine | None:
    if need is None:
        return None
    return NeedLine(
        kind=need.kind,
        act=need.act,
        text=str(need.text),
        limit=need.limit,
        amount=need.amount or None,
        until=timestamp(need.until) if need.until else None,
    )


def _doing(doing: Doing | None) -> DoingLine | None:
    if doing is None:
        return None
    until = timestamp(doing.until) if doing.until else None
    return DoingLine(kind=doing.kind, since=timestamp(doing.since), what=doing.what, until=until)


def _wait(row: Row, now: float, queued: bool, driven: bool, problem: str) -> WaitLine | None:
    """Why a running loop is not at work; None: it is."""
    if row.need is not None and row.need.kind is NeedKind.LIMIT:
        return WaitLine(kind=WaitKind.LIMIT, until=timestamp(row.need.until), text=str(row.need.text))
    if row.doing is not None and row.doing.kind is DoingKind.RETRIES and row.doing.until > now:
        text = f"A turn failed and is tried again: {row.doing.what}"
        return WaitLine(kind=WaitKind.RETRY, until=timestamp(row.doing.until), text=text)
    if driven:
        return None
    if queued:
        return WaitLine(kind=WaitKind.SLOT, until=None, text="All slots of this server are taken.")
    if problem:
        return WaitLine(kind=WaitKind.RUNNER, until=None, text=problem)
    return WaitLine(kind=WaitKind.RUNNER, until=None, text=_ELSEWHERE.get(row.host, "This server takes it up at once."))


_ELSEWHERE = {
    Host.TERMINAL: "The terminal that drove it is gone; resume goes on with it here.",
    Host.HOOK: "It goes on in the agent's own session.",
    Host.CLUSTER: "It waits for a machine of the cluster.",
}
