"""Notices on disk until they are delivered, so that a crash neither loses one nor sends one twice.

They lie in the state folder, outside of every workspace: `outbox/<store>/<process>/<loop>-<seq>-<kind>.json`. A process holds the lock
of its own folder for as long as it lives; the folder of a dead process is adopted by the next one that notifies for the same store.
A notice holds no address and no token: those come from the settings when it is sent.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from untildone.core.errors import StoreError
from untildone.core.notices import Noticed
from untildone.core.values.codec import from_json, to_json
from untildone.engine.notices.cursors import CURSORS, FOLDER, cursor, place_of
from untildone.system import disk, locks, state_folder

LOCK, FOLDING = "lock", "folding"
FOLD_WITHIN = 10.0
"""Seconds for which a process waits for another that turns entries into notices."""
KEPT_SECONDS = 7 * 24 * 3600.0
"""A notice that could not be delivered for so long is dropped."""


class State(StrEnum):
    """How far the delivery of a notice by one channel is."""

    WAITING = "waiting"
    BEGUN = "begun"
    """Written before it is sent. If a process dies after this, it is unknown whether it arrived, and it is not sent again."""
    DONE = "done"


@dataclass(slots=True)
class Delivery:
    """The delivery of a notice by one channel."""

    state: State = State.WAITING
    tries: int = 0
    not_before: float = 0.0


@dataclass(slots=True)
class Item:
    """A notice in the outbox."""

    path: Path
    at: float
    fields: dict[str, Any]
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    """By the name of the channel."""

    def waiting(self, channels: Iterator[str] | list[str]) -> list[str]:
        """The channels by which it must still be sent."""
        return [name for name in channels if name in self.deliveries and self.deliveries[name].state is State.WAITING]

    @property
    def is_over(self) -> bool:
        return all(delivery.state is not State.WAITING for delivery in self.deliveries.values())


def forget(store_name: str, loop_id: str) -> None:
    """Remove what is known about the notices of a deleted loop. What is still to be sent stays."""
    with suppress(OSError):
        os.unlink(cursor(store_name, loop_id))


class Outbox:
    """The notices of one store. One process owns it; it also holds what dead processes left."""

    def __init__(self, store_name: str) -> None:
        self._root = Path(state_folder.made(FOLDER, place_of(store_name)))
        self._locks: dict[Path, int] = {}
        self._own = self._root / uuid.uuid4().hex[:12]

    def close(self) -> None:
        """Release the folders; those that are empty are removed."""
        for folder, lock in self._locks.items():
            if not any(folder.glob("*.json")):
                (folder / LOCK).unlink(missing_ok=True)
                with suppress(OSError):
                    folder.rmdir()
            os.close(lock)
        self._locks.clear()

    def noticed(self, loop_id: str) -> Noticed | None:
        """What of the loop's journal was turned into notices; None: nothing is known."""
        try:
            value: Noticed = from_json(Noticed, json.loads((self._root / CURSORS / loop_id).read_text()))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return value

    def note(self, loop_id: str, state: Noticed) -> None:
        """Write what of the loop's journal was turned into notices. Notices are put before this is written."""
        folder = self._root / CURSORS
        folder.mkdir(mode=0o700, exist_ok=True)
        disk.replace_file(folder / loop_id, json.dumps(to_json(state)).encode(), mode=0o600)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock under which entries become notices: a runner and the process that a hook starts may do that at once."""
        descriptor = os.open(self._root / FOLDING, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with locks.locked(descriptor, FOLD_WITHIN):
                yield
        except locks.LockHeld as held:
            raise StoreError(f"The notices in {self._root} cannot be written: {held}.", "end that process") from None
        finally:
            os.close(descriptor)

    def put(self, name: str, at: float, fields: dict[str, Any], channels: list[str]) -> None:
        """Keep a notice durably. One of the same name that is there already stays as it is."""
        path = self._folder() / f"{name}.json"
        if not any((folder / path.name).exists() for folder in self._locks):
            _save(Item(path, at, fields, {channel: Delivery() for channel in channels}))

    def items(self, now: float) -> list[Item]:
        """The notices of this process and of dead ones, oldest first, without those that are over."""
        self._adopt()
        items = [item for folder in self._locks for path in folder.glob("*.json") if (item := _read(path))]
        for item in items:
            if item.is_over or item.at < now - KEPT_SECONDS:
                item.path.unlink(missing_ok=True)
        return sorted((item for item in items if item.path.exists()), key=lambda item: item.at)

    def _folder(self) -> Path:
        if self._own not in self._locks:
            self._own.mkdir(mode=0o700, exist_ok=True)
            lock = locks.try_lock(self._own / LOCK)
            if lock is None:
                raise StoreError(f"The folder {self._own} is locked by another process.", "try again")
            self._locks[self._own] = lock
        return self._own

    def _adopt(self) -> None:
        """Take the folders of processes that have died."""
        for path in self._root.glob(f"*/{LOCK}"):
            folder = path.parent
            if folder in self._locks or locks.is_locked(path) or not any(folder.glob("*.json")):
                continue
            lock = locks.try_lock(path)
            if lock is not None:
                self._locks[folder] = lock


def save(item: Item) -> None:
    """Write the state of a delivery, before and after it is tried."""
    _save(item)


def _save(item: Item) -> None:
    deliveries = {
        name: {"state": each.state.value, "tries": each.tries, "not_before": each.not_before}
        for name, each in item.deliveries.items()
    }
    content = {"at": item.at, "fields": item.fields, "deliveries": deliveries}
    disk.replace_file(item.path, json.dumps(content).encode(), mode=0o600)


def _read(path: Path) -> Item | None:
    """The notice in a file; None: it is gone or damaged."""
    try:
        content = json.loads(path.read_bytes())
        deliveries = {
            name: Delivery(State(each["state"]), each["tries"], each["not_before"])
            for name, each in content["deliveries"].items()
        }
        return Item(path, content["at"], content["fields"], deliveries)
    except (OSError, ValueError, TypeError, KeyError):
        return None
