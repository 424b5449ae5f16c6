"""Notifications that did not arrive, recorded beside the outbox for `doctor`: the sending process often has no terminal.

One small file for each notice and channel, at most MOST of them. A delivery that works after all removes its file.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from untildone.core.errors import StoreError
from untildone.core.values.codec import timestamp
from untildone.engine.notices.cursors import FOLDER, place_of
from untildone.system import disk, state_folder

FAILED = "failed"
MOST = 50
KEPT_SECONDS = 7 * 24 * 3600.0
LONGEST = 500
"""Characters of a problem that are kept."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A notification that did not arrive, or may not have arrived."""

    loop_id: str
    at: str
    problem: str


def note(store_name: str, name: str, loop_id: str, problem: str) -> None:
    """Keep that a delivery failed. `name` is that of the delivery."""
    content = {"loop_id": loop_id, "at": timestamp(time.time()), "problem": problem[:LONGEST]}
    with suppress(OSError, StoreError):
        folder = Path(state_folder.made(FOLDER, place_of(store_name), FAILED))
        disk.replace_file(folder / f"{name}.json", json.dumps(content).encode(), mode=0o600)
        for path in _by_age(folder)[:-MOST]:
            path.unlink(missing_ok=True)


def forget(store_name: str, name: str) -> None:
    """The delivery of this name works."""
    with suppress(OSError):
        os.unlink(os.path.join(state_folder.folder(), FOLDER, place_of(store_name), FAILED, f"{name}.json"))


def known(store_name: str, environment: Mapping[str, str] = os.environ) -> list[Failed]:
    """What failed within KEPT_SECONDS and has not worked since, oldest first."""
    folder = Path(state_folder.folder(environment), FOLDER, place_of(store_name), FAILED)
    since = time.time_ns() - int(KEPT_SECONDS * 1e9)
    return [failed for path in _by_age(folder, since) if (failed := _read(path))]


def _by_age(folder: Path, since: int = 0) -> list[Path]:
    dated = []
    for path in folder.glob("*.json"):
        with suppress(OSError):
            dated.append((path.stat().st_mtime_ns, path))
    return [path for at, path in sorted(dated) if at >= since]


def _read(path: Path) -> Failed | None:
    try:
        content = json.loads(path.read_bytes())
        return Failed(str(content["loop_id"]), str(content["at"]), str(content["problem"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None
