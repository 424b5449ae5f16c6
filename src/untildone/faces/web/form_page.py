"""The base of pages with a form: reads the settings of a workspace and shows a form for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import choices, pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.pieces import box, in_thread, text


class FormPage:
    """Subclasses lay out the form, and return a sentence about the workspace."""

    def __init__(self, backend: Backend, t: Texts) -> None:
        self._backend = backend
        self._t = t
        self._workspace = backend.workspaces()[0]

    def build(self, title: str) -> None:
        text(title, "form-title", "h1")
        self._whole = box("form")
        with self._whole:
            pieces.loading(self._t)
        ui.timer(0, self._fill, once=True)

    async def _fill(self) -> None:
        try:
            values, named = await in_thread(choices.read, self._backend, self._workspace)
        except Exception as problem:
            self._whole.clear()
            with self._whole:
                self._choose_workspace()
                pieces.failed(self._t, problem)
            return
        self._whole.clear()
        with self._whole:
            self._lay_out(values, named)

    def _lay_out(self, values: Mapping[str, Any], named: Mapping[str, tuple[str, ...]]) -> None:
        raise NotImplementedError

    def _about_workspace(self) -> str:
        raise NotImplementedError

    def _choose_workspace(self) -> None:
        names = self._backend.workspaces()
        if len(names) > 1:
            ui.select(
                list(names),
                label=self._t("Workspace"),
                value=self._workspace,
                on_change=lambda event: self._move(event.value),
            ).props("outlined dense")
        text(self._about_workspace(), "quiet wrap")

    async def _move(self, workspace: str) -> None:
        """Switch to another workspace, which has its own settings."""
        self._workspace = workspace
        await self._fill()
