"""The tasks that a loop keeps track of: drag to reorder, add, change, delete."""

from __future__ import annotations

import secrets

from nicegui import ui
from nicegui.events import SortableEventArguments

from untildone.core import tasks as task_rules
from untildone.core.model import Task, TaskChange, TaskStatus
from untildone.faces.web import pieces
from untildone.faces.web.desk import Desk, Sight
from untildone.faces.web.pieces import attempt, box, card, text
from untildone.faces.web.texts import Texts


class Tasks:
    def __init__(self, desk: Desk, t: Texts) -> None:
        self._desk = desk
        self._t = t
        self._loop_id = ""
        self._tasks: tuple[Task, ...] = ()
        self._shown: tuple[object, ...] | None = None
        with card(t("Tasks")):
            text(t("What the loop keeps track of. Drag to change the order."), "quiet")
            self._place = box()
            with box("field-line") as self._adding:
                self._new = ui.input(placeholder=t("New task")).props("outlined dense").classes("task-text")
                self._new.props["aria-label"] = t("New task")
                self._new.on("keydown.enter", self._add)
                ui.button(t("Add"), icon="add", on_click=self._add).props("outline dense padding='4px 12px'")

    async def show(self, sight: Sight) -> None:
        self._loop_id = sight.loop.loop_id
        editable = not sight.loop.status.ended
        state = (sight.loop.tasks, editable)
        if state == self._shown:
            return
        self._shown = state
        self._tasks = sight.loop.tasks
        self._adding.set_visibility(editable)
        self._place.clear()
        with self._place:
            if not self._tasks:
                pieces.empty("checklist", self._t("No tasks"), self._t("Modes that plan add theirs; you can add your own."))
            with ui.column().classes("tasks") as rows:
                for task in self._tasks:
                    self._row(task, editable=editable)
            if editable and len(self._tasks) > 1:
                rows.make_sortable(handle=".task-handle", on_end=self._dropped)

    def _row(self, task: Task, *, editable: bool) -> None:
        done = task.status is TaskStatus.COMPLETED
        with box("task task-done" if done else "task"):
            if editable:
                ui.icon("drag_indicator").classes("task-handle").props("aria-hidden=true")
            words = ui.input(value=task.text).props("dense borderless").classes("task-text")
            words.props["aria-label"] = self._t("Task")
            status = ui.select({each.value: self._t(each.value) for each in TaskStatus}, value=task.status.value)
            status.props("dense borderless options-dense")
            status.props["aria-label"] = self._t("Status")
            if not editable:
                words.disable()
                status.disable()
                return
            words.on("blur", lambda: self._reword(task, words.value or ""))
            words.on("keydown.enter", lambda: self._reword(task, words.value or ""))
            status.on_value_change(lambda event: self._change(TaskChange(task.task_id, status=TaskStatus(event.value))))
            self._row_buttons(task)

    def _row_buttons(self, task: Task) -> None:
        up = ui.button(icon="arrow_upward", on_click=lambda: self._move_up(task)).props("flat round dense size=sm color=grey")
        up.props["aria-label"] = self._t("Move up")
        remove = ui.button(icon="close", on_click=lambda: self._change(TaskChange(task.task_id, remove=True)))
        remove.props("flat round dense size=sm color=grey")
        remove.props["aria-label"] = self._t("Delete")

    async def tick(self) -> None:
        return

    async def _add(self) -> None:
        words = (self._new.value or "").strip()
        if words:
            self._new.set_value("")
            await self._change(TaskChange(f"task-{secrets.token_hex(4)}", text=words))

    async def _reword(self, task: Task, words: str) -> None:
        if words.strip() and words.strip() != task.text:
            await self._change(TaskChange(task.task_id, text=words.strip()))

    async def _move_up(self, task: Task) -> None:
        place = self._tasks.index(task) if task in self._tasks else 0
        if place:
            await self._change(TaskChange(task.task_id, position=place - 1))

    async def _dropped(self, event: SortableEventArguments) -> None:
        order = [task.task_id for task in self._tasks]
        order.insert(event.new_index, order.pop(event.old_index))
        self._shown = None
        await self._change(*task_rules.ordered(self._tasks, tuple(order)))

    async def _change(self, *changes: TaskChange) -> None:
        await attempt(self._t, self._desk.change_tasks, self._loop_id, *changes)
