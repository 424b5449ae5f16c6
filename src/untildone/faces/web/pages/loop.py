"""The page of one loop: its state, rounds, gates, spend, changes, tasks, log and receipt, and its controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from untildone.core.errors import LoopNotFound
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.frame import POLL_EVERY, frame, texts_of
from untildone.faces.web.panels import budget, changes, gates, head, log, message, receipt, spend, tasks, work
from untildone.faces.web.pieces import box, in_thread
from untildone.operations.showing.values import LoopView


class Panel(Protocol):
    """A part of the page. It builds its elements when it is created."""

    async def show(self, view: LoopView) -> None:
        """Show the loop. Called first and after each change."""
        ...

    async def tick(self) -> None:
        """Called at short intervals."""
        ...


_TABS: dict[str, tuple[str, str, Callable[[Backend, Texts], Panel]]] = {
    "work": ("Rounds", "timeline", work.Work),
    "gates": ("Gates", "verified", gates.Gates),
    "spend": ("Spend", "bar_chart", spend.SpendPlots),
    "changes": ("Changes", "difference", changes.ChangesMade),
    "tasks": ("Tasks", "checklist", tasks.Tasks),
    "log": ("Log", "notes", log.Log),
    "receipt": ("Receipt", "receipt_long", receipt.Receipt),
}


def build(backend: Backend, request: Request, loop_id: str) -> None:
    """Build the page."""
    t = texts_of(request)
    page = LoopPage(backend, t, loop_id, request.query_params.get("tab", "work"))
    with frame(request, t, loop_id, page.pressed):
        page.build()


class LoopPage:
    """The page of one loop: polls the loop and updates the panels."""

    def __init__(self, backend: Backend, t: Texts, loop_id: str, tab: str) -> None:
        self._backend = backend
        self._t = t
        self._loop_id = loop_id
        self._tab = tab if tab in _TABS else "work"
        self._view: LoopView | None = None
        self._fixed: list[Panel] = []
        self._panel: Panel | None = None
        self._head: head.Head | None = None
        self._missing = False

    def build(self) -> None:
        self._whole = box()
        with self._whole:
            pieces.loading(self._t)
        self._trouble = box("notice bad hidden").props("role=alert")
        self._timer = ui.timer(POLL_EVERY, self._poll)

    async def pressed(self, key: str) -> None:
        if self._head is not None:
            await self._head.pressed(key)

    async def _poll(self) -> None:
        try:
            view = await in_thread(self._backend.look, self._loop_id)
            if self._whole.is_deleted:
                return
            await self._show(view)
            if self._panel is not None:
                await self._panel.tick()
        except LoopNotFound as problem:
            self._give_up(LoopNotFound(problem.sentence, self._t("It was deleted, or the address is wrong.")))
        except Exception as problem:
            if self._view is None:
                self._give_up(problem)
            else:
                self._show_problem(problem)
        else:
            pieces.set_classes(self._trouble, "notice bad hidden")

    def _give_up(self, problem: Exception) -> None:
        self._timer.deactivate()
        self._whole.clear()
        with self._whole, pieces.failed(self._t, problem), box("button-link", "a").props('href="/"'):
            pieces.text(self._t("All loops"))

    def _show_problem(self, problem: Exception) -> None:
        if "hidden" in self._trouble.classes:
            self._trouble.clear()
            with self._trouble:
                pieces.text(" ".join(pieces.error_texts(self._t, problem)))
            pieces.set_classes(self._trouble, "notice bad")

    async def _show(self, view: LoopView) -> None:
        if self._view is not None and self._view.mark == view.mark:
            return
        first, self._view = self._view is None, view
        if first:
            self._lay_out(view)
        for panel in (*self._fixed, self._panel):
            if panel is not None:
                await panel.show(view)

    def _lay_out(self, view: LoopView) -> None:
        ui.page_title(f"{view.loop.title} · untildone")
        self._whole.clear()
        with self._whole:
            self._head = head.Head(self._backend, self._t)
            with box("loop-grid"):
                with box("loop-main"):
                    self._build_tabs()
                    self._place = box()
                with box("loop-side", "aside"):
                    side: list[Panel] = [
                        budget.BudgetBars(self._backend, self._t),
                        message.MessageBox(self._backend, self._t),
                    ]
                    side.append(head.Facts(self._t))
        self._fixed = [self._head, *side]
        self._open(self._tab)

    def _build_tabs(self) -> None:
        with ui.tabs(on_change=lambda event: self._switch(event.value)) as tabs:
            for name, (title, icon, _) in _TABS.items():
                ui.tab(name, label=self._t(title), icon=icon)
        tabs.set_value(self._tab)
        tabs.classes("tabs").props("dense align=left no-caps inline-label mobile-arrows outside-arrows")

    async def _switch(self, tab: str) -> None:
        self._open(tab)
        if self._panel is not None and self._view is not None:
            await self._panel.show(self._view)

    def _open(self, tab: str) -> None:
        self._tab = tab
        place: Element = self._place
        place.clear()
        with place:
            self._panel = _TABS[tab][2](self._backend, self._t)
        ui.run_javascript(f"history.replaceState(null, '', '?tab={tab}')")
