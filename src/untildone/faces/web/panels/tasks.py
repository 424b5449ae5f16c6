"""The tasks that a loop keeps track of: drag to reorder, add, change, delete."""

from __future__ import annotations

import secrets

from nicegui import ui
from nicegui.events import SortableEventArguments

from untildone.core.answers import subtasks as subtask_rules
from untildone.core.model import Subtask, SubtaskChange
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.panels.task_row import TaskRow
from untildone.faces.web.pieces import attempt, box, card, text
from untildone.operations.showing.values import LoopView


class Tasks:
    """The panel with the subtasks."""

    def __init__(self, backend: Backend, t: Texts) -> None:
        self._backend = backend
        self._t = t
        self._loop_id = ""
        self._tasks: tuple[Subtask, ...] = ()
        self._editable = True
        self._rows: dict[str, TaskRow] = {}
        """In the order of the page."""
        with card(t("Tasks")):
            text(t("What the loop keeps track of. Drag to change the order."), "quiet")
            hint = t("Modes that plan add theirs; you can add your own.")
            self._nothing = pieces.empty("checklist", t("No tasks"), hint)
            self._list = ui.column().classes("tasks")
            self._list.make_sortable(handle=".task-handle", on_end=self._dropped)
            with box("field-line") as self._adding:
                self._new = ui.input(placeholder=t("New task")).props("outlined dense").classes("task-text")
                self._new.props["aria-label"] = t("New task")
                self._new.on("keydown.enter", self._add)
                ui.button(t("Add"), icon="add", on_click=self._add).props("outline dense padding='4px 12px'")

    async def show(self, view: LoopView) -> None:
        self._loop_id = view.loop.loop_id
        editable = not view.loop.status.ended
        if view.loop.tasks == self._tasks and editable == self._editable and self._rows.keys() == _ids(self._tasks):
            self._nothing.set_visibility(not self._tasks)
            return
        self._tasks, self._editable = view.loop.tasks, editable
        self._adding.set_visibility(editable)
        self._nothing.set_visibility(not self._tasks)
        self._draw()

    async def tick(self) -> None:
        return

    def _draw(self) -> None:
        """Keep the existing rows: a person may be typing in one of them."""
        order = [task.task_id for task in self._tasks]
        for name in [name for name in self._rows if name not in order]:
            self._rows.pop(name).delete()
        if list(self._rows) != order[: len(self._rows)]:
            self._list.clear()
            self._rows = {}
        for task in self._tasks:
            if task.task_id not in self._rows:
                with self._list:
                    self._rows[task.task_id] = TaskRow(self._t, task, self._change, self._move_up)
            self._rows[task.task_id].show(task, editable=self._editable)

    async def _add(self) -> None:
        words = (self._new.value or "").strip()
        if words:
            self._new.set_value("")
            await self._change(SubtaskChange(f"task-{secrets.token_hex(4)}", text=words))

    async def _move_up(self, task_id: str) -> None:
        order = [task.task_id for task in self._tasks]
        place = order.index(task_id) if task_id in order else 0
        if place:
            await self._change(SubtaskChange(task_id, position=place - 1))

    async def _dropped(self, event: SortableEventArguments) -> None:
        """Save the new order. The page shows it already."""
        order = list(self._rows)
        order.insert(event.new_index, order.pop(event.old_index))
        self._rows = {name: self._rows[name] for name in order}
        await self._change(*subtask_rules.ordered(self._tasks, tuple(order)))

    async def _change(self, *changes: SubtaskChange) -> None:
        await attempt(self._t, self._backend.change_subtasks, self._loop_id, *changes)
        view = await attempt(self._t, self._backend.look, self._loop_id)
        if view is not None and not self._list.is_deleted:
            await self.show(view)


def _ids(tasks: tuple[Subtask, ...]) -> set[str]:
    return {task.task_id for task in tasks}
