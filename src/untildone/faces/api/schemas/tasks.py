"""Requests and responses: the subtasks of a loop."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from untildone.core.model import Subtask, SubtaskStatus
from untildone.faces.api.schemas.forms import Position, TaskId, Text
from untildone.faces.api.schemas.models import Body


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
    task_id: TaskId | None = Field(None, description="Generated if not set")
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
        max_length=10_000, description="Ids in the new order; subtasks that are not named follow in their old order"
    )


def task_line(task: Subtask) -> TaskLine:
    """A subtask as the API lists it."""
    return TaskLine(task_id=task.task_id, text=task.text, status=task.status, depends_on=list(task.depends_on))
