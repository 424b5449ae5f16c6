"""Routes for the subtasks of a loop. Each change is one journal entry, so changes of a person and of the agent are merged."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from fastapi import APIRouter, Response
from starlette.exceptions import HTTPException

from untildone.core import moves, subtasks
from untildone.core.errors import UsageError, WrongMove
from untildone.core.loop import Loop
from untildone.core.model import Subtask, SubtaskChange
from untildone.core.moves import Control
from untildone.faces.api.common import LoopId, Serving, TaskName
from untildone.faces.api.models import NewTask, TaskLine, TaskList, TaskOrder, TaskPatch, task_line
from untildone.faces.api.problems import may_answer
from untildone.operations import control
from untildone.operations.service import Service

router = APIRouter(prefix="/api/loops/{loop_id}/tasks", tags=["tasks"])
MOST_TASKS = 10_000


@router.get("", response_model=TaskList, responses=may_answer(404, 422, 503))
def list_tasks(loop_id: LoopId, service: Serving) -> TaskList:
    """The subtasks of a loop, in their order."""
    return _list(service.store_of(loop_id).load(loop_id))


@router.post("", status_code=201, response_model=TaskLine, responses=may_answer(404, 409, 422, 503))
def add_task(loop_id: LoopId, new: NewTask, service: Serving) -> TaskLine:
    """Add a task, at the end or at a position."""
    loop = service.store_of(loop_id).load(loop_id)
    task_id = new.task_id or f"task-{secrets.token_hex(4)}"
    if any(task.task_id == task_id for task in loop.tasks):
        raise WrongMove(f"There is already a task '{task_id}'.", "choose another id, or PATCH that one")
    if len(loop.tasks) >= MOST_TASKS:
        raise WrongMove(f"The loop has {MOST_TASKS:,} tasks already.", "delete some")
    change = SubtaskChange(task_id, new.text, depends_on=tuple(new.depends_on), position=new.position)
    return _changed(service, loop, change)


@router.put("/order", response_model=TaskList, responses=may_answer(404, 409, 422, 503))
def order_tasks(loop_id: LoopId, body: TaskOrder, service: Serving) -> TaskList:
    """Put the named tasks first, in this order."""
    store = service.store_of(loop_id)
    loop = store.load(loop_id)
    moves.check(loop, Control.SUBTASKS)
    known = {task.task_id for task in loop.tasks}
    unknown = next((name for name in body.order if name not in known), None)
    if unknown is not None:
        raise UsageError(f"'order': there is no task '{unknown}'.", "GET the tasks to see their ids")
    if len(set(body.order)) < len(body.order):
        raise UsageError("'order': a task is named twice.", "name each once")
    changes = subtasks.ordered(loop.tasks, tuple(body.order))
    return _list(control.change_subtasks(store, loop_id, *changes) if changes else loop)


@router.patch("/{task_id}", response_model=TaskLine, responses=may_answer(404, 409, 422, 503))
def change_task(loop_id: LoopId, task_id: TaskName, patch: TaskPatch, service: Serving) -> TaskLine:
    """Change the text, status, dependencies or position of a task."""
    loop = service.store_of(loop_id).load(loop_id)
    _task_of(loop, task_id)
    needs = None if patch.depends_on is None else tuple(patch.depends_on)
    return _changed(service, loop, SubtaskChange(task_id, patch.text, patch.status, needs, patch.position))


@router.delete("/{task_id}", status_code=204, responses=may_answer(404, 409, 422, 503))
def delete_task(loop_id: LoopId, task_id: TaskName, service: Serving) -> Response:
    """Delete a task, also from the dependencies of other tasks."""
    loop = service.store_of(loop_id).load(loop_id)
    _task_of(loop, task_id)
    freed = [_without(task, task_id) for task in loop.tasks if task_id in task.depends_on]
    control.change_subtasks(service.store_of(loop_id), loop_id, *freed, SubtaskChange(task_id, remove=True))
    return Response(status_code=204)


def _without(task: Subtask, gone: str) -> SubtaskChange:
    return SubtaskChange(task.task_id, depends_on=tuple(need for need in task.depends_on if need != gone))


def _list(loop: Loop) -> TaskList:
    return TaskList(tasks=[task_line(task) for task in loop.tasks])


def _task_of(loop: Loop, task_id: str) -> Subtask:
    return _task(loop.tasks, task_id)


def _task(known: Iterable[Subtask], task_id: str) -> Subtask:
    task = next((each for each in known if each.task_id == task_id), None)
    if task is None:
        raise HTTPException(404, f"There is no task '{task_id}'")
    return task


def _changed(service: Service, loop: Loop, change: SubtaskChange) -> TaskLine:
    """Append a change. UsageError if tasks would wait for each other, or for a task that does not exist."""
    stuck = subtasks.circle(subtasks.changed(loop.tasks, (change,)))
    if change.depends_on and change.task_id in stuck:
        raise UsageError(
            f"'depends_on': task '{change.task_id}' would wait for ever.",
            "name tasks that are there and do not wait for it",
        )
    after = control.change_subtasks(service.store_of(loop.loop_id), loop.loop_id, change)
    return task_line(_task(after.tasks, change.task_id))
