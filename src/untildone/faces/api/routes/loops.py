"""Routes for loops: create, list, show, change, delete, and every control of the command line."""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from pydantic import AwareDatetime, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from untildone.core import moves
from untildone.core.answers import amounts
from untildone.core.errors import LoopChanged
from untildone.core.events import BudgetChanged
from untildone.core.loop import Loop
from untildone.core.model import Urgency
from untildone.core.moves import Control
from untildone.faces.api.routes.common import LoopId, Serving
from untildone.faces.api.schemas.forms import CURSOR
from untildone.faces.api.schemas.lines import line, lines
from untildone.faces.api.schemas.models import (
    Approval,
    BudgetChange,
    Heard,
    LoopChange,
    LoopLine,
    LoopList,
    Message,
    NeedWord,
    NewLoop,
    Now,
    OutcomeWord,
    Preview,
    Resumption,
    StatusWord,
)
from untildone.faces.api.schemas.problems import creates, may_answer
from untildone.faces.api.schemas.typed import LoopState
from untildone.operations import control, look, output
from untildone.operations.driving.service import END_WITHIN
from untildone.operations.showing.listing import LoopFilter, Sort, TablePages

MOST_ON_A_PAGE = 200
MOST_VALUES = 50
LONGEST_PREVIEW = 4000
router = APIRouter(prefix="/api/v1/loops", tags=["loops"])


@router.post("", status_code=201, response_model=LoopLine, responses=creates(409, 422, 503))
def create_loop(new: NewLoop, service: Serving, response: Response) -> LoopLine:
    """Create a loop in one of the served folders; with `start`, start it at once."""
    loop = service.create(new.task, new.settings.model_dump(exclude_unset=True), new.workspace, new.title or "")
    if new.start:
        loop = service.start(loop.loop_id)
    response.headers["Location"] = f"/api/v1/loops/{loop.loop_id}"
    return line(service, loop)


_TAGGED: dict[int | str, dict[str, Any]] = {
    200: {"headers": {"ETag": {"description": "The state, for `If-Match`", "schema": {"type": "string"}}}}
}
IfMatch = Annotated[
    str | None, Header(max_length=200, description="An `ETag`: the loop is changed only if it is still in that state")
]


def _written_out(value: Any) -> Any:
    """The value, if it begins with a date: pydantic would also take a number of seconds."""
    if isinstance(value, str) and not re.match(r"\d{4}-\d\d-\d\d", value):
        raise PydanticCustomError("datetime_parsing", "")
    return value


Time = Annotated[AwareDatetime, BeforeValidator(_written_out)]
Several = Annotated[list[Annotated[str, Field(max_length=4096)]] | None, Query(max_length=MOST_VALUES)]


@router.get("", response_model=LoopList, responses=may_answer(422, 503))
def list_loops(
    service: Serving,
    q: Annotated[str, Query(max_length=1000, description="Words, all of which the title or another field has")] = "",
    status: Annotated[list[StatusWord] | None, Query(max_length=MOST_VALUES)] = None,
    outcome: Annotated[list[OutcomeWord] | None, Query(max_length=MOST_VALUES)] = None,
    workspace: Several = None,
    agent: Several = None,
    mode: Several = None,
    needs: Annotated[
        list[NeedWord] | None, Query(max_length=MOST_VALUES, description="`any`: whatever a person is needed for")
    ] = None,
    since: Annotated[Time | None, Query(description="Only loops that changed then or later")] = None,
    until: Annotated[Time | None, Query(description="Only loops that were created before")] = None,
    sort: Annotated[Sort, Query(description="With a minus sign: largest or latest first")] = Sort.NEWEST,
    limit: Annotated[int, Query(ge=1, le=MOST_ON_A_PAGE)] = 50,
    cursor: Annotated[
        str | None, Query(max_length=2000, pattern=CURSOR, description="`next` of the page before")
    ] = None,
) -> LoopList:
    """The loops of the served folders. A parameter that is repeated means any of its values."""
    for name in workspace or ():
        service.workspace(name)
    chosen = LoopFilter(
        q,
        frozenset(status or ()),
        frozenset(outcome or ()),
        frozenset(name.rstrip("/") or "/" for name in workspace or ()),
        frozenset(agent or ()),
        frozenset(mode or ()),
        frozenset(needs or ()),
        since.timestamp() if since else None,
        until.timestamp() if until else None,
    )
    page = TablePages(service.table).after(chosen, sort, cursor, limit)
    counts = {StatusWord(word): number for word, number in page.counts.items()}
    return LoopList(loops=lines(service, page.rows), next=page.cursor, total=page.total, counts=counts)


@router.get("/{loop_id}", response_model=LoopState, responses={**may_answer(404, 422, 503), **_TAGGED})
def show_loop(loop_id: LoopId, service: Serving, response: Response) -> dict[str, Any]:
    """Everything known about a loop: its checkpoint."""
    store = service.store_of(loop_id)
    loop = store.load(loop_id)
    response.headers["ETag"] = f'"{loop.seq}"'
    return {
        **look.checkpoint_fields(loop),
        "driven": store.is_driven(loop_id),
        "queued": service.fleet.is_queued(loop_id),
        "problem": service.fleet.problems.get(loop_id, ""),
        "session_command": shlex.join(output.session_command(loop) or ()),
        "line": line(service, loop),
    }


