"""The registry of running loops: small files in the state folder, away from the workspace that an agent writes.

A runner writes `loops/<loop id>.json` while it drives a loop. `pause` and `stop` find the loop by it when the project's settings,
the database or the files of the loop do not answer, and leave their order beside it, in `loops/<loop id>.order`, which the runner
polls. All of this is best effort: a registry that cannot be written stops no loop.
"""

from __future__ import annotations

import os
from pathlib import Path

from untildone.core.errors import StoreError
from untildone.core.values.plain_json import read_object
from untildone.core.values.value import dataclass
from untildone.system import disk, runners, state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FOLDER, KEPT = "loops", "kept"
WRAP = "wrap"
_ENTRY, _ORDER, _TAKEN = ".json", ".order", ".taken"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LARGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class Running:
    """A loop that a process of this machine drives, or that is at work in a session which that process has open."""

    loop_id: str
    pid: int
    """The runner; for a loop in a session, the process that has the session open."""
    start: float
    """When that process started, by `orphans.start_of`: a later process may have the same pid."""
    machine: str
    host: str
    """The kind of host that drives the loop; `wrap`: no loop, but a wrapped agent, whose run folder the entry is named after."""
    workspace: str
    home: str
    """The folder whose commands show the loop."""
    root: str = ""
    """The folder with the loop's files; empty: the loop is in a database."""
    database: str = ""
    """The name of the database, without secrets; empty: the loop is in files."""
    title: str = ""
    since: float = 0.0
    """Epoch seconds."""

    @property
    def is_alive(self) -> bool:
        """Whether the process is still there."""
        return self.machine == runners.machine() and _start_of(self.pid) == self.start


@dataclass(frozen=True, slots=True)
class Order:
    """A pause or stop that could not be written to the journal."""

    control: str
    """`pause` or `stop`."""
    urgency: str
    outcome: str

    def over(self, before: Order | None) -> Order:
        """The order that remains of two: a stop outweighs a pause, and `now` outweighs `after_iteration`."""
        if before is None:
            return self
        stays = before if (before.control, self.control) == ("stop", "pause") else self
        urgency = "now" if "now" in (before.urgency, self.urgency) else self.urgency
        return Order(stays.control, urgency, stays.outcome)


class Orders:
    """The orders for one loop, from the side of its runner."""

    def __init__(self, loop_id: str, environment: Mapping[str, str] = os.environ) -> None:
        self._waiting = _path(loop_id, _ORDER, environment)
        self._taken = _path(loop_id, _TAKEN, environment)

    @property
    def is_waiting(self) -> bool:
        """Whether there is an order that was not taken yet. One system call, because it is polled."""
        return os.path.exists(self._waiting)

    @property
    def interrupts_now(self) -> bool:
        """Whether the waiting order ends the running turn at once."""
        order = _read_order(self._waiting) if self.is_waiting else None
        return order is not None and order.urgency == "now"

    def take(self) -> Order | None:
        """The waiting order; None if there is none. It stays on disk until `done`: after a crash, the next runner gets it."""
        before = _read_order(self._taken)
        try:
            os.replace(self._waiting, self._taken)
        except OSError:
            return before
        order = _read_order(self._taken)
        if order is None:
            self.done()
            return before
        return order.over(before)

    def done(self) -> None:
        """Drop the order that was taken, because it is in the journal."""
        _remove(self._taken)


def this_process(loop_id: str, **fields: Any) -> Running:
    """The entry of a loop that this process drives."""
    return of_process(loop_id, os.getpid(), **fields)


def of_process(loop_id: str, pid: int, **fields: Any) -> Running:
    """The entry of a loop that another process has in a session."""
    return Running(loop_id, pid, _start_of(pid) or 0.0, runners.machine(), **fields)


def put(entry: Running, environment: Mapping[str, str] = os.environ) -> None:
    """Write the entry of a loop."""
    _write(_path(entry.loop_id, _ENTRY, environment), entry, environment)


def find(loop_id: str, environment: Mapping[str, str] = os.environ) -> Running | None:
    """The entry of a loop; None if it has none, or one that cannot be read."""
    return _read_entry(_path(loop_id, _ENTRY, environment), loop_id) if _is_name(loop_id) else None


def forget(loop_id: str, environment: Mapping[str, str] = os.environ) -> None:
    """Remove the entry of a loop."""
    _remove(_path(loop_id, _ENTRY, environment))


def entries(environment: Mapping[str, str] = os.environ) -> tuple[Running, ...]:
    """All entries that can be read, in the order of the ids; also those of processes that have died."""
    try:
        listed = os.listdir(os.path.join(state_folder.folder(environment), FOLDER))
    except OSError:
        return ()
    names = sorted(name.removesuffix(_ENTRY) for name in listed if name.endswith(_ENTRY))
    return tuple(entry for name in names if (entry := find(name, environment)) is not None)


def give_order(loop_id: str, order: Order, environment: Mapping[str, str] = os.environ) -> bool:
    """Leave an order for the runner of a loop. False: it cannot be written."""
    path = _path(loop_id, _ORDER, environment)
    return _write(path, order.over(_read_order(path)), environment)


def keep_journal(loop_id: str, content: bytes, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Keep the journal of a loop whose files were deleted. Returns the path of the copy; None if it cannot be written."""
    path = Path(state_folder.folder(environment), KEPT, f"{loop_id}.jsonl")
    try:
        state_folder.made(KEPT, environment=environment)
        path.touch(mode=0o600)
        path.write_bytes(content)
    except OSError:
        return None
    return path


def _is_name(loop_id: str) -> bool:
    return 0 < len(loop_id) <= 100 and _LETTERS.issuperset(loop_id)


def _path(loop_id: str, ending: str, environment: Mapping[str, str]) -> Path:
    return Path(state_folder.folder(environment), FOLDER, f"{loop_id}{ending}")


def _start_of(pid: int) -> float | None:
    from untildone.system import orphans

    try:
        return orphans.start_of(pid)
    except ImportError:
        # The stop hook runs without packages, and on some systems psutil is needed.
        return None


def _read_entry(path: Path, loop_id: str) -> Running | None:
    fields = _fields(path) or {}
    try:
        entry = Running(**{name: value for name, value in fields.items() if name in Running.__match_args__})
    except TypeError:
        return None
    return entry if entry.loop_id == loop_id and isinstance(entry.pid, int) else None


def _read_order(path: Path) -> Order | None:
    fields = _fields(path) or {}
    try:
        return Order(str(fields["control"]), str(fields["urgency"]), str(fields["outcome"]))
    except KeyError:
        return None


def _fields(path: Path) -> dict[str, Any] | None:
    try:
        return read_object(disk.read_promptly(path, _LARGEST))
    except (OSError, ValueError):
        return None


def _write(path: Path, value: Running | Order, environment: Mapping[str, str]) -> bool:
    import json

    fields = {name: getattr(value, name) for name in type(value).__match_args__}
    try:
        state_folder.made(FOLDER, environment=environment)
        disk.replace_file(path, json.dumps(fields).encode(), sync=False)
    except (OSError, StoreError):
        return False
    return True


def _remove(path: Path) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
