"""One task of the list, to drag, reword, mark, move or delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from untildone.core.model import Subtask, SubtaskChange, SubtaskStatus
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web.pieces import box, set_classes


class TaskRow:
    """The elements of one subtask."""

    def __init__(
        self,
        t: Texts,
        task: Subtask,
        change: Callable[[SubtaskChange], Awaitable[None]],
        move_up: Callable[[str], Awaitable[None]],
    ) -> None:
        self._task = task
        self._change = change
        with box("task") as self._outer:
            self._handle = ui.icon("drag_indicator").classes("task-handle").props("aria-hidden=true")
            self._words = ui.input(value=task.text).props("dense borderless").classes("task-text")
            self._words.props["aria-label"] = t("Task")
            names = {each.value: t(each.value) for each in SubtaskStatus}
            self._status = ui.select(names, value=task.status.value).props("dense borderless options-dense")
            self._status.props["aria-label"] = t("Status")
            with box("task-buttons") as self._buttons:
                up = ui.button(icon="arrow_upward", on_click=lambda: move_up(task.task_id))
                up.props("flat round dense size=sm color=grey")
                up.props["aria-label"] = t("Move up")
                remove = ui.button(icon="close", on_click=lambda: change(SubtaskChange(task.task_id, remove=True)))
                remove.props("flat round dense size=sm color=grey")
                remove.props["aria-label"] = t("Delete")
        self._words.on("blur", self._reword).on("keydown.enter", self._reword)
        self._status.on_value_change(lambda event: self._mark(SubtaskStatus(event.value)))

    def show(self, task: Subtask, *, editable: bool) -> None:
        before, self._task = self._task, task
        if task.text != before.text:
            self._words.set_value(task.text)
        if task.status.value != self._status.value:
            self._status.set_value(task.status.value)
        set_classes(self._outer, "task task-done" if task.status is SubtaskStatus.COMPLETED else "task")
        for element in (self._words, self._status):
            element.set_enabled(editable)
        self._handle.set_visibility(editable)
        self._buttons.set_visibility(editable)

    def delete(self) -> None:
        self._outer.delete()

    async def _reword(self) -> None:
        words = (self._words.value or "").strip()
        if words and words != self._task.text:
            await self._change(SubtaskChange(self._task.task_id, text=words))

    async def _mark(self, status: SubtaskStatus) -> None:
        if status is not self._task.status:
            await self._change(SubtaskChange(self._task.task_id, status=status))
