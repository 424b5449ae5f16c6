"""A form for a new loop, made from the declarations of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from nicegui import ui

from untildone import settings
from untildone.core.errors import UsageError
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.fields import fields, grouped
from untildone.faces.web.form_page import FormPage
from untildone.faces.web.forms import Form
from untildone.faces.web.frame import frame, texts_of
from untildone.faces.web.pieces import box, card, in_thread


def build(backend: Backend, request: Request) -> None:
    """Build the page."""
    t = texts_of(request)
    with frame(request, t, t("New loop")):
        NewLoop(backend, t).build(t("New loop"))


class NewLoop(FormPage):
    """The form for a new loop."""

    def __init__(self, backend: Backend, t: Texts) -> None:
        super().__init__(backend, t)
        self._task = ""
        self._form: Form | None = None

    def _lay_out(self, values: Mapping[str, Any], named: Mapping[str, tuple[str, ...]]) -> None:
        t = self._t
        with card(t("Task")):
            self._words = ui.textarea(placeholder=t("What is to be done, in your words"), value=self._task)
            self._words.props("outlined autogrow autofocus").props('input-style="min-height: 96px"').classes(
                "task-words"
            )
            self._words.props["aria-label"] = t("Task")
            self._choose_workspace()
        form = self._form = Form(t, values)
        parts = [*grouped(fields(settings.every(), named))]
        for group, members in parts:
            if group.in_new_loop == "open":
                with card(t(group.title), icon=group.icon), box("fields"):
                    for field in members:
                        form.add(field)
        folded = [members for group, members in parts if group.in_new_loop == "folded"]
        with ui.expansion(t("More options")).classes("card more"), box("fields"):
            for field in (field for members in folded for field in members):
                form.add(field)
        form.refresh()
        with box("actions save"):
            ui.button(t("Start"), icon="play_arrow", on_click=lambda: self._create(start=True)).props("unelevated")
            ui.button(t("Create without starting"), on_click=lambda: self._create(start=False)).props("flat")

    def _about_workspace(self) -> str:
        return self._t("In {folder}", folder=self._workspace)

    async def _move(self, workspace: str) -> None:
        """Keep the task when the workspace changes."""
        self._task = self._words.value or ""
        await super()._move(workspace)

    async def _create(self, *, start: bool) -> None:
        assert self._form is not None
        with ui.context.client:  # another workspace may be chosen meanwhile, and its form takes the place of this one
            try:
                words = (self._words.value or "").strip()
                if not words:
                    raise UsageError(self._t("The task is empty."), self._t("Say what is to be done."))
                values = self._form.changed()
                loop_id = await in_thread(self._backend.create, self._workspace, words, values, start=start)
            except Exception as problem:
                pieces.notify_error(self._t, problem)
            else:
                ui.navigate.to(f"/loops/{loop_id}")
