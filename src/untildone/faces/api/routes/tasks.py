"""Routes for the subtasks of a loop. Each change is one journal entry, so changes of a person and of the agent are merged."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.exceptions import HTTPException

from untildone.core.loop import Loop
from untildone.core.model import SubtaskChange
from untildone.faces.api.routes.common import LoopId, Serving, TaskName
from untildone.faces.api.schemas.problems import may_answer
from untildone.faces.api.schemas.tasks import NewTask, TaskLine, TaskList, TaskOrder, TaskPatch, task_line
from untildone.operations import subtasks
from untildone.operations.driving.service import Service
from untildone.operations.stores import Store

router = APIRouter(prefix="/api/v1/loops/{loop_id}/tasks", tags=["tasks"])


@router.get("", response_model=TaskList, responses=may_answer(404, 422, 503))
def list_tasks(loop_id: LoopId, service: Serving) -> TaskList:
    """The subtasks of a loop, in their order."""
    return _list(service.store_of(loop_id).load(loop_id))


@router.post("", status_code=201, response_model=TaskLine, responses=may_answer(404, 409, 422, 503))
def add_task(loop_id: LoopId, new: NewTask, service: Serving) -> TaskLine:
    """Add a task, at the end or at a position."""
    added = subtasks.add(
        service.store_of(loop_id),
        loop_id,
        new.text,
        task_id=new.task_id or "",
        depends_on=new.depends_on,
        position=new.position,
    )
    return task_line(added)


@router.put("/order", response_model=TaskList, responses=may_answer(404, 409, 422, 503))
def order_tasks(loop_id: LoopId, body: TaskOrder, service: Serving) -> TaskList:
    """Put the named tasks first, in this order."""
    return _list(subtasks.order(service.store_of(loop_id), loop_id, body.order))


@router.patch("/{task_id}", response_model=TaskLine, responses=may_answer(404, 409, 422, 503))
def change_task(loop_id: LoopId, task_id: TaskName, patch: TaskPatch, service: Serving) -> TaskLine:
    """Change the text, status, dependencies or position of a task."""
    store = _store_with(service, loop_id, task_id)
    needs = None if patch.depends_on is None else tuple(patch.depends_on)
    change = SubtaskChange(task_id, patch.text, patch.status, needs, patch.position)
    return task_line(subtasks.change(store, loop_id, change))


@router.delete("/{task_id}", status_code=204, responses=may_answer(404, 409, 422, 503))
def delete_task(loop_id: LoopId, task_id: TaskName, service: Serving) -> Response:
    """Delete a task, also from the dependencies of other tasks."""
    subtasks.delete(_store_with(service, loop_id, task_id), loop_id, task_id)
    return Response(status_code=204)


def _list(loop: Loop) -> TaskList:
    return TaskList(tasks=[task_line(task) for task in loop.tasks])


def _store_with(service: Service, loop_id: str, task_id: str) -> Store:
    """The store of the loop; 404 if the loop does not have the task."""
    store = service.store_of(loop_id)
    if subtasks.find(store.load(loop_id), task_id) is None:
        raise HTTPException(404, f"There is no task '{task_id}'")
    return store
