"""What people do with the subtasks of a loop: add, change, order, delete. Each change is an entry of the journal."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from untildone.core import moves
from untildone.core.answers import subtasks
from untildone.core.errors import UsageError, WrongMove
from untildone.core.loop import Loop
from untildone.core.model import Subtask, SubtaskChange
from untildone.core.moves import Control
from untildone.operations import control
from untildone.operations.stores import Store

MOST = 10_000


def find(loop: Loop, task_id: str) -> Subtask | None:
    """The subtask of that id."""
    return next((task for task in loop.tasks if task.task_id == task_id), None)


def add(
    store: Store,
    loop_id: str,
    text: str,
    *,
    task_id: str = "",
    depends_on: Sequence[str] = (),
    position: int | None = None,
) -> Subtask:
    """Add a subtask, at the end or at a position."""
    loop = store.load(loop_id)
    name = task_id or f"task-{secrets.token_hex(4)}"
    if find(loop, name):
        raise WrongMove(f"There is already a subtask '{name}'.", "choose another id, or change that one")
    if len(loop.tasks) >= MOST:
        raise WrongMove(f"The loop has {MOST:,} subtasks already.", "delete some")
    return change(store, loop_id, SubtaskChange(name, text, depends_on=tuple(depends_on), position=position))


def change(store: Store, loop_id: str, requested: SubtaskChange) -> Subtask:
    """Change a subtask. UsageError if subtasks would wait for each other, or for one that does not exist."""
    stuck = subtasks.circle(subtasks.changed(store.load(loop_id).tasks, (requested,)))
    if requested.depends_on and requested.task_id in stuck:
        raise UsageError(
            f"'depends_on': subtask '{requested.task_id}' could never start.",
            "name subtasks that exist and do not depend on it",
        )
    after = find(control.change_subtasks(store, loop_id, requested), requested.task_id)
    assert after is not None
    return after


def order(store: Store, loop_id: str, names: Sequence[str]) -> Loop:
    """Put the named subtasks first, in this order."""
    loop = store.load(loop_id)
    moves.check(loop, Control.SUBTASKS)
    unknown = next((name for name in names if find(loop, name) is None), None)
    if unknown is not None:
        raise UsageError(f"'order': there is no subtask '{unknown}'.", "list the subtasks to see their ids")
    if len(set(names)) < len(names):
        raise UsageError("'order': a subtask is named twice.", "name each once")
    changes = subtasks.ordered(loop.tasks, tuple(names))
    return control.change_subtasks(store, loop_id, *changes) if changes else loop


def delete(store: Store, loop_id: str, task_id: str) -> Loop:
    """Delete a subtask, also from the dependencies of others."""
    loop = store.load(loop_id)
    freed = [_without(task, task_id) for task in loop.tasks if task_id in task.depends_on]
    return control.change_subtasks(store, loop_id, *freed, SubtaskChange(task_id, remove=True))


def _without(task: Subtask, gone: str) -> SubtaskChange:
    return SubtaskChange(task.task_id, depends_on=tuple(need for need in task.depends_on if need != gone))
