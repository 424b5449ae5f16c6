"""The programs on PATH: recorded before the first turn of a loop, compared when a claim is judged.

A check runs programs by name, and they run others. An agent that puts another `pytest` in front of the person's, or in its place, would
judge itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from untildone.core.values.value import dataclass
from untildone.system import disk

SMALL = 64 * 1024
"""Bytes. Of a file up to this size a hash of the content is kept: launchers in the home folder are often written again, unchanged."""

Stamp = tuple[int, int, int, int, str]
"""Size, modification time, change time and inode of a program; and a hash of its content, if it is small."""
Programs = dict[str, dict[str, Stamp]]
"""For each folder on PATH, its programs by name."""


@dataclass(frozen=True, slots=True)
class Differences:
    """What is not as it was before the first turn."""

    replaced: tuple[str, ...] = ()
    """Programs that stand in the place of one of the same name, or in front of it."""
    new: tuple[str, ...] = ()
    """Programs of a name that was not on PATH."""


def record(environment: Mapping[str, str], folder: str, target: Path) -> str:
    """Write down the programs on PATH, for a working folder. Returns a hash of the record."""
    content = json.dumps(_programs(environment, folder, {})).encode()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    disk.replace_file(target, content, sync=False)
    return hashlib.sha256(content).hexdigest()


def differences(
    environment: Mapping[str, str], folder: str, kept: Path, digest: str, approved: Collection[str]
) -> Differences | None:
    """Compare the programs on PATH with the record; None: the record is not the one that was written."""
    try:
        content = kept.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest() != digest:
        return None
    before: Programs = json.loads(content)
    names = {name for programs in before.values() for name in programs}
    changed = [
        (os.path.join(place, name), name)
        for place, programs in _programs(environment, folder, before).items()
        for name, stamp in programs.items()
        if not _same(before.get(place, {}).get(name), stamp)
    ]
    unapproved = [(path, name) for path, name in changed if path not in approved]
    return Differences(
        tuple(path for path, name in unapproved if name in names),
        tuple(path for path, name in unapproved if name not in names),
    )


def _same(before: Stamp | list[object] | None, now: Stamp) -> bool:
    if before is None:
        return False
    unchanged = list(before[:4]) == list(now[:4])
    return unchanged or (bool(now[4]) and before[4] == now[4])


def _programs(environment: Mapping[str, str], folder: str, known: Programs) -> Programs:
    programs: Programs = {}
    for entry in environment.get("PATH", os.defpath).split(os.pathsep):
        place = os.path.realpath(os.path.join(folder, entry))
        if place not in programs:
            programs[place] = dict(_in_folder(place, known.get(place, {})))
    return programs


def _in_folder(place: str, known: Mapping[str, Stamp]) -> Iterator[tuple[str, Stamp]]:
    try:
        entries = list(os.scandir(place))
    except OSError:
        return
    for entry in entries:
        try:
            status = entry.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_mode & 0o111:
            yield entry.name, _stamp(entry.path, status, known.get(entry.name))


def _stamp(path: str, status: os.stat_result, known: Stamp | None) -> Stamp:
    """The stamp, with a hash of a small file unless the record has one for the same stamp."""
    facts = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    if known is not None and tuple(known[:4]) == facts:
        return (*facts, str(known[4]))
    small = status.st_size <= SMALL and (known is not None or not path.startswith("/usr/"))
    return (*facts, _hash(path) if small else "")


def _hash(path: str) -> str:
    try:
        with disk.open_promptly(path) as file:
            return hashlib.sha256(file.read(SMALL)).hexdigest()
    except OSError:
        return ""
