"""Routes for the rounds of a loop: what was asked, answered, changed and checked in each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response

from untildone.core.errors import UsageError
from untildone.core.events import Entry, TurnEnded, TurnInterrupted, TurnStarted
from untildone.core.loop import output_name
from untildone.core.model import Changes, Failure, GateResult, Role, Usage
from untildone.core.values.codec import timestamp, to_json
from untildone.faces.api.routes.common import LoopId, Serving, WithViews
from untildone.faces.api.schemas.forms import Time
from untildone.faces.api.schemas.problems import beside_text, may_answer
from untildone.faces.api.schemas.typed import model_of
from untildone.operations import look
from untildone.operations.driving.service import Service
from untildone.operations.showing.following import LoopViews
from untildone.operations.showing.moments import Moment, MomentKind
from untildone.operations.showing.timeline import Round, Timeline
from untildone.operations.stores import Store

MOST_DIFF = 2_000_000
router = APIRouter(prefix="/api/v1/loops/{loop_id}/rounds", tags=["rounds"])
Number = Annotated[int, Path(ge=1, le=1_000_000, description="The number of a round, from 1")]


class GateLine(BaseModel):
    """The verdict of a gate, without its output."""

    gate: str
    command: str
    passed: bool
    reason: str = Field(description="Why it failed, in a few words; empty: it passed")
    seconds: float
    tests: str = Field(description="What the test runner reported, in a few words; may be empty")


class MomentLine(BaseModel):
    """Something that happened during a round or before the next one: a control, a message, a retry, a limit, a rest."""

    at: Time
    kind: MomentKind
    text: str
    until: Time | None = Field(description="When a wait ends")
    number: float | None = Field(description="The round of a rewind, the number of an attempt, the amount of a limit")
    name: str = Field(description="The limit of a budget, the agent, the source of a message, the outcome of a rest")


class _Round(BaseModel):
    number: int
    agent: str
    label: str = Field(description="The purpose of the round in one word, in modes that have several; may be empty")
    going: bool = Field(description="Whether it still runs")
    attempts: int
    started_at: Time
    ended_at: Time | None
    seconds: float | None = Field(description="How long the agent worked; null: it still does")
    claimed: bool = Field(description="Whether the agent said that it is done")
    trouble: str = Field(description="Why the round failed; empty: it did not")
    note: str
    usage: model_of(Usage)  # type: ignore[valid-type]
    changes: model_of(Changes) | None = Field(description="The workspace after the round")  # type: ignore[valid-type]


class RoundLine(_Round):
    """A round in one line."""

    gates: list[GateLine]


class RoundList(BaseModel):
    """The rounds of a loop, the first first."""

    rounds: list[RoundLine]
    before: list[MomentLine] = Field(description="What happened before the first round")


class TurnLine(BaseModel):
    """One call of an agent."""

    role: Role
    agent: str
    attempt: int
    label: str
    prompt: str = Field(description="What the agent was asked")
    answer: str | None = Field(description="Its last words; null: there is no answer")
    started_at: Time
    seconds: float | None
    interrupted: str | None = Field(description="Why it ended before its answer; null: it did not")
    failure: model_of(Failure) | None  # type: ignore[valid-type]
    usage: model_of(Usage) | None  # type: ignore[valid-type]
    output: str = Field(description="The name of what it printed: `/loops/{loop_id}/output/{name}`")


class RoundState(_Round):
    """A round: what was asked, answered, changed and checked."""

    prompt: str = Field(description="What the worker was asked last in this round")
    answer: str | None = Field(description="The worker's last words; null: there is no answer yet")
    turns: list[TurnLine] = Field(description="Every call of an agent in this round, in order")
    gates: list[model_of(GateResult)] = Field(description="Verdicts; `tail` is the end of the output")  # type: ignore[valid-type]
    tampering: list[str] = Field(description="The tampering report about the claim of the round")
    messages: list[str] = Field(description="What the person said during the round or before the next one")
    moments: list[MomentLine]


@router.get("", response_model=RoundList, responses=may_answer(404, 422, 503))
def list_rounds(loop_id: LoopId, service: Serving, views: WithViews) -> RoundList:
    """The rounds of a loop."""
    timeline = _timeline(service, views, loop_id)
    return RoundList(
        rounds=[RoundLine(**_fields(each), gates=[_gate(result) for result in each.gates]) for each in timeline.rounds],
        before=[_moment(each) for each in timeline.moments],
    )


@router.get("/{number}", response_model=RoundState, responses=may_answer(404, 422, 503))
def show_round(loop_id: LoopId, number: Number, service: Serving, views: WithViews) -> RoundState:
    """A round with its prompt, its answers, the verdicts of the gates and their output."""
    chosen = _round(_timeline(service, views, loop_id), loop_id, number)
    turns = list(_turns(_entries(service.store_of(loop_id), loop_id), number))
    own = [each for each in turns if each.role is Role.WORKER]
    return RoundState(
        **_fields(chosen),
        prompt=own[-1].prompt if own else chosen.prompt,
        answer=next((each.answer for each in reversed(own) if each.answer is not None), None),
        turns=turns,
        gates=[to_json(each) for each in chosen.gates],
        tampering=list(chosen.signs),
        messages=list(chosen.messages),
        moments=[_moment(each) for each in chosen.moments],
    )


@router.get("/{number}/diff", response_class=PlainTextResponse, responses=beside_text(404, 422, 503))
def read_round_diff(loop_id: LoopId, number: Number, service: Serving, views: WithViews) -> Response:
    """What a round changed in the workspace; while it runs, up to now."""
    chosen = _round(_timeline(service, views, loop_id), loop_id, number)
    if not chosen.before:
        raise HTTPException(404, f"Loop {loop_id} has no snapshot from before round {number}")
    try:
        made = look.diff_between(service.store_of(loop_id), loop_id, chosen.before, chosen.after)
    except UsageError as problem:
        raise HTTPException(404, problem.sentence.rstrip(".")) from None
    return PlainTextResponse(made.encode("utf-8", "replace")[:MOST_DIFF])


def _timeline(service: Service, views: LoopViews, loop_id: str) -> Timeline:
    return views.look(service.store_of(loop_id), loop_id).timeline


def _round(timeline: Timeline, loop_id: str, number: int) -> Round:
    chosen = timeline.round(number)
    if chosen is None:
        raise HTTPException(404, f"Loop {loop_id} has no round {number}")
    return chosen


def _fields(each: Round) -> dict[str, Any]:
    return {
        "number": each.number,
        "agent": each.profile,
        "label": each.label,
        "going": each.is_going,
        "attempts": each.attempts,
        "started_at": timestamp(each.started_at),
        "ended_at": None if each.ended_at is None else timestamp(each.ended_at),
        "seconds": each.seconds,
        "claimed": each.claimed,
        "trouble": each.trouble,
        "note": each.note,
        "usage": to_json(each.usage),
        "changes": to_json(each.changes),
    }


def _gate(result: GateResult) -> GateLine:
    return GateLine(**{name: getattr(result, name) for name in GateLine.model_fields})


def _moment(each: Moment) -> MomentLine:
    until = None if each.until is None else timestamp(each.until)
    return MomentLine(
        at=timestamp(each.at), kind=each.kind, text=each.text, until=until, number=each.number, name=each.name
    )


def _entries(store: Store, loop_id: str) -> Iterator[Entry]:
    offset = 0
    while True:
        entries, end = store.entries_after(loop_id, offset)
        if end == offset:
            return
        yield from entries
        offset = end


def _turns(entries: Iterable[Entry], number: int) -> Iterator[TurnLine]:
    """Every call of an agent in a round. A call without an end is still going, or its runner died."""
    turn: TurnLine | None = None
    for entry in entries:
        match entry.event:
            case TurnStarted(iteration=iteration) as started if iteration == number:
                if turn is not None:
                    yield turn
                turn = _begun(started, entry.at)
            case TurnEnded() | TurnInterrupted() as ended if turn is not None and ended.iteration == number:
                yield _ended(turn, ended)
                turn = None
            case _:
                continue
    if turn is not None:
        yield turn


def _begun(started: TurnStarted, at: float) -> TurnLine:
    return TurnLine(
        role=started.role,
        agent=started.profile,
        attempt=started.attempt,
        label=started.label,
        prompt=started.prompt,
        answer=None,
        started_at=timestamp(at),
        seconds=None,
        interrupted=None,
        failure=None,
        usage=None,
        output=output_name(started.role, started.iteration),
    )


def _ended(turn: TurnLine, ended: TurnEnded | TurnInterrupted) -> TurnLine:
    if isinstance(ended, TurnInterrupted):
        return turn.model_copy(update={"seconds": ended.seconds, "interrupted": ended.reason.value})
    failure, usage = to_json(ended.answer.failure), to_json(ended.answer.usage)
    filled = {
        "seconds": ended.seconds,
        "answer": None if ended.answer.failure else ended.answer.text,
        "failure": failure and model_of(Failure).model_validate(failure),
        "usage": model_of(Usage).model_validate(usage),
    }
    return turn.model_copy(update=filled)
