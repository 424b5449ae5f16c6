"""A loop's tasks: changed one by one, so that two who change them at once cannot lose each other's word."""

from __future__ import annotations

from untildone.core.model import Task, TaskChange, TaskStatus
from untildone.core.value import replace


def changed(tasks: tuple[Task, ...], changes: tuple[TaskChange, ...]) -> tuple[Task, ...]:
    for change in changes:
        tasks = _with(tasks, change)
    return tasks


def _with(tasks: tuple[Task, ...], change: TaskChange) -> tuple[Task, ...]:
    present = next((task for task in tasks if task.task_id == change.task_id), None)
    if change.remove:
        return tuple(task for task in tasks if task is not present)
    if present is None:
        added = Task(change.task_id, change.text or "", change.status or TaskStatus.PENDING, change.depends_on or ())
        return _placed(tasks, added, change.position)
    mended = replace(
        present,
        text=present.text if change.text is None else change.text,
        status=change.status or present.status,
        depends_on=present.depends_on if change.depends_on is None else change.depends_on,
    )
    if change.position is None:
        return tuple(mended if task is present else task for task in tasks)
    return _placed(tuple(task for task in tasks if task is not present), mended, change.position)


def _placed(tasks: tuple[Task, ...], task: Task, position: int | None) -> tuple[Task, ...]:
    at = len(tasks) if position is None else max(0, position)
    return (*tasks[:at], task, *tasks[at:])


def ordered(tasks: tuple[Task, ...], order: tuple[str, ...]) -> tuple[TaskChange, ...]:
    """The changes that bring tasks into an order; those that the order does not name stay behind, as they were."""
    known = {task.task_id for task in tasks}
    return tuple(TaskChange(name, position=place) for place, name in enumerate(name for name in order if name in known))


def ready(tasks: tuple[Task, ...]) -> Task | None:
    """The first pending task whose dependencies are all completed."""
    done = {task.task_id for task in tasks if task.status is TaskStatus.COMPLETED}
    return next(
        (task for task in tasks if task.status is TaskStatus.PENDING and done.issuperset(task.depends_on)), None
    )


def circle(tasks: tuple[Task, ...]) -> tuple[str, ...]:
    """The ids of tasks that wait for each other, or for one that is not there; empty if all can be done in some order."""
    left = {task.task_id: set(task.depends_on) for task in tasks if task.status is not TaskStatus.COMPLETED}
    done = {task.task_id for task in tasks if task.status is TaskStatus.COMPLETED}
    while free := [name for name, needs in left.items() if needs <= done]:
        done.update(free)
        for name in free:
            del left[name]
    return tuple(left)
