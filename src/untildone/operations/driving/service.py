"""The loops of a server: the served workspaces, the table of their loops, and the fleet that drives them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from untildone import settings
from untildone.core.errors import UsageError
from untildone.core.events import BudgetChanged
from untildone.core.kinds import Host, Source
from untildone.core.loop import Loop
from untildone.core.values.value import replace
from untildone.engine.notices.telling import OutboxNotifier
from untildone.engine.surroundings import Surroundings
from untildone.hosts.fleet import SLOTS, Fleet, Served
from untildone.operations import control, inside, look, stores
from untildone.operations.creating import creation, duplicating
from untildone.operations.driving import cluster, readiness, runner
from untildone.operations.history import retrying
from untildone.operations.loop_table import LoopTable
from untildone.store import Store
from untildone.store.names import resolve_id
from untildone.system import state_folder
from untildone.system.guard import Guard

FRESH_FOR = 1.0
"""Seconds after which lists contain the entries of other processes, at the latest; the fleet looks twice as often."""
TELL_WITHIN = 5.0
"""Seconds that notifications have when the server ends; the next server sends the rest."""
END_WITHIN = 20.0
"""Seconds that a loop which is to be deleted may take to end."""


@dataclass(frozen=True, slots=True)
class Load:
    """How many running loops are in which state. `slots` is how many this server drives at the same time, at most."""

    slots: int
    driving: int
    queued: int
    waiting: int


class Service:
    """The loops of the served folders. A context manager: it drives loops from entry to exit."""

    def __init__(
        self,
        folders: Sequence[Path],
        slots: int = SLOTS,
        environment: Mapping[str, str] = os.environ,
        host: Host = Host.SERVER,
    ) -> None:
        self.host = host
        """The kind of host that drives the loops started here: this server, or a cluster."""
        self.environment = environment
        self.stores = {str(store.home): store for store in (_store(folder, environment) for folder in folders)}
        if len({store.name for store in self.stores.values()}) < len(self.stores):
            raise UsageError("Loops in one database are served for one folder.", "name one folder with --dir")
        self.readiness = readiness.Readiness(self._probes())
        self.table = LoopTable(self.stores, FRESH_FOR, lambda name: self.readiness.require(_store_part(name)))
        self._guard = Guard()
        self.url: str | None = None
        """Where this server is reached, for links in notifications, if no setting says so."""
        self._notifiers: dict[str, OutboxNotifier] = {}
        served = [
            Served(store, partial(self._surroundings, Path(workspace), store), partial(self.table.look, workspace))
            for workspace, store in self.stores.items()
        ]
        self.fleet = Fleet(served, self._guard, slots)

    def __enter__(self) -> Service:
        for store in self.stores.values():
            inside.refuse(store, "serve")
        for workspace, store in self.stores.items():
            self._surroundings(Path(workspace), store)
        self.fleet.open()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.fleet.close()
        for notifier in self._notifiers.values():
            notifier.close(TELL_WITHIN)
        for store in self.stores.values():
            store.close()

    def _probes(self) -> Iterator[readiness.Probe]:
        """What the server depends on: its stores, their disks and that of the state, and Temporal in a cluster."""
        for workspace, store in self.stores.items():
            yield readiness.Probe(_store_part(workspace), store.check)
        state = Path(state_folder.folder(self.environment))
        folders = [*(Path(name) for name, store in self.stores.items() if store.root is not None), _existing(state)]
        yield from (readiness.disk_of(folder) for folder in dict.fromkeys(folders))
        if self.host is Host.CLUSTER:
            home = next(iter(self.stores.values())).home
            yield readiness.Probe("temporal", lambda: cluster.cluster(home, self.environment).check())

    def load(self) -> Load:
        """How many running loops are driven, queued and waiting: in a cluster by all machines, as the stores say, else by this server."""
        if self.host is not Host.CLUSTER:
            fleet = self.fleet.load()
            return Load(fleet.slots, len(fleet.driving), len(fleet.queued), len(fleet.waiting))
        running = [
            each
            for store in self.stores.values()
            for each in store.survey(store.running_ids(Host.CLUSTER))
            if each.loop
        ]
        driven = sum(each.driven for each in running)
        waiting = sum(not each.driven and each.loop is not None and _waits(each.loop, time.time()) for each in running)
        return Load(0, driven, len(running) - driven - waiting, waiting)

    @property
    def creates_for(self) -> Host:
        """The host that a new loop is created for: a loop of a cluster must know it, any other may go to any host."""
        return self.host if self.host is Host.CLUSTER else Host.NONE

    def workspace(self, name: str | None) -> tuple[Path, Store]:
        """A served folder and its store; the first folder, if none is named."""
        named = next(iter(self.stores)) if name is None else name.rstrip("/") or "/"
        store = self.stores.get(named)
        if store is None:
            raise UsageError(f"The folder {named[:200]} is not served.", f"served are: {', '.join(self.stores)}")
        return Path(named), store

    def store_of(self, loop_id: str) -> Store:
        """The store that has the loop. LoopNotFound if none has it."""
        return self.table.find(loop_id)[1]

    def find(self, name: str) -> tuple[Store, str]:
        """The store and the id of a loop by its id, a part of it that no other has, or `last`. LoopNotFound if none fits."""
        ids = tuple(sorted(row.loop_id for row in self.table.rows()))
        loop_id = resolve_id(name, ids, "in the folders of this server", self._is_ours)
        return self.store_of(loop_id), loop_id

    def _is_ours(self, loop_id: str) -> bool:
        return self.store_of(loop_id).is_ours(loop_id)

    def around_client(self, client: tuple[str, int], server: tuple[str, int]) -> str:
        """The served loop inside which the client of a connection runs; empty: none, or that is not known."""
        return inside.around_client(self.stores.values(), client, server)

    def create(self, task: str, overrides: Mapping[str, Any], workspace: str | None, title: str = "") -> Loop:
        """Create a loop. `overrides` are settings for this loop, which win over the settings files."""
        return self.create_with_notices(task, overrides, workspace, title).loop

    def create_with_notices(
        self, task: str, overrides: Mapping[str, Any], workspace: str | None, title: str = ""
    ) -> creation.Created:
        """Create a loop; return it with sentences about how it will be judged."""
        folder, store = self.workspace(workspace)
        chosen = settings.load(folder, overrides, self.environment)
        return creation.create(
            store, task, chosen, folder, self.environment, tidies=False, host=self.creates_for, title=title
        )

    def start(self, loop_id: str) -> Loop:
        """Start a loop and queue it for a slot."""
        loop = control.start(self.store_of(loop_id), loop_id, self.host)
        self.fleet.want(loop_id)
        return loop

    def resume(self, loop_id: str, *changes: BudgetChanged, skip_wait: bool, known: int | None = None) -> Loop:
        """Resume a loop and queue it for a slot. A loop that another process drives stays there. `known`: its last entry."""
        store = self.store_of(loop_id)
        host = Host.NONE if store.is_driven(loop_id) else self.host
        loop = control.resume(store, loop_id, *changes, skip_wait=skip_wait, host=host, known=known)
        self.fleet.want(loop_id)
        return loop

    def retry(self, loop_id: str, *changes: BudgetChanged, from_round: int | None = None) -> Loop:
        """Go on with a loop that has ended without success, and queue it for a slot."""
        store = self.store_of(loop_id)
        host = Host.NONE if store.is_driven(loop_id) else self.host
        loop = retrying.retry(store, loop_id, *changes, from_round=from_round, host=host, environment=self.environment)
        self.fleet.want(loop_id)
        return loop

    def duplicate(self, loop_id: str, changed: Mapping[str, Any], task: str, *, start: bool) -> Loop:
        """Create a loop with the task and settings of another one; with `start`, queue it for a slot."""
        store = self.store_of(loop_id)
        new = duplicating.duplicate(
            store, loop_id, changed, task, self.environment, host=self.creates_for, tidies=False
        ).loop
        return self.start(new.loop_id) if start else new

    def say(self, loop_id: str, text: str) -> control.Heard:
        """Send a message to a loop; queue it if the message gives it rounds again."""
        heard = control.say(self.store_of(loop_id), loop_id, text, Source.API, self.host)
        if heard.goes_on:
            self.fleet.want(loop_id)
        return heard

    def delete(self, loop_id: str, within: float = END_WITHIN, known: int | None = None) -> None:
        """Delete a loop. If it is ending, its runner gets `within` seconds for that. LoopChanged if `known` is not its last entry."""
        store = self.store_of(loop_id)
        look.await_release(store, loop_id, within)
        control.delete(store, loop_id, known)

    def _surroundings(self, workspace: Path, store: Store) -> Surroundings:
        """What runners of a workspace share, by the settings as they are now: they may have changed since the last loop."""
        chosen = settings.load(workspace, {}, self.environment)
        around = runner.surroundings(self.environment, chosen, self._guard, Host.SERVER)
        store.redactor = around.redactor
        return replace(around, notifier=self._notifier(store, chosen, around))

    def _notifier(self, store: Store, chosen: settings.Settings, around: Surroundings) -> OutboxNotifier:
        """The notifier of a store, with the present settings. It is opened at once, for what a dead process left."""
        notifications = runner.notifications(chosen)
        notifications = notifications if notifications.url else replace(notifications, url=self.url)
        notifier = self._notifiers.setdefault(
            store.name, OutboxNotifier(notifications, self.environment, around.redactor)
        )
        notifier.settings = notifications
        notifier.open(store.name)
        return notifier


def _waits(loop: Loop, now: float) -> bool:
    """Whether a running loop waits until a time: at a usage limit, or after a failure."""
    at_limit = any(limit.until > now for limit in loop.limits.values())
    return at_limit or (loop.retry is not None and loop.retry.not_before > now)


def _store_part(workspace: str) -> str:
    return f"store of {workspace}"


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def _store(folder: Path, environment: Mapping[str, str]) -> Store:
    store = stores.open_store(folder, environment)
    store.keep_in_memory()
    return store
