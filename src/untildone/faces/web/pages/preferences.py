"""The settings of a workspace, made from their declarations and kept in the project's file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from untildone import settings
from untildone.core.errors import UsageError
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.fields import Field, Kind, fields, grouped
from untildone.faces.web.form_page import FormPage
from untildone.faces.web.forms import Form
from untildone.faces.web.frame import frame, texts_of
from untildone.faces.web.pieces import box, card, in_thread, text


def build(backend: Backend, request: Request) -> None:
    """Build the page."""
    t = texts_of(request)
    with frame(request, t, t("Settings")):
        Preferences(backend, t).build(t("Settings"))


class Preferences(FormPage):
    """The form for the settings of a workspace."""

    def _lay_out(self, values: Mapping[str, Any], named: Mapping[str, tuple[str, ...]]) -> None:
        t = self._t
        self._choose_workspace()
        self._form = Form(t, values)
        for group, members in grouped(fields(settings.every(), named)):
            title = t(group.title)
            if any(field.kind is Kind.PROFILES for field in members):
                inner = fields(settings.PROFILE_SETTINGS, {"agent": named["agent"]})
                self._profiles = Profiles(t, title, inner, values.get("profiles") or {})
                continue
            with card(title, icon=group.icon), box("fields"):
                for field in members:
                    self._form.add(field)
        self._form.refresh()
        with box("actions save"):
            ui.button(t("Save"), icon="save", on_click=self._save).props("unelevated")
            ui.button(t("Undo changes"), on_click=self._fill).props("flat")

    def _about_workspace(self) -> str:
        _, file = settings.files(self._backend.folder(self._workspace))
        return self._t("For new loops. Kept in {file}; your environment can override it.", file=file)

    async def _save(self) -> None:
        try:
            values = {**self._form.changed(), **self._profiles.changed()}
            await in_thread(self._backend.save_settings, self._workspace, values)
        except Exception as problem:
            pieces.notify_error(self._t, problem)
            return
        ui.notify(self._t("Saved"), type="positive")
        await self._fill()


class Profiles:
    """The agent profiles of the person."""

    def __init__(self, t: Texts, title: str, inner: tuple[Field, ...], values: Mapping[str, Mapping[str, Any]]) -> None:
        self._t = t
        self._inner = inner
        self._values = values
        self._forms: dict[str, Form] = {}
        self._removed: set[str] = set()
        with card(title):
            text(t("Your own names for agents, with their model, arguments and environment."), "quiet")
            self._place = box("loop-main")
            with box("field-line"):
                self._name = (
                    ui.input(placeholder=t("Name of a new profile")).props("outlined dense").classes("task-text")
                )
                self._name.props["aria-label"] = t("Name of a new profile")
                ui.button(t("Add"), icon="add", on_click=self._add).props("outline dense padding='4px 12px'")
        with self._place:
            for name, profile in values.items():
                self._show(name, profile)

    def changed(self) -> dict[str, Any]:
        """All profiles, if one of them has changed; else empty."""
        edits = {name: form.changed() for name, form in self._forms.items()}
        added = [name for name in self._forms if name not in self._values]
        if not self._removed and not added and not any(edits.values()):
            return {}
        merged = {name: {**self._values.get(name, {}), **edit} for name, edit in edits.items()}
        return {"profiles": {name: _without_empty(profile) for name, profile in merged.items()}}

    def _add(self) -> None:
        name = (self._name.value or "").strip()
        if not name:
            return
        if name in self._forms:
            pieces.notify_error(self._t, UsageError(self._t("There is already a profile {name}.", name=name)))
            return
        self._name.set_value("")
        with self._place:
            self._show(name, {})

    def _show(self, name: str, profile: Mapping[str, Any]) -> None:
        form = self._forms[name] = Form(self._t, profile)
        with box("profile") as outer:
            with box("card-head"):
                text(name, "field-label")
                box("stretch")
                button = ui.button(icon="close", on_click=lambda: self._remove(name, outer)).props(
                    "flat round dense size=sm"
                )
                button.props["aria-label"] = self._t("Delete")
            with box("fields"):
                for field in self._inner:
                    form.add(field)
        form.refresh()

    def _remove(self, name: str, outer: Element) -> None:
        self._removed.add(name)
        del self._forms[name]
        outer.delete()


def _without_empty(profile: Mapping[str, Any]) -> dict[str, Any]:
    """The profile without empty values."""
    return {name: value for name, value in profile.items() if value not in (None, [], {})}
