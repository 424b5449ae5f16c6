"""The operations that the pages call, on the loops of this server. All calls may block."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone import settings
from untildone.core.events import BudgetChanged, Entry
from untildone.core.kinds import Source
from untildone.core.loop import Loop
from untildone.core.model import Role, SubtaskChange, Urgency
from untildone.faces.text import loop_lines
from untildone.operations import control, look, verifying
from untildone.operations.control import Heard
from untildone.operations.creating import creation
from untildone.operations.driving.service import Service
from untildone.operations.history import bisecting, retrying
from untildone.operations.history.bisecting import Bisected
from untildone.operations.showing.following import LoopViews
from untildone.operations.showing.listing import TablePages
from untildone.operations.showing.output_window import Output
from untildone.operations.showing.timeline import Round
from untildone.operations.showing.values import Listing, ListQuery, LogLine, LoopView
from untildone.operations.stores import Store
from untildone.operations.verifying import Verification
from untildone.settings import Settings


def _log_lines(entry: Entry, loop: Loop) -> list[LogLine]:
    """The lines of the log for an entry."""
    return [LogLine(entry.at, line.text, line.kind.value) for line in loop_lines.of_entry(entry, loop, live=False)]


class Backend:
    """What the pages can read and do."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pages = TablePages(service.table)
        self._views = LoopViews(lambda loop_id: service.fleet.problems.get(loop_id, ""), _log_lines)

    def workspaces(self) -> tuple[str, ...]:
        """The served folders, by name. A new loop is created in one of them."""
        return tuple(self._service.stores)

    def folder(self, workspace: str) -> Path:
        """The folder of a workspace."""
        return self._service.workspace(workspace)[0]

    def listing(self, query: ListQuery) -> Listing:
        """One page of the list of loops."""
        return self._pages.listing(query)

    def look(self, loop_id: str) -> LoopView:
        """The loop as it is now. LoopNotFound if there is none."""
        return self._views.look(self._store(loop_id), loop_id)

    def output(self, loop_id: str, name: str) -> Output:
        """The output of one turn, by its name: `0003`, `0003-supervisor`."""
        chosen = self.look(loop_id)
        number, _, role = name.partition("-")
        choice = chosen.loop.settings.agent_for(Role(role or Role.WORKER))
        worked, fallback = chosen.timeline.round(int(number)), chosen.loop.settings.fallback
        if not role and fallback is not None and worked is not None and worked.profile == fallback.profile:
            choice = fallback
        store = self._store(loop_id)
        return Output(store.spool(loop_id, name), choice)

    def output_names(self, loop_id: str) -> tuple[str, ...]:
        """The names of the outputs, in the order of the rounds: `0003`, `0003-supervisor`."""
        return self._store(loop_id).output_names(loop_id)

    def create(self, workspace: str, task: str, values: Mapping[str, Any], *, start: bool) -> str:
        """Create a loop, and start it if `start`. Returns its id."""
        folder, store = self._service.workspace(workspace)
        environment = self._service.environment
        chosen = settings.load(folder, values, environment)
        created = creation.create(
            store, task, chosen, folder, environment, tidies=False, host=self._service.creates_for
        )
        loop_id = created.loop.loop_id
        if start:
            self._service.start(loop_id)
        self._changed(loop_id)
        return loop_id

    def start(self, loop_id: str) -> None:
        self._service.start(loop_id)
        self._changed(loop_id)

    def pause(self, loop_id: str, urgency: Urgency) -> None:
        control.pause(self._store(loop_id), loop_id, urgency)
        self._changed(loop_id)

    def resume(self, loop_id: str) -> None:
        self._service.resume(loop_id, skip_wait=False)
        self._changed(loop_id)

    def retry(self, loop_id: str, from_round: int | None = None) -> None:
        """Go on with a loop that failed or was stopped; with `from_round`, as it was before that round."""
        self._service.retry(loop_id, from_round=from_round)
        self._changed(loop_id)

    def rewind(self, loop_id: str, to: int) -> None:
        """Take the loop back to where it was after a round."""
        retrying.rewind(self._store(loop_id), loop_id, to)
        self._changed(loop_id)

    def undo_rewind(self, loop_id: str) -> None:
        retrying.undo_rewind(self._store(loop_id), loop_id)
        self._changed(loop_id)

    def bisect(self, loop_id: str) -> Bisected:
        """The round that broke the checks of the loop."""
        return bisecting.bisect(self._store(loop_id), loop_id, self._service.environment)

    def duplicate(self, loop_id: str) -> str:
        """Create a loop with the same task and settings, and return its id."""
        new = self._service.duplicate(loop_id, {}, "", start=False).loop_id
        self._changed(new)
        return new

    def stop(self, loop_id: str, urgency: Urgency) -> None:
        control.stop(self._store(loop_id), loop_id, urgency)
        self._changed(loop_id)

    def say(self, loop_id: str, text: str) -> Heard:
        heard = control.say(self._store(loop_id), loop_id, text, Source.DASHBOARD, self._service.host)
        self._changed(loop_id)
        return heard

    def approve(self, loop_id: str, *paths: str) -> None:
        control.approve(self._store(loop_id), loop_id, *paths)
        self._changed(loop_id)

    def budget(self, loop_id: str, *changes: BudgetChanged) -> None:
        control.budget(self._store(loop_id), loop_id, *changes)
        self._changed(loop_id)

    def change_subtasks(self, loop_id: str, *changes: SubtaskChange) -> None:
        control.change_subtasks(self._store(loop_id), loop_id, *changes)
        self._changed(loop_id)

    def delete(self, loop_id: str) -> None:
        self._service.delete(loop_id)
        self._changed(loop_id)

    def diff(self, loop_id: str, of: Round | None) -> str:
        """The diff of a round; of all rounds together if `of` is None."""
        store = self._store(loop_id)
        if of is None:
            return look.diff(store, loop_id)
        return look.diff_between(store, loop_id, of.before or "", None if of.is_going else of.after or "")

    def receipt(self, loop_id: str) -> Mapping[str, Any] | None:
        """The receipt of an ended loop; None if there is none, or it is damaged."""
        try:
            receipt = json.loads(look.receipt(self._store(loop_id), loop_id) or "")
        except ValueError:
            return None
        return receipt if isinstance(receipt, dict) else None

    def verify(self, loop_id: str) -> tuple[Verification, ...]:
        return verifying.verify(self._store(loop_id), loop_id, self._service.environment)

    def settings(self, workspace: str) -> Settings:
        return settings.load(self.folder(workspace), {}, self._service.environment)

    def save_settings(self, workspace: str, values: Mapping[str, Any]) -> None:
        """Write these values to the project's file and keep its other values. Raises UsageError if it cannot be written."""
        path = settings.files(self.folder(workspace), self._service.environment)[-1]
        merged = {**settings.read(path), **values}
        settings.save(path, {name: value for name, value in merged.items() if value is not None})

    def _store(self, loop_id: str) -> Store:
        return self._service.store_of(loop_id)

    def _changed(self, loop_id: str) -> None:
        self._service.fleet.want(loop_id)
