"""Schemas of the values of the core: the state of a loop, and the entries of its journal, by the type hints of their classes.

What a class of the core gains is described without a change here.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, create_model

from untildone.core.events import KINDS
from untildone.core.loop import Loop
from untildone.core.model import AcceptanceTests, Measured, Outcome, RoomKind, Spend, Status
from untildone.core.protection.sandbox import Containment, HostAsked
from untildone.core.receipts.receipt import FileChange
from untildone.core.values.codec import TIMES, timestamp
from untildone.faces.api.schemas.forms import Time
from untildone.faces.api.schemas.models import Limits, LoopLine, OutcomeWord, Used

REFERENCE = "#/components/schemas/{model}"


def _time(value: Any) -> Any:
    """A time that has no exact RFC 3339 form is kept as a number."""
    return timestamp(value) if isinstance(value, int | float) else value


_Time = Annotated[Time, BeforeValidator(_time)]


@cache
def model_of(kind: type) -> type[BaseModel]:
    """The model of a class of the core, in the form that `to_json` gives it."""
    return create_model(kind.__name__, __doc__=inspect.getdoc(kind), __module__=__name__, **_fields(kind))


def _fields(kind: type) -> dict[str, Any]:
    nested: Mapping[str, str] = getattr(kind, "WRITTEN_IN", {})
    hints = inspect.get_annotations(kind, eval_str=True)
    names = [name for name in kind.__match_args__ if name not in nested]  # type: ignore[attr-defined]
    return {name: (_type(hints[name], is_time=name in TIMES), ...) for name in names}


def _type(hint: Any, *, is_time: bool = False) -> Any:
    if isinstance(hint, types.UnionType):
        (inner,) = (each for each in hint.__args__ if each is not types.NoneType)
        return _type(inner, is_time=is_time) | None
    if hint is float and is_time:
        return _Time
    origin = getattr(hint, "__origin__", None)
    if origin is tuple:
        return list[_type(hint.__args__[0])]  # type: ignore[misc]
    if origin is not None:
        return dict[str, _type(hint.__args__[1])]  # type: ignore[misc]
    if hint is Outcome:
        return OutcomeWord
    is_value = isinstance(hint, type) and not issubclass(hint, Enum) and hasattr(hint, "__match_args__")
    return model_of(hint) if is_value else hint


_CHECKPOINT: dict[str, Any] = {
    **_fields(Loop),
    "max_iterations": (int | None, ...),
    "current_iteration": (int, ...),
    "created_at": (Time, ...),
    "updated_at": (Time, ...),
}


class LoopState(create_model("LoopState", **_CHECKPOINT)):  # type: ignore[misc]
    """The checkpoint: everything known about a loop, as `untildone show --json` prints it."""

    driven: bool = Field(description="Whether a runner drives it now")
    queued: bool = Field(description="Whether it waits for a free slot of this server")
    problem: str = Field(description="Why it cannot be driven; empty: it can")
    session_command: str = Field(
        description="The command that opens the worker's last session for a person; empty: there is none"
    )
    line: LoopLine = Field(description="The same loop as the list has it: what it needs, does and waits for")


class ReceiptAgent(BaseModel):
    """The agent that did the work."""

    name: str
    profile: str
    model: str | None
    version: str


class ReceiptGate(BaseModel):
    """The verdict of a gate."""

    model_config = ConfigDict(extra="allow")
    gate: str
    command: str
    passed: bool
    exit_code: int | None = None
    reason: str = ""
    seconds: float = 0.0
    output_sha256: str = ""
    room: RoomKind | None = None
    tree: str = ""
    tests: str = ""
    failing: list[str] = Field(default_factory=list)
    tampered: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)


class Receipt(BaseModel):
    """The record of an ended loop: the task, the spend, the changes, the results of its gates, and its signatures."""

    model_config = ConfigDict(extra="allow")
    loop_id: str
    task: str
    mode: str
    agent: ReceiptAgent
    status: Status
    outcome: OutcomeWord | None
    proof: str = Field("", description="How much `verified` says: checked, clean; empty: it is not verified")
    reason: str
    iterations: int
    spend: Used
    budget: Limits
    started: Time
    ended: Time
    workspace: str
    commit_before: str | None
    commit_after: str | None
    tree_before: str | None
    tree_after: str | None
    files_changed: list[model_of(FileChange)] | None = Field(description="null: not known")  # type: ignore[valid-type]
    gates: list[ReceiptGate]
    baseline: list[model_of(Measured)] = Field(default_factory=list, description="What each check said before any work")  # type: ignore[valid-type]
    acceptance: model_of(AcceptanceTests) | None = Field(None, description="Tests of another author, by name")  # type: ignore[valid-type]
    sandbox: list[model_of(Containment)] = Field(default_factory=list, description="What held while agents ran")  # type: ignore[valid-type]
    hosts: list[model_of(HostAsked)] = Field(default_factory=list, description="The hosts that agents asked for")  # type: ignore[valid-type]
    approved: list[str] = Field(default_factory=list, description="Changes of judge files that a person accepted")
    tampering: list[str] = Field(default_factory=list, description="Signs of tampering")
    settings_changed: list[str] = Field(default_factory=list)
    questions: list[str] = Field(default_factory=list, description="What it needed from a person")
    attestations: list[dict[str, Any]] = Field(default_factory=list, description="in-toto statements and signatures")


class LoopEnd(BaseModel):
    """The last message of a stream of entries."""

    event: Literal["loop_end"]
    ts: Time
    loop_id: str
    status: Status
    outcome: OutcomeWord | None
    iterations: int
    spend: model_of(Spend)  # type: ignore[valid-type]
    exit_code: int


def _entry(name: str, kind: type) -> type[BaseModel]:
    fields = {
        "seq": (int, Field(description="Its number, from 1")),
        "ts": (Time, ...),
        "level": (Literal["INFO", "WARN", "ERROR"], ...),
        "event": (Literal[name], ...),
        "loop_id": (str, ...),
        "who": (
            str,
            Field("", description="The name of the token with which a person asked for this through a server"),
        ),
        **_fields(kind),
    }
    title = "".join(word.title() for word in name.split("_"))
    return create_model(f"{title}Entry", __doc__=inspect.getdoc(kind), __module__=__name__, **fields)


def entry_schemas() -> dict[str, Any]:
    """The schemas of all entries of a journal, of which `Entry` is any, and of the last message of a stream."""
    models = [_entry(name, kind) for name, kind in KINDS.items()]
    union: Any = models[0]
    for each in models[1:]:
        union |= each
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[union, Field(discriminator="event")])
    schema = adapter.json_schema(ref_template=REFERENCE, mode="serialization")
    end = LoopEnd.model_json_schema(ref_template=REFERENCE, mode="serialization")
    schemas: dict[str, Any] = {**schema.pop("$defs"), **end.pop("$defs"), "LoopEnd": end}
    return {**schemas, "Entry": {**schema, "title": "Entry", "description": "An entry of the journal of a loop."}}
