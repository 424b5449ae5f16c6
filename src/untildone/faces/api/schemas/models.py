"""The request and response models of the API, as OpenAPI describes them."""

from __future__ import annotations

import inspect
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from untildone.core.attention import Act, NeedKind
from untildone.core.doing import DoingKind
from untildone.core.limits import Limit
from untildone.core.model import Budget, Spend, Status
from untildone.faces.api.schemas.forms import AmountWord, Flag, Round, Text, Time, Title
from untildone.faces.api.schemas.problem_form import Code, problem_fields
from untildone.settings.schema import SettingsModel


class StatusWord(StrEnum):
    """The status of a loop; `damaged`: it cannot be read."""

    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    DAMAGED = "damaged"


class OutcomeWord(StrEnum):
    """How a loop came to rest."""

    VERIFIED = "verified"
    CLAIMED = "claimed"
    BUDGET = "budget"
    STALLED = "stalled"
    BLOCKED = "blocked"
    STOPPED = "stopped"
    FAILED = "failed"
    ABANDONED = "abandoned"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"


class NeedWord(StrEnum):
    """Why a loop needs a person; `any`: for any reason."""

    ANY = "any"
    BLOCKED = "blocked"
    ASKS = "asks"
    STALLED = "stalled"
    BUDGET = "budget"
    FAILED = "failed"
    CLAIMED = "claimed"
    LIMIT = "limit"
    LOGIN = "login"


