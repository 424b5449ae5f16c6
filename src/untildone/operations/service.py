"""The loops of a server: the served workspaces, the table of their loops, and the fleet that drives them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from untildone import settings
from untildone.core.errors import UsageError
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.value import replace
from untildone.engine.notify import Notifier
from untildone.engine.surroundings import Surroundings
from untildone.hosts.fleet import SLOTS, Fleet, Served
from untildone.operations import control, creation, look, runner, stores
from untildone.operations.loop_table import LoopTable
from untildone.store import Store
from untildone.system.guard import Guard

FRESH_FOR = 1.0
"""Seconds after which what another process wrote is in every list, at the latest; the fleet looks twice as often."""
END_WITHIN = 20.0
"""Seconds that a loop which is to be deleted may take to end."""


class Service:
    """Opened before the first request, closed after the last: `with Service(…) as service`."""

    def __init__(
        self,
        folders: Sequence[Path],
        slots: int = SLOTS,
        environment: Mapping[str, str] = os.environ,
        host: Host = Host.SERVER,
    ) -> None:
        self.host = host
        """The kind of host that drives what is started here: this server, or a cluster."""
        self.environment = environment
        self.stores = {str(store.home): store for store in (_store(folder, environment) for folder in folders)}
        if len({store.name for store in self.stores.values()}) < len(self.stores):
            raise UsageError("Loops in one database are served for one folder.", "name one folder with --dir")
        self.table = LoopTable(self.stores, FRESH_FOR)
        self._guard = Guard()
        self._notifier = Notifier()
        served = [
            Served(store, partial(self._surroundings, Path(workspace), store), partial(self.table.look, workspace))
            for workspace, store in self.stores.items()
        ]
        self.fleet = Fleet(served, self._guard, slots)

    def __enter__(self) -> Service:
        for workspace, store in self.stores.items():
            self._surroundings(Path(workspace), store)
        self.fleet.open()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.fleet.close()
        self._notifier.close()
        for store in self.stores.values():
            store.close()

    @property
    def creates_for(self) -> Host:
        """A new loop must know that it goes to a cluster; here, any host may have it."""
        return self.host if self.host is Host.CLUSTER else Host.NONE

    def workspace(self, name: str | None) -> tuple[Path, Store]:
        """A served folder; the first one, if none is named."""
        named = next(iter(self.stores)) if name is None else name.rstrip("/") or "/"
        store = self.stores.get(named)
        if store is None:
            raise UsageError(f"The folder {named[:200]} is not served.", f"served are: {', '.join(self.stores)}")
        return Path(named), store

    def store_of(self, loop_id: str) -> Store:
        return self.table.find(loop_id)[1]

    def create(self, task: str, wanted: Mapping[str, Any], workspace: str | None) -> Loop:
        """`wanted` is what was said for this one loop; the settings files say the rest."""
        folder, store = self.workspace(workspace)
        chosen = settings.load(folder, wanted, self.environment)
        return creation.create(store, task, chosen, folder, self.environment, tidies=False, host=self.creates_for).loop

    def start(self, loop_id: str) -> Loop:
        loop = control.start(self.store_of(loop_id), loop_id, self.host)
        self.fleet.want(loop_id)
        return loop

    def resume(self, loop_id: str, *, skip_wait: bool) -> Loop:
        """A loop that runs elsewhere stays there."""
        store = self.store_of(loop_id)
        host = Host.NONE if store.is_driven(loop_id) else self.host
        loop = control.resume(store, loop_id, skip_wait=skip_wait, host=host)
        self.fleet.want(loop_id)
        return loop

    def say(self, loop_id: str, text: str) -> control.Heard:
        heard = control.say(self.store_of(loop_id), loop_id, text, "api", self.host)
        if heard.goes_on:
            self.fleet.want(loop_id)
        return heard

    def delete(self, loop_id: str, within: float = END_WITHIN) -> None:
        """Delete a loop. If it is ending, its runner gets `within` seconds for that."""
        store = self.store_of(loop_id)
        look.await_release(store, loop_id, within)
        control.delete(store, loop_id)

    def _surroundings(self, workspace: Path, store: Store) -> Surroundings:
        """As the settings are now: they may have changed since the last loop was driven."""
        chosen = settings.load(workspace, {}, self.environment)
        around = runner.surroundings(self.environment, chosen, self._guard, Host.SERVER)
        store.redactor = around.redactor
        wanted = runner.notifications(chosen)
        return replace(around, on_rest=lambda loop: self._notifier.send(wanted, loop, self.environment))


def _store(folder: Path, environment: Mapping[str, str]) -> Store:
    store = stores.open_store(folder, environment)
    store.keep_in_memory()
    return store
