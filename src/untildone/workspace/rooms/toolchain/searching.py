"""Searches libraries for files that changed since the start of a loop, while untildone does other work: `find` runs beside it.

A library has tens of thousands of files, and a look at each takes the longest of all that a claim needs. If nothing is younger than the
start, neither a file nor a folder, then names and contents are those of the start: whatever adds, removes or renames a file changes
its folder's change time. Where this cannot be said, the library is looked at by `stamps.glance`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Iterable
from functools import cached_property, partial
from pathlib import Path
from shutil import which

from untildone.workspace.beside import Beside
from untildone.workspace.rooms import stamps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.workspace.rooms.ignored.beside import Start
    from untildone.workspace.rooms.toolchain.library_folders import Library

WITHIN = 60.0
"""Seconds."""
_SYSTEM = "/usr/bin:/bin"
"""Where `find` is taken from: an agent of an ordinary user cannot write there."""
_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(rb"\\([0-7]{3})")


def place_of(path: str) -> str:
    """Identifies the folder at a path: another one in its place has another device or inode. Empty: there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_dev}:{status.st_ino}"


class Search:
    """Looks for what changed in libraries after a moment. The search begins at once; `close` ends it."""

    def __init__(self, libraries: Collection[Library], start: Start) -> None:
        mounts = _mount_points()
        places = {path: each.place for path, each in start.libraries.items()}
        self.libraries = libraries
        self._since = start.began - stamps.UNSURE_NANOSECONDS
        self._processes: list[tuple[frozenset[str], subprocess.Popen[bytes], Beside[bytes | None]]] = []
        by_names: dict[frozenset[str], list[str]] = {}
        for library in libraries:
            if mounts is not None and _is_searchable(library.path, places.get(library.path, ""), self._since, mounts):
                by_names.setdefault(library.left_out, []).append(library.path)
        for names, paths in by_names.items():
            self._start(names, paths)

    def _start(self, names: frozenset[str], paths: list[str]) -> None:
        program = which("find", path=_SYSTEM)
        if program is None:
            return
        pruned = [word for name in sorted(names) for word in ("-name", name, "-prune", "-o")]
        seconds, nanoseconds = divmod(self._since, 10**9)
        wanted = ("-newerct", f"@{seconds}.{nanoseconds:09}", "-printf", r"%y%p\0")
        pipe, none = subprocess.PIPE, subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                (program, "-P", *paths, "-mindepth", "1", *pruned, *wanted),
                env={"LC_ALL": "C"},
                cwd="/",
                stdin=none,
                stdout=pipe,
                stderr=none,
            )
        except OSError:
            return
        self._processes.append((frozenset(paths), process, Beside(partial(_answer, process))))

    @property
    def is_over(self) -> bool:
        """Whether `unchanged` need not wait."""
        return all(answer.is_over for _, _, answer in self._processes)

    @cached_property
    def unchanged(self) -> dict[str, tuple[bytes, ...]]:
        """The libraries that are as they were but for bytecode, with the files of bytecode that changed, as paths below the library."""
        found: dict[str, tuple[bytes, ...]] = {}
        for paths, _, answer in self._processes:
            if (out := answer.result()) is not None:
                found |= _sorted_out(paths, out.split(b"\0")[:-1])
        return found

    def close(self) -> None:
        for _, process, answer in self._processes:
            process.kill()
            answer.result()


def _answer(process: subprocess.Popen[bytes]) -> bytes | None:
    """What the process prints; None: it failed, or took too long."""
    try:
        out, _ = process.communicate(timeout=WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return out if process.returncode == 0 else None


def _is_searchable(path: str, place: str, since: int, mounts: Iterable[bytes]) -> bool:
    """Whether it is the same folder as at the start, no other file system or folder is mounted in it, and its own entries are old."""
    if not place or place_of(path) != place or os.path.islink(path) or os.stat(path).st_ctime_ns > since:
        return False
    below = os.path.join(os.fsencode(path), b"")
    return not any(mount.startswith(below) for mount in mounts)


def _mount_points() -> list[bytes] | None:
    """Where something is mounted; None: that is not known."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
        return [_ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), line.split(b" ")[4]) for line in lines]
    except (OSError, IndexError, ValueError):
        return None


def _sorted_out(paths: Iterable[str], rows: Iterable[bytes]) -> dict[str, tuple[bytes, ...]]:
    """What changed in each library, without those in which something else than bytecode did."""
    changed: dict[str, list[bytes] | None] = {path: [] for path in paths}
    tops = [(path, os.path.join(os.fsencode(path), b"")) for path in changed]
    for row in rows:
        kind, full = row[:1], row[1:]
        path, top = next((path, top) for path, top in tops if full.startswith(top))
        known, name = changed[path], full.removeprefix(top)
        if kind == b"f" and known is not None and stamps.is_bytecode(name):
            known.append(name)
        elif not (kind == b"d" and os.path.basename(name) == stamps.BYTECODE):
            changed[path] = None
    return {path: tuple(names) for path, names in changed.items() if names is not None}