class Body(BaseModel):
    """A request body. An unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


class WrongField(BaseModel):
    """A field of a request that is wrong."""

    field: str = Field(description="Where it is: `settings.max_cost`")
    message: str = Field(description="One sentence: what is wrong with it")


class Problem(BaseModel):
    """An error response (RFC 9457)."""

    type: str = Field(description="`urn:untildone:problem:` and the code")
    title: str
    status: int
    detail: str = Field(description="One sentence: what, and where")
    code: str = Field(
        pattern="^[a-z-]+$",
        description=f"Why, for programs; codes do not change: {', '.join(code.word for code in Code)}",
    )
    hint: str = Field(description="What to do; may be empty")
    errors: list[WrongField] = Field(default_factory=list, description="Every field that is wrong, if some are")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                problem_fields(
                    Code.WRONG_STATE,
                    "Loop loop-20260304-050607891-a1b2c3 is completed: it cannot be resumed.",
                    "`untildone duplicate loop-20260304-050607891-a1b2c3` begins a new loop with its task",
                )
            ]
        }
    )


class NewLoop(Body):
    """The body that creates a loop."""

    task: Text = Field(description="What is to be done, in your words; [r=5] at the start sets the rounds")
    title: Title | None = Field(None, description="Its name in lists; without one, the beginning of the task")
    settings: SettingsModel = Field(
        default_factory=lambda: SettingsModel.model_validate({}),
        description="What is set here wins over the settings files; the schema is at /api/v1/settings/schema",
    )
    workspace: str | None = Field(None, max_length=4096, description="One of the served folders; the first, if not set")
    start: Flag = Field(default=False, description="Start it at once")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "task": "Make the failing tests pass",
                    "settings": {"agent": "scripted", "checks": ["test -s scripted-work.md"], "max_iterations": 5},
                    "start": False,
                }
            ]
        },
    )


def _fields_of(kind: type[Spend | Budget]) -> dict[str, Any]:
    """The fields of a value of the core, all of them required."""
    return {name: (eval(hint, {}), ...) for name, hint in inspect.get_annotations(kind).items()}


class Used(create_model("Used", **_fields_of(Spend))):  # type: ignore[misc]
    """What a loop has used so far."""


class Limits(create_model("Limits", **_fields_of(Budget))):  # type: ignore[misc]
    """The limits of a loop; null means no limit."""


class NeedLine(BaseModel):
    """What a loop needs from a person."""

    kind: NeedKind
    act: Act = Field(description="What solves it; `extend`: raise `limit` by `amount`, then resume")
    text: str = Field(description="The agent's question, what failed, what is used up")
    limit: Limit | None
    amount: float | None
    until: Time | None = Field(description="When the usage limit is over; the loop goes on then by itself")


class WaitKind(StrEnum):
    """What a running loop waits for."""

    LIMIT = "limit"
    RETRY = "retry"
    SLOT = "slot"
    RUNNER = "runner"


class WaitLine(BaseModel):
    """Why a running loop is not at work now."""

    kind: WaitKind = Field(
        description="The end of a usage limit, the next try of a failed turn, a free slot of this server, or a runner"
    )
    until: Time | None = Field(description="When it goes on at the latest, if that is known")
    text: str = Field(description="One sentence")


class DoingLine(BaseModel):
    """What a loop does now."""

    kind: DoingKind
    since: Time
    what: str = Field(description="The agent, the command of the check, or why it waits")
    until: Time | None = Field(description="When a wait is over; null: it is not a wait")


class LoopLine(BaseModel):
    """A loop in one line."""

    loop_id: str
    title: str
    status: StatusWord
    outcome: OutcomeWord | None = Field(description="How it came to rest; null: it has not")
    proof: str = Field(description="How much `verified` says: checked, clean; empty: it is not verified")
    reason: str = Field(description="Why it rests, in a sentence; may be empty")
    needs: NeedLine | None = Field(description="What it needs from a person; null: nothing")
    waits: WaitLine | None = Field(description="Why it is not at work although it is running; null: it is, or it rests")
    doing: DoingLine | None = Field(description="What it does now; null: no runner drives it")
    question: str | None = Field(description="What the agent asks; null: nothing")
    mode: str
    agent: str
    workspace: str = Field(description="The served folder that it belongs to")
    parent: str | None = Field(description="The loop whose agent started it; null: a person did")
    host: str = Field(description="What drives it, or did last: terminal, server, hook, cluster; empty: nothing yet")
    machine: str = Field(description="The machine whose runner holds the lease; empty: none")
    branch: str | None = Field(description="The git branch that the work is on; null: that of the workspace")
    driven: bool = Field(description="Whether a runner drives it now")
    queued: bool = Field(description="Whether it waits for a free slot of this server")
    current_iteration: int
    max_iterations: int | None
    spend: Used
    budget: Limits
    created_at: Time
    updated_at: Time
    seq: int = Field(description="The number of its last journal entry")
    problem: str = Field(description="Why it cannot be driven or read; empty: it can")
    not_ours: str = Field(description="Why it is not taken for a loop that untildone wrote here; empty: it is one")


class LoopList(BaseModel):
    """A page of the list of loops."""

    loops: list[LoopLine]
    next: str | None = Field(description="`cursor` of the next page; null: this is the last")
    total: int = Field(description="How many loops match, on all pages")
    counts: dict[StatusWord, int] = Field(
        description="How many loops of each status match everything but `status`; statuses without loops are left out"
    )


class Now(Body):
    """The body of pause and stop."""

    now: Flag = Field(default=False, description="End the running iteration at once, instead of after it")

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"now": True}]})


class Message(Body):
    """The body of a message to a loop."""

    text: Text = Field(description="Part of the next prompt; [r+5] at the very start adds five rounds")

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "[r+5] mind the tests"}]})


class Approval(Body):
    """The body of an approval."""

    paths: list[Text] = Field(
        min_length=1, max_length=1000, description="Judge files or programs whose change is accepted"
    )

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"paths": ["tests/test_calc.py"]}]})


class Heard(BaseModel):
    """The result of a message."""

    notices: list[str] = Field(description="Sentences about round controls in the text")
    goes_on: bool = Field(description="The loop was out of rounds, or waited for an answer, and goes on now")
    loop: LoopLine


class Preview(BaseModel):
    """What a message would do."""

    notices: list[str] = Field(description="Sentences about round controls in the text")


class Replied(BaseModel):
    """The result of a reply. It reveals nothing about the loop beyond what the notification contained."""

    status: Status
    notices: list[str] = Field(description="Sentences about round controls in the text")
    goes_on: bool = Field(description="The reply answers what the loop waited for, and it goes on now")


def _change_of(limit: Limit) -> Any:
    number = Annotated[float, Field(gt=0, le=limit.row.most, allow_inf_nan=False, strict=True)]
    return (number | AmountWord | None, Field(None, description=limit.row.api_help))


class BudgetChange(create_model("BudgetChange", __base__=Body, **{limit.value: _change_of(limit) for limit in Limit})):  # type: ignore[misc]
    """A number, or "=10": in all. "+5": more. "none": no limit. What is left out or null stays as it is."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"iterations": "+5", "cost": 10}]})


class LoopChange(Body):
    """The body that changes a loop. A field that is left out or null stays as it is."""

    title: Title | None = None
    budget: BudgetChange | None = None

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"title": "Fix the tests", "budget": {"iterations": 20}}]}
    )


class Resumption(Body):
    """The body of resume."""

    now: Flag = Field(default=False, description="Do not wait for a usage limit or a retry")
    budget: BudgetChange | None = Field(
        None, description="Changes of its budget, before it goes on; a loop whose budget is used up needs one"
    )

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"budget": {"iterations": "+5"}}]})


class Retrial(Body):
    """The body of retry."""

    from_round: Annotated[Round, Field(ge=1)] | None = Field(
        None, description="Take this round and all later ones back first; 1: begin again"
    )
    budget: BudgetChange | None = Field(None, description="Changes of its budget, before it goes on")


class Health(BaseModel):
    """The response of the health check."""

    status: Literal["ok"]
    version: str
