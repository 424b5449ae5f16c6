"""`untildone tasks`: the subtasks of a loop."""

from __future__ import annotations

import click

from untildone.core.errors import UsageError
from untildone.core.loop import Loop
from untildone.core.model import Subtask, SubtaskChange, SubtaskStatus
from untildone.faces.cli import parameters, streams
from untildone.faces.text import loop_lines
from untildone.operations import subtasks
from untildone.operations.stores import Store

Pair = tuple[str, str]


@click.command()
@parameters.loop_or_last
@click.option("--add", "added", metavar="TEXT", multiple=True, help="Add a subtask at the end.")
@click.option("--done", metavar="ID", multiple=True, help="Mark a subtask as done.")
@click.option("--failed", metavar="ID", multiple=True, help="Mark a subtask as failed.")
@click.option("--open", "opened", metavar="ID", multiple=True, help="Mark a subtask as open again.")
@click.option("--reword", metavar="ID TEXT", type=(str, str), multiple=True, help="Change the text of a subtask.")
@click.option(
    "--needs",
    metavar="ID IDS",
    type=(str, str),
    multiple=True,
    help='What must be done before it: t3 t1,t2; "": nothing.',
)
@click.option("--order", metavar="IDS", help="Put these first, in this order: t3,t1.")
@click.option("--delete", "deleted", metavar="ID", multiple=True, help="Delete one.")
@parameters.place
@parameters.as_json
def command(
    name: str,
    added: tuple[str, ...],
    done: tuple[str, ...],
    failed: tuple[str, ...],
    opened: tuple[str, ...],
    reword: tuple[Pair, ...],
    needs: tuple[Pair, ...],
    order: str | None,
    deleted: tuple[str, ...],
    folder: str,
    as_json: bool,
) -> int:
    """The subtasks of a loop: list them, or change them while it runs or rests."""
    store = parameters.open_store(folder)
    loop_id = store.find(name)
    statuses = {SubtaskStatus.COMPLETED: done, SubtaskStatus.FAILED: failed, SubtaskStatus.PENDING: opened}
    changes = [
        *(SubtaskChange(task_id, status=status) for status, names in statuses.items() for task_id in names),
        *(SubtaskChange(task_id, text) for task_id, text in reword),
        *(SubtaskChange(task_id, depends_on=_ids(ids)) for task_id, ids in needs),
    ]
    _refuse_unknown(store.load(loop_id), [*(each.task_id for each in changes), *deleted])
    for text in added:
        subtasks.add(store, loop_id, _text(text))
    for change in changes:
        subtasks.change(store, loop_id, change)
    if order is not None:
        subtasks.order(store, loop_id, _ids(order))
    for task_id in deleted:
        subtasks.delete(store, loop_id, task_id)
    _show(store, loop_id, as_json=as_json)
    return 0


def _ids(names: str) -> tuple[str, ...]:
    return tuple(name for name in names.replace(",", " ").split() if name)


def _text(text: str) -> str:
    if not text.strip():
        raise UsageError("A subtask needs a text.", "name what is to be done")
    return text.strip()


def _refuse_unknown(loop: Loop, names: list[str]) -> None:
    unknown = next((name for name in names if subtasks.find(loop, name) is None), None)
    if unknown is not None:
        known = ", ".join(task.task_id for task in loop.tasks[:10]) or "none"
        raise UsageError(f"Loop {loop.loop_id} has no subtask '{unknown}'.", f"it has: {known}")


def _show(store: Store, loop_id: str, *, as_json: bool) -> None:
    loop, data = store.load(loop_id), streams.data()
    for task in loop.tasks:
        if as_json:
            data.record(_fields(task))
        else:
            data.prose(loop_lines.of_subtask(task).text.removeprefix("  "))
    if not loop.tasks:
        streams.talk().prose(f"Loop {loop_id} has no subtasks.")


def _fields(task: Subtask) -> dict[str, object]:
    return {
        "id": task.task_id,
        "text": task.text,
        "status": task.status.value,
        "depends_on": list(task.depends_on),
    }
