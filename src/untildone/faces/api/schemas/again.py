"""Requests and responses: duplicate a loop, rewind it, bisect, verify, clean."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from untildone.core.model import RoomKind
from untildone.faces.api.schemas.forms import AGE, Flag, Round, Text
from untildone.faces.api.schemas.models import Body, LoopLine
from untildone.settings.schema import SettingsModel


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
    undo: Flag = Field(default=False, description="Undo the last rewind")


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
