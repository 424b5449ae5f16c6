"""The desk over the loops of this machine: verbs, files, and whoever drives loops in the background."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone import settings
from untildone.core.events import BudgetChanged
from untildone.core.model import Role, TaskChange, Urgency
from untildone.faces.api.service import Service
from untildone.faces.web.desk import Listing, Sight, Wanted
from untildone.faces.web.listing import BoardPages
from untildone.faces.web.reading import Output
from untildone.faces.web.sights import Sights
from untildone.faces.web.timeline import Round
from untildone.operations import verbs
from untildone.operations.verbs import Heard, Verification
from untildone.settings import Settings
from untildone.store import Store


class LocalDesk:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._pages = BoardPages(service.board)
        self._sights = Sights(lambda loop_id: service.fleet.problems.get(loop_id, ""))

    def workspaces(self) -> tuple[str, ...]:
        return tuple(self._service.stores)

    def folder(self, workspace: str) -> Path:
        return self._service.workspace(workspace)[0]

    def listing(self, wanted: Wanted) -> Listing:
        return self._pages.listing(wanted)

    def look(self, loop_id: str) -> Sight:
        return self._sights.look(self._store(loop_id), loop_id)

    def output(self, loop_id: str, name: str) -> Output:
        chosen = self.look(loop_id)
        number, _, role = name.partition("-")
        choice = chosen.loop.settings.agent_for(Role(role or Role.WORKER))
        worked, fallback = chosen.timeline.round(int(number)), chosen.loop.settings.fallback
        if not role and fallback is not None and worked is not None and worked.profile == fallback.profile:
            choice = fallback
        store = self._store(loop_id)
        return Output(store.spool(loop_id, name), choice)

    def output_names(self, loop_id: str) -> tuple[str, ...]:
        return self._store(loop_id).output_names(loop_id)

    def create(self, workspace: str, task: str, values: Mapping[str, Any], *, start: bool) -> str:
        folder, store = self._service.workspace(workspace)
        environment = self._service.environment
        chosen = settings.load(folder, values, environment)
        loop_id: str = verbs.create(
            store, task, chosen, folder, environment, tidies=False, host=self._service.creates_for
        ).loop_id
        if start:
            self._service.start(loop_id)
        self._changed(loop_id)
        return loop_id

    def start(self, loop_id: str) -> None:
        self._service.start(loop_id)
        self._changed(loop_id)

    def pause(self, loop_id: str, urgency: Urgency) -> None:
        verbs.pause(self._store(loop_id), loop_id, urgency)
        self._changed(loop_id)

    def resume(self, loop_id: str) -> None:
        self._service.resume(loop_id, skip_wait=False)
        self._changed(loop_id)

    def stop(self, loop_id: str, urgency: Urgency) -> None:
        verbs.stop(self._store(loop_id), loop_id, urgency)
        self._changed(loop_id)

    def say(self, loop_id: str, text: str) -> Heard:
        heard = verbs.say(self._store(loop_id), loop_id, text, "dashboard", self._service.host)
        self._changed(loop_id)
        return heard

    def budget(self, loop_id: str, *changes: BudgetChanged) -> None:
        verbs.budget(self._store(loop_id), loop_id, *changes)
        self._changed(loop_id)

    def change_tasks(self, loop_id: str, *changes: TaskChange) -> None:
        verbs.change_tasks(self._store(loop_id), loop_id, *changes)
        self._changed(loop_id)

    def delete(self, loop_id: str) -> None:
        self._service.delete(loop_id)
        self._changed(loop_id)

    def diff(self, loop_id: str, of: Round | None) -> str:
        store = self._store(loop_id)
        if of is None:
            return verbs.diff(store, loop_id)
        return verbs.diff_between(store, loop_id, of.before or "", None if of.is_going else of.after or "")

    def receipt(self, loop_id: str) -> Mapping[str, Any] | None:
        try:
            told = json.loads(verbs.receipt(self._store(loop_id), loop_id) or "")
        except ValueError:
            return None
        return told if isinstance(told, dict) else None

    def verify(self, loop_id: str) -> tuple[Verification, ...]:
        return verbs.verify(self._store(loop_id), loop_id, self._service.environment)

    def settings(self, workspace: str) -> Settings:
        return settings.load(self.folder(workspace), {}, self._service.environment)

    def save_settings(self, workspace: str, values: Mapping[str, Any]) -> None:
        path = settings.files(self.folder(workspace), self._service.environment)[-1]
        wanted = {**settings.said_in(path), **values}
        settings.save(path, {name: value for name, value in wanted.items() if value is not None})

    def _store(self, loop_id: str) -> Store:
        return self._service.store_of(loop_id)

    def _changed(self, loop_id: str) -> None:
        self._service.fleet.want(loop_id)
