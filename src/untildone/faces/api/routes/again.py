"""Routes that take loops up again, back, or away, and that run their checks again: retry, rewind, duplicate, verify, bisect, clean."""

from __future__ import annotations

from fastapi import APIRouter, Response

from untildone.core.errors import UsageError
from untildone.core.values.codec import to_json
from untildone.faces.api.routes.common import LoopId, Serving
from untildone.faces.api.routes.loops import budget_changes
from untildone.faces.api.schemas.again import (
    Bisection,
    BrokenBy,
    Cleaning,
    Deleted,
    Duplication,
    Rewinding,
    TakenBack,
    Verified,
    VerifiedCheck,
    Verifying,
)
from untildone.faces.api.schemas.lines import line
from untildone.faces.api.schemas.models import LoopLine, Retrial
from untildone.faces.api.schemas.problems import creates, may_answer
from untildone.operations import verifying
from untildone.operations.history import bisecting, cleaning, retrying

router = APIRouter(prefix="/api/v1", tags=["loops"])


@router.post("/loops/{loop_id}/retry", response_model=LoopLine, responses=may_answer(404, 409, 422, 503))
def retry_loop(loop_id: LoopId, service: Serving, how: Retrial | None = None) -> LoopLine:
    """Go on with a loop that failed, was stopped or was given up, on this server, from where it was or from before a round."""
    how = how or Retrial.model_validate({})
    changes = budget_changes(how.budget) if how.budget else ()
    return line(service, service.retry(loop_id, *changes, from_round=how.from_round))


@router.post("/loops/{loop_id}/rewind", response_model=TakenBack, responses=may_answer(404, 409, 422, 503))
def rewind_loop(loop_id: LoopId, where: Rewinding, service: Serving) -> TakenBack:
    """Take a loop back to where it was after a round: workspace, state and sessions. It rests there."""
    if (where.to is None) != where.undo:
        raise UsageError("It is not clear where to go back to.", "give `to` or `undo`")
    store = service.store_of(loop_id)
    taken = retrying.undo_rewind(store, loop_id) if where.to is None else retrying.rewind(store, loop_id, where.to)
    return TakenBack(loop=line(service, taken.loop), kept=taken.kept, messages=list(taken.messages))


@router.post(
    "/loops/{loop_id}/duplicate", status_code=201, response_model=LoopLine, responses=creates(404, 409, 422, 503)
)
def duplicate_loop(
    loop_id: LoopId, service: Serving, response: Response, changed: Duplication | None = None
) -> LoopLine:
    """Create a loop with the task, settings and budget of another one, some of them changed; with `start`, start it at once."""
    changed = changed or Duplication.model_validate({})
    values = changed.settings.model_dump(exclude_unset=True)
    loop = service.duplicate(loop_id, values, changed.task or "", start=changed.start)
    response.headers["Location"] = f"/api/v1/loops/{loop.loop_id}"
    return line(service, loop)


@router.post("/loops/{loop_id}/bisect", response_model=BrokenBy, responses=may_answer(404, 409, 422, 503))
def bisect_loop(loop_id: LoopId, service: Serving, what: Bisection | None = None) -> BrokenBy:
    """Find the round that broke the checks of a loop that rests, by running them on snapshots of its rounds. Takes as long as they do."""
    what = what or Bisection.model_validate({})
    bisected = bisecting.bisect(
        service.store_of(loop_id), loop_id, service.environment, tuple(what.checks), what.good, what.bad
    )
    failed = [result.command for result in bisected.failed]
    return BrokenBy(broke=bisected.broke, holds_after=bisected.before, failed=failed, checked=list(bisected.checked))


@router.post("/loops/{loop_id}/verify", response_model=Verified, responses=may_answer(404, 409, 422, 503))
def verify_loop(loop_id: LoopId, service: Serving, how: Verifying | None = None) -> Verified:
    """Check the receipt of an ended loop, run its checks again, and compare. Takes as long as they do."""
    room = how.room if how else None
    results = verifying.verify(service.store_of(loop_id), loop_id, service.environment, room=room)
    if not results:
        raise UsageError(f"Loop {loop_id} has no check: there is nothing to verify.", "name one in `settings.checks`")
    same = results[0].same_workspace
    return Verified(
        holds=all(each.holds for each in results) and same is not False,
        same_workspace=same,
        differs=list(results[0].differs or ()),
        checks=[
            VerifiedCheck(command=each.now.command, agrees=each.agrees, before=dict(each.before), now=to_json(each.now))
            for each in results
        ],
    )


@router.post("/clean", response_model=Deleted, responses=may_answer(422, 503))
def clean(how: Cleaning, service: Serving) -> Deleted:
    """Delete the loops of the served folders that ended long ago, or only name them. Loops that can go on stay."""
    age = cleaning.age(how.older_than)
    stores = service.stores.values() if how.workspace is None else (service.workspace(how.workspace)[1],)
    cleaned = [each for store in stores for each in cleaning.clean(store, age, only_lists=how.dry_run)]
    return Deleted(
        found=[each.loop.loop_id for each in cleaned],
        deleted=[each.loop.loop_id for each in cleaned if not (how.dry_run or each.problem)],
        problems={each.loop.loop_id: each.problem for each in cleaned if each.problem},
    )
