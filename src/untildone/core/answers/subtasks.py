"""The subtasks of a loop. Changes name one subtask each, so that simultaneous changes cannot overwrite each other."""

from __future__ import annotations

from untildone.core.model import Subtask, SubtaskChange, SubtaskStatus
from untildone.core.values.value import replace


def changed(tasks: tuple[Subtask, ...], changes: tuple[SubtaskChange, ...]) -> tuple[Subtask, ...]:
    """The subtasks after the changes, applied in order."""
    for change in changes:
        tasks = _with(tasks, change)
    return tasks


def _with(tasks: tuple[Subtask, ...], change: SubtaskChange) -> tuple[Subtask, ...]:
    present = next((task for task in tasks if task.task_id == change.task_id), None)
    if change.remove:
        return tuple(task for task in tasks if task is not present)
    if present is None:
        added = Subtask(
            change.task_id, change.text or "", change.status or SubtaskStatus.PENDING, change.depends_on or ()
        )
        return _placed(tasks, added, change.position)
    updated = replace(
        present,
        text=present.text if change.text is None else change.text,
        status=change.status or present.status,
        depends_on=present.depends_on if change.depends_on is None else change.depends_on,
    )
    if change.position is None:
        return tuple(updated if task is present else task for task in tasks)
    return _placed(tuple(task for task in tasks if task is not present), updated, change.position)


def _placed(tasks: tuple[Subtask, ...], task: Subtask, position: int | None) -> tuple[Subtask, ...]:
    at = len(tasks) if position is None else max(0, position)
    return (*tasks[:at], task, *tasks[at:])


def ordered(tasks: tuple[Subtask, ...], order: tuple[str, ...]) -> tuple[SubtaskChange, ...]:
    """The changes that bring subtasks into an order. Subtasks that `order` does not name follow in their present order."""
    known = {task.task_id for task in tasks}
    return tuple(
        SubtaskChange(name, position=place) for place, name in enumerate(name for name in order if name in known)
    )


def ready(tasks: tuple[Subtask, ...]) -> Subtask | None:
    """The first pending subtask whose dependencies are all completed."""
    done = {task.task_id for task in tasks if task.status is SubtaskStatus.COMPLETED}
    return next(
        (task for task in tasks if task.status is SubtaskStatus.PENDING and done.issuperset(task.depends_on)), None
    )


def circle(tasks: tuple[Subtask, ...]) -> tuple[str, ...]:
    """The ids of subtasks that depend on each other in a circle or on an unknown subtask; empty: all can be done in some order."""
    left = {task.task_id: set(task.depends_on) for task in tasks if task.status is not SubtaskStatus.COMPLETED}
    done = {task.task_id for task in tasks if task.status is SubtaskStatus.COMPLETED}
    while free := [name for name, needs in left.items() if needs <= done]:
        done.update(free)
        for name in free:
            del left[name]
    return tuple(left)