@router.patch("/{loop_id}", response_model=LoopLine, responses={**may_answer(404, 409, 412, 422, 503), **_TAGGED})
def change_loop(
    loop_id: LoopId, change: LoopChange, service: Serving, response: Response, if_match: IfMatch = None
) -> LoopLine:
    """Change the title or the budget."""
    store = service.store_of(loop_id)
    changes = budget_changes(change.budget) if change.budget else ()
    loop = store.load(loop_id)
    known = _entry(loop, if_match)
    if change.title is not None:
        loop = control.rename(store, loop_id, change.title, known)
        known = None
    if changes:
        loop = control.budget(store, loop_id, *changes, known=known)
    response.headers["ETag"] = f'"{loop.seq}"'
    return line(service, loop)


@router.delete("/{loop_id}", status_code=204, responses=may_answer(404, 409, 412, 422, 503))
def delete_loop(
    loop_id: LoopId,
    service: Serving,
    force: Annotated[bool, Query(description="One that has not ended is stopped first, at once")] = False,
    if_match: IfMatch = None,
) -> Response:
    """Delete the journal, output and receipt of an ended loop. Its changes in the workspace stay."""
    store = service.store_of(loop_id)
    loop = store.load(loop_id)
    known = _entry(loop, if_match)
    if force and not loop.status.ended:
        control.stop(store, loop_id, Urgency.NOW, known=known)
        known = None
    service.delete(loop_id, END_WITHIN if force else 1.0, known)
    return Response(status_code=204)


@router.post("/{loop_id}/start", response_model=LoopLine, responses=may_answer(404, 409, 422, 503))
def start_loop(loop_id: LoopId, service: Serving) -> LoopLine:
    """Start a loop; this server drives it as soon as a slot is free. A running loop goes on as it is."""
    return line(service, service.start(loop_id))


@router.post("/{loop_id}/pause", response_model=LoopLine, responses=may_answer(404, 409, 422, 503))
def pause_loop(loop_id: LoopId, service: Serving, when: Now | None = None) -> LoopLine:
    """Pause a loop after its iteration, or now. A paused loop stays paused."""
    return line(service, control.pause(service.store_of(loop_id), loop_id, _urgency(when)))


@router.post("/{loop_id}/resume", response_model=LoopLine, responses=may_answer(404, 409, 412, 422, 503))
def resume_loop(loop_id: LoopId, service: Serving, how: Resumption | None = None, if_match: IfMatch = None) -> LoopLine:
    """Resume a loop on this server. A loop that another process drives stays there. One whose budget is used up needs more with it."""
    how = how or Resumption.model_validate({})
    changes = budget_changes(how.budget) if how.budget else ()
    known = _entry(service.store_of(loop_id).load(loop_id), if_match)
    return line(service, service.resume(loop_id, *changes, skip_wait=how.now, known=known))


@router.post("/{loop_id}/stop", response_model=LoopLine, responses=may_answer(404, 409, 422, 503))
def stop_loop(loop_id: LoopId, service: Serving, when: Now | None = None) -> LoopLine:
    """End a loop for good, after its iteration or now. A stopped loop stays stopped."""
    return line(service, control.stop(service.store_of(loop_id), loop_id, _urgency(when)))


@router.post("/{loop_id}/messages", response_model=Heard, responses=may_answer(404, 409, 422, 503))
def say(loop_id: LoopId, message: Message, service: Serving) -> Heard:
    """Send a message, which becomes part of the next prompt. `[r+5]` at the very start adds rounds; a loop without rounds goes on."""
    heard = service.say(loop_id, message.text)
    return Heard(notices=list(heard.notices), goes_on=heard.goes_on, loop=line(service, heard.loop))


@router.get("/{loop_id}/messages/preview", response_model=Preview, responses=may_answer(404, 422, 503))
def preview_message(
    loop_id: LoopId,
    service: Serving,
    text: Annotated[str, Query(max_length=LONGEST_PREVIEW, description="The beginning of the message")],
) -> Preview:
    """What the round controls at the start of a message would do. Nothing is sent."""
    loop = service.store_of(loop_id).load(loop_id)
    return Preview(notices=list(control.preview(loop, text)))


@router.post("/{loop_id}/approve", response_model=LoopLine, responses=may_answer(404, 409, 422, 503))
def approve(loop_id: LoopId, approval: Approval, service: Serving) -> LoopLine:
    """Accept the agent's changes of judge files or programs. A claim that was refused only for these is judged again."""
    return line(service, control.approve(service.store_of(loop_id), loop_id, *approval.paths))


@router.post("/{loop_id}/budget", response_model=LoopLine, responses=may_answer(404, 409, 422, 503))
def change_budget(loop_id: LoopId, change: BudgetChange, service: Serving) -> LoopLine:
    """Change the limits of a loop, while it runs or rests."""
    store, changes = service.store_of(loop_id), budget_changes(change)
    if not changes:
        loop: Loop = store.load(loop_id)
        moves.check(loop, Control.BUDGET)
        return line(service, loop)
    return line(service, control.budget(store, loop_id, *changes))


def _entry(loop: Loop, tag: str | None) -> int | None:
    """The last entry that a client knows, by the tag that it sends. LoopChanged if it is not the last one."""
    if tag is None or tag.strip() == "*":
        return None
    if f'"{loop.seq}"' not in (each.strip() for each in tag.split(",")):
        raise LoopChanged(
            f"Loop {loop.loop_id} has changed: it is at entry {loop.seq}.", "read it again, and take its ETag"
        )
    return loop.seq


def budget_changes(change: BudgetChange) -> tuple[BudgetChanged, ...]:
    """The changes of limits that a body asks for."""
    amounts_given = change.model_dump(exclude_none=True)
    return tuple(amounts.change(limit, amount) for limit, amount in amounts_given.items())


def _urgency(when: Now | None) -> Urgency:
    return Urgency.NOW if when is not None and when.now else Urgency.AFTER_ITERATION
