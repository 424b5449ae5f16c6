"""The request and response models of the API, as OpenAPI describes them."""

from __future__ import annotations

import inspect
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from untildone.core.attention import Act, NeedKind
from untildone.core.doing import DoingKind
from untildone.core.limits import Limit
from untildone.core.model import Budget, RoomKind, Spend, Status, Subtask, SubtaskStatus
from untildone.faces.api.schemas.problem_form import Code, problem_fields
from untildone.settings.schema import SettingsModel

LONGEST_TEXT = 500_000
TASK_ID = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
_SOMETHING = r"^[^\x00]*[^\x00\s][^\x00]*$"
_AMOUNT = r"^([+=]?[0-9]{1,9}(\.[0-9]{1,6})?|none)$"
LOOP_ID = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
NUMBER = r"^[0-9]{1,15}$"
OUTPUT = r"^[0-9]{1,7}(-(instructor|supervisor|author))?$"
OUTPUT_NAME = r"^[0-9]{4,7}(-(instructor|supervisor|author))?$"
MOMENT = r"^[0-9]{1,12}(\.[0-9]{1,6})?$"
CURSOR = r"^[A-Za-z0-9_-]+$"
AGE = r"^[0-9]{1,6} ?[hdw]$"
FORMS = {
    _SOMETHING: "is empty, or has a NUL character",
    _AMOUNT: 'is not an amount, such as 10, "+5", "=10" or "none"',
    OUTPUT_NAME: "is not the `output` of a turn, such as 0003 or 0003-supervisor",
    TASK_ID: "is not an id of a task: letters, digits, `.`, `_` and `-`, at most 100",
    LOOP_ID: "is not an id of a loop, or a name: letters, digits, `_` and `-`, at most 100",
    NUMBER: "is not the number of an entry",
    OUTPUT: "is not the name of an output, such as 3 or 0003-supervisor",
    MOMENT: "is not the `id` of a message of this stream",
    CURSOR: "is not a cursor",
    AGE: "is not an age: hours, days or weeks, such as 12h, 30d, 4w",
}
"""What is said about a text that does not have the form."""

Text = Annotated[str, StringConstraints(pattern=_SOMETHING, max_length=LONGEST_TEXT)]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Title = Annotated[str, StringConstraints(pattern=_SOMETHING, max_length=200)]
TaskId = Annotated[str, StringConstraints(pattern=TASK_ID)]
Position = Annotated[int, Field(ge=0, le=100_000, strict=True)]
Flag = Annotated[bool, Field(strict=True)]
AmountWord = Annotated[str, StringConstraints(pattern=_AMOUNT)]


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
    """Why a loop needs a person; `any`: for whatever reason."""

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
    until: Time | None = Field(description="When a wait is over; null: it is no wait")


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
    total: int = Field(description="How many loops fit, on all pages")
    counts: dict[StatusWord, int] = Field(
        description="How many loops of each status fit in everything but `status`; those without any are left out"
    )


class Now(Body):
    """The body of pause and stop."""

    now: Flag = Field(default=False, description="End the running iteration at once, instead of after it")

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"now": True}]})


Round = Annotated[int, Field(strict=True, le=1_000_000)]


class Duplication(Body):
    """The body that creates a loop like another one."""

    task: Text | None = Field(None, description="Another task; without one, the same")
    settings: SettingsModel = Field(
        default_factory=lambda: SettingsModel.model_validate({}), description="The settings that differ"
    )
    start: Flag = Field(default=False, description="Start it at once")


class Rewinding(Body):
    """The body of rewind: `to` or `undo`."""

    to: Annotated[Round, Field(ge=0)] | None = Field(None, description="As it was after this round; 0: at its start")
    undo: Flag = Field(default=False, description="Take the last rewind back")


class TakenBack(BaseModel):
    """A loop that was taken back."""

    loop: LoopLine
    kept: str = Field(description="The snapshot of the workspace before; empty: the loop was there already")
    messages: list[str] = Field(description="What was said since: the agent does not hear it again")


class Bisection(Body):
    """The body of bisect."""

    checks: list[Text] = Field(default_factory=list, max_length=100, description="Other checks than those of the loop")
    good: Annotated[Round, Field(ge=0)] | None = Field(None, description="A round after which they hold; the start")
    bad: Annotated[Round, Field(ge=1)] | None = Field(None, description="A round after which they fail; the last")


class Verifying(Body):
    """The body of verify."""

    room: RoomKind | None = Field(
        None,
        description="Where the checks run, if not where the loop had them run. `plain`: in place and outside of the sandbox",
    )


class VerifiedCheck(BaseModel):
    """A check as the receipt has it, and its result today."""

    command: str
    agrees: bool = Field(description="Whether it passes or fails as it did then")
    before: dict[str, Any] = Field(description="As the receipt has it")
    now: dict[str, Any]


class Verified(BaseModel):
    """What became of the checks of an ended loop."""

    holds: bool = Field(
        description="Whether every check passes as it did then, and the workspace is not known to be another one"
    )
    same_workspace: bool | None = Field(description="Whether the workspace is the one that was judged; null: unknown")
    differs: list[str] = Field(description="The files in which it differs")
    checks: list[VerifiedCheck]


class BrokenBy(BaseModel):
    """The round that broke the checks."""

    broke: int
    holds_after: int = Field(description="The last round after which they hold; 0: the start")
    failed: list[str] = Field(description="The checks that fail after it")
    checked: list[int] = Field(description="The rounds whose snapshots were checked")


class Cleaning(Body):
    """The body of clean."""

    older_than: str = Field(pattern=AGE, description="How long ago they ended: 12h, 30d, 4w")
    workspace: str | None = Field(None, max_length=4096, description="One of the served folders; all, if not set")
    dry_run: Flag = Field(default=False, description="Only name them")

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"older_than": "30d", "dry_run": True}]})


class Deleted(BaseModel):
    """The loops that clean found and deleted."""

    found: list[str] = Field(description="The loops that ended so long ago")
    deleted: list[str] = Field(description="Those that are deleted now: none, if it was a dry run")
    problems: dict[str, str] = Field(description="Why a loop could not be deleted, by its id")


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
    """The result of a reply. It tells nothing about the loop that the one who replies does not know."""

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


class TaskLine(BaseModel):
    """A subtask of a loop."""

    task_id: str
    text: str
    status: SubtaskStatus
    depends_on: list[str]


class TaskList(BaseModel):
    """The subtasks of a loop, in their order."""

    tasks: list[TaskLine]


class NewTask(Body):
    """The body that adds a subtask."""

    text: Text
    task_id: TaskId | None = Field(None, description="Made up if not set")
    depends_on: list[TaskId] = Field(default_factory=list, max_length=1000)
    position: Position | None = Field(None, description="Its place in the list; last, if not set")

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "Write the parser"}]})


class TaskPatch(Body):
    """The body that changes a subtask. A field that is left out or null stays as it is."""

    text: Text | None = None
    status: SubtaskStatus | None = None
    depends_on: list[TaskId] | None = Field(None, max_length=1000)
    position: Position | None = None

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"status": "completed"}]})


class TaskOrder(Body):
    """The body that reorders the subtasks."""

    order: list[TaskId] = Field(
        max_length=10_000, description="Ids, the first first; those not named follow as they were"
    )


class Health(BaseModel):
    """The response of the health check."""

    status: Literal["ok"]
    version: str


def task_line(task: Subtask) -> TaskLine:
    """A subtask as the API lists it."""
    return TaskLine(task_id=task.task_id, text=task.text, status=task.status, depends_on=list(task.depends_on))
