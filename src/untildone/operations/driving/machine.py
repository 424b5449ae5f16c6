"""One machine of a cluster: what it needs to drive loops, and the drive itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from untildone.core.errors import LoopBusy, UsageError
from untildone.core.kinds import Host
from untildone.core.values.value import dataclass, replace
from untildone.hosts.cluster import connecting
from untildone.hosts.cluster import machine as machines
from untildone.hosts.cluster.advancing import Means
from untildone.hosts.cluster.options import Options, options
from untildone.operations.driving.runner import TELL_WITHIN, surroundings
from untildone.settings import Settings
from untildone.store.postgres import PostgresStore
from untildone.system import disk, locks, runners

LOCK = "worker.lock"


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that is ready to drive loops of a cluster."""

    options: Options
    means: Means

    @property
    def store_name(self) -> str:
        return self.means.store.name

    async def work(
        self, ending: asyncio.Event, at_once: asyncio.Event, ready: Callable[[], None], waiting: Callable[[str], None]
    ) -> None:
        """Drive loops until `ending` is set and the running turns have ended, or `at_once` is set.

        `ready` is called once the machine takes loops, `waiting` with a sentence while it cannot connect.
        """
        stop, notices = machines.Stop(ending, at_once), machines.Notices(ready, waiting)
        try:
            await machines.work(self.options, self.means, stop, notices)
        finally:
            self.means.surroundings().guard.close()
            self.means.surroundings().notifier.close(TELL_WITHIN)
            self.means.store.close()


def checked_options(chosen: Settings, flags: Mapping[str, Any]) -> Options:
    """The options of `[cluster]` and the flags, which win. Raises if something is missing."""
    connecting.check_package()
    chosen_options = options(chosen.cluster, flags)
    chosen_options.access  # noqa: B018 (raises if no address is set)
    return replace(chosen_options, machine=chosen_options.machine or runners.machine())


@contextmanager
def machine(chosen: Settings, chosen_options: Options, environment: Mapping[str, str]) -> Iterator[Machine]:
    """A machine that holds its work folder: two in one folder would overwrite each other's clones."""
    folder = _work_folder(chosen_options, environment)
    with disk.as_store_error(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = locks.try_lock(folder / LOCK)
    if lock is None:
        raise LoopBusy(
            f"Another process uses the work folder {folder}.", "end it, or choose another folder with --work-dir"
        )
    try:
        yield Machine(chosen_options, _means(chosen, chosen_options, folder.resolve(), environment))
    finally:
        os.close(lock)


def _work_folder(chosen_options: Options, environment: Mapping[str, str]) -> Path:
    """Not in the state folder, which agents and rooms do not see: git reads the objects of a clone from the mirror beside it."""
    data = environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(chosen_options.work_dir) if chosen_options.work_dir else Path(data) / "untildone" / "worker"


def _means(chosen: Settings, chosen_options: Options, folder: Path, environment: Mapping[str, str]) -> Means:
    if not chosen.store:
        raise UsageError("The database that keeps the loops is not set.", "give it with --store postgres://…")
    around = surroundings(dict(environment), chosen, host=Host.CLUSTER)
    store = PostgresStore(chosen.store, around.redactor, folder=folder / "loops", machine=chosen_options.machine)
    # Reports a wrong address now, and not once for every loop.
    store.live_ids()
    return Means(store, lambda: around, folder, chosen_options.slots, chosen_options.share)
