"""Routes for groups of loops that share a total."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from untildone.core.limits import Limit
from untildone.core.values.codec import to_json
from untildone.faces.api.routes.common import Serving
from untildone.faces.api.routes.settings_routes import Workspace
from untildone.faces.api.schemas.forms import LOOP_ID
from untildone.faces.api.schemas.problems import may_answer
from untildone.operations.driving import cluster
from untildone.operations.stores import Group

router = APIRouter(prefix="/api/v1/groups", tags=["groups"])
Name = Annotated[str, Path(pattern=LOOP_ID, max_length=100, description="A group's name")]


class GroupLimits(BaseModel):
    """What all loops of a group may use together; null: no limit."""

    model_config = ConfigDict(extra="forbid")
    max_cost: float | None = Field(None, gt=0, le=Limit.COST.row.most, allow_inf_nan=False, description="Dollars")
    at_once: int | None = Field(None, ge=1, le=1_000_000, description="Loops at work at once")


class GroupLine(BaseModel):
    """A group and what its loops use together."""

    name: str
    max_cost: float | None
    at_once: int | None
    cost: float = Field(description="Dollars that its loops have spent")
    loops: int
    at_work: int


@router.get("", responses=may_answer(422, 503))
def list_groups(service: Serving, workspace: Workspace = None) -> list[GroupLine]:
    """All groups. Only loops that are kept in Postgres have groups: for others the answer is 422."""
    return [_line(group) for group in service.workspace(workspace)[1].groups()]


@router.put("/{name}", responses=may_answer(422, 503))
def change_group(name: Name, limits: GroupLimits, service: Serving, workspace: Workspace = None) -> GroupLine:
    """Set the limits of a group, on all machines. A group exists as soon as it has limits or loops."""
    store = service.workspace(workspace)[1]
    changed = cluster.change_group(store, name, service.environment, max_cost=limits.max_cost, at_once=limits.at_once)
    return _line(changed)


def _line(group: Group) -> GroupLine:
    return GroupLine(**to_json(group))
