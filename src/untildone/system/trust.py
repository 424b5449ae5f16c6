"""Files that steer loops and that an agent could write: settings, SUPERVISOR.md, action texts. A change during a loop does not count.

The state folder keeps, for each such file, the content that a person last had (`trust/files`), and for each loop at work what the
files were when it was taken up (`trust/during`). A file that differs from that, while the loop runs or after it ended, counts as
a person last had it, until a person accepts the change. What changes while no loop is at work is a person's.

Both records are sealed with the key of the state folder: what an agent writes there does not count. The process that took a loop up
also remembers what it saw, so that a deleted record hides nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path

from untildone.core.errors import StoreError
from untildone.core.values.digest import sha256
from untildone.core.values.plain_json import read_object
from untildone.core.values.value import dataclass, replace
from untildone.system import disk, running, state_folder

FILES, DURING = ("trust", "files"), ("trust", "during")
_OWN: dict[str, tuple[dict[str, bytes | None], tuple[str, ...]]] = {}
"""For each loop that this process has taken up: the watched files with the content that counted then, and the patterns."""
LARGEST = 1 << 20
"""Bytes of a file that count."""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Watched:
    """The files that steer the loops of a workspace."""

    paths: tuple[str, ...]
    """Files that exist or may be created."""
    patterns: tuple[str, ...] = ()
    """Absolute patterns; every file that matches one is watched too."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file during a loop that no person has accepted."""

    path: str
    loop_id: str
    before: bytes | None
    """The content that counts; None: there was no such file."""
    now: bytes | None
    declined: bool = False
    """Whether a person has seen this change and chose the content before it."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is kept about one file."""

    path: str
    accepted: bytes | None
    suspect: str = ""
    """The loop during which the file changed; empty: it did not, or a person has accepted it."""
    declined: str = ""
    """The digest of a content that a person declined."""


def content(path: str | Path, environment: Mapping[str, str] = os.environ) -> bytes | None:
    """The content of a file as it counts; None: the file counts as absent. OSError if it cannot be read."""
    change = _change(os.path.abspath(path), environment)
    return _read(path) if change is None else change.before


def matching(pattern: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The files that match a pattern, sorted, with those that were deleted during a loop and still count."""
    known = {kept.path for kept in _all_known(environment) if fnmatchcase(kept.path, pattern)}
    return sorted(
        path for path in {*glob(pattern, include_hidden=True), *known} if content(path, environment) is not None
    )


def begin(loop_id: str, watched: Watched, environment: Mapping[str, str] = os.environ) -> None:
    """Keep the files as they are when a loop is taken up. Best effort: a state folder that cannot be written stops no loop."""
    settle(environment)
    paths = {*watched.paths, *(path for pattern in watched.patterns for path in matching(pattern, environment))}
    digests: dict[str, str] = {}
    own: dict[str, bytes | None] = {}
    _OWN[loop_id] = own, watched.patterns
    for path in sorted(paths):
        change, now = _change(path, environment), _readable(path)
        digests[path] = _digest(now)
        own[path] = now if change is None else change.before
        if change is None:
            _keep(_Known(path, now), environment)
    _write(DURING, loop_id, {"files": digests, "patterns": list(watched.patterns)}, environment)


def end(loop_id: str, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Note which files changed during a loop that rests now. Returns their paths."""
    changed = changed_during(loop_id, environment)
    own, _ = _OWN.pop(loop_id, ({}, ()))
    for path in changed:
        known = _known(path, environment) or _Known(path, own.get(path))
        _keep(replace(known, suspect=known.suspect or loop_id), environment)
    _remove(DURING, loop_id, environment)
    return changed


def settle(environment: Mapping[str, str] = os.environ) -> None:
    """End the loops whose runner died before it could."""
    for loop_id in _names(DURING, environment):
        entry = running.find(loop_id, environment)
        if entry is None or not entry.is_alive:
            end(loop_id, environment)


def changed_during(loop_id: str, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The files that are not as they were when the loop was taken up, and whose present content no person has accepted."""
    during = _during(loop_id, environment)
    known = (_known(path, environment) for path in _watched_in(during))
    accepted = {kept.path: _digest(kept.accepted) for kept in known if kept is not None}
    return tuple(
        path
        for path in _watched_in(during)
        if (now := _digest(_readable(path))) != _at_start(during, path) and now != accepted.get(path, _digest(None))
    )


def _during(loop_id: str, environment: Mapping[str, str]) -> Mapping[str, Any]:
    """What the files were when the loop was taken up: as this process remembers it, else as it was written down."""
    written = _fields(DURING, loop_id, environment)
    if written or loop_id not in _OWN:
        return written
    files, patterns = _OWN[loop_id]
    return {"files": {path: _digest(text) for path, text in files.items()}, "patterns": patterns}


def changes(watched: Watched, environment: Mapping[str, str] = os.environ) -> tuple[Change, ...]:
    """The changes of the watched files during loops that no person has accepted."""
    recorded = (kept.path for kept in _all_known(environment))
    patterns = watched.patterns
    paths = {path for pattern in patterns for path in glob(pattern, include_hidden=True)}
    paths |= {path for path in recorded if any(fnmatchcase(path, pattern) for pattern in patterns)}
    every = (_change(path, environment) for path in sorted({*watched.paths, *paths}))
    return tuple(change for change in every if change is not None)


def accept(path: str | Path, environment: Mapping[str, str] = os.environ) -> None:
    """Let the present content of a file count: a person has seen it, or written it."""
    absolute = os.path.abspath(path)
    _keep(_Known(absolute, _readable(absolute)), environment)


def decline(change: Change, environment: Mapping[str, str] = os.environ) -> None:
    """Note that a person has seen a change and chose the content before it."""
    _keep(_Known(change.path, change.before, change.loop_id, _digest(change.now)), environment)


def _change(path: str, environment: Mapping[str, str]) -> Change | None:
    """The change of a file that no person has accepted; None: its present content counts."""
    known, now = _known(path, environment), _readable(path)
    accepted = None if known is None else known.accepted
    if _digest(now) == _digest(accepted):
        return None
    loop_id = (known.suspect if known else "") or _changed_by(path, _digest(now), environment)
    # A loop that came to rest meanwhile has noted the change.
    known = known if loop_id else _known(path, environment)
    loop_id = loop_id or (known.suspect if known else "")
    if not loop_id:
        return None
    return Change(path, loop_id, accepted, now, declined=known is not None and known.declined == _digest(now))


def _changed_by(path: str, now: str, environment: Mapping[str, str]) -> str:
    """A loop at work during which a file changed to a content with the digest `now`; empty: there is none."""
    during = ((loop_id, _fields(DURING, loop_id, environment)) for loop_id in _names(DURING, environment))
    return next((name for name, each in during if _covers(each, path) and _at_start(each, path) != now), "")


def _covers(during: Mapping[str, Any], path: str) -> bool:
    return path in during.get("files", {}) or any(fnmatchcase(path, each) for each in during.get("patterns", ()))


def _at_start(during: Mapping[str, Any], path: str) -> str:
    """The digest of a file when the loop was taken up. A file that matches a pattern and is not listed did not exist."""
    return str(during.get("files", {}).get(path, _digest(None)))


def _watched_in(during: Mapping[str, Any]) -> list[str]:
    new = (path for pattern in during.get("patterns", ()) for path in glob(pattern, include_hidden=True))
    return sorted({*during.get("files", {}), *new})


def _digest(text: bytes | None) -> str:
    return "absent" if text is None else sha256(text).hexdigest()


def _read(path: str | Path) -> bytes | None:
    try:
        return disk.read_promptly(Path(path), LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _readable(path: str) -> bytes | None:
    """The content of a file. The content of an unreadable file is one that no person can accept."""
    try:
        return _read(path)
    except OSError as problem:
        return f"\0unreadable: {problem.strerror}".encode()


def _known(path: str, environment: Mapping[str, str]) -> _Known | None:
    fields = _fields(FILES, _name(path), environment)
    if fields.get("path") != path:
        return None
    accepted = fields.get("accepted")
    text = accepted.encode("utf-8", "surrogateescape") if isinstance(accepted, str) else None
    return _Known(path, text, str(fields.get("suspect", "")), str(fields.get("declined", "")))


def _all_known(environment: Mapping[str, str]) -> Iterator[_Known]:
    for name in _names(FILES, environment):
        path = _fields(FILES, name, environment).get("path")
        known = _known(path, environment) if isinstance(path, str) else None
        if known is not None:
            yield known


def _keep(known: _Known, environment: Mapping[str, str]) -> None:
    text = None if known.accepted is None else known.accepted.decode("utf-8", "surrogateescape")
    fields = {"path": known.path, "accepted": text, "suspect": known.suspect, "declined": known.declined}
    if known.accepted is None and not known.suspect:
        _remove(FILES, _name(known.path), environment)
    else:
        _write(FILES, _name(known.path), fields, environment)


def _name(path: str) -> str:
    return sha256(os.fsencode(path)).hexdigest()[:32]


def _names(folder: tuple[str, str], environment: Mapping[str, str]) -> list[str]:
    try:
        names = os.listdir(os.path.join(state_folder.folder(environment), *folder))
    except OSError:
        return []
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def _path(folder: tuple[str, str], name: str, environment: Mapping[str, str]) -> Path:
    return Path(state_folder.folder(environment), *folder, f"{name}.json")


def _fields(folder: tuple[str, str], name: str, environment: Mapping[str, str]) -> dict[str, Any]:
    try:
        content = disk.read_promptly(_path(folder, name, environment), 8 * LARGEST)
        text, _, seal = content.rpartition(b"\n")
        return read_object(text) if seal.decode("ascii", "replace") == _seal(folder, name, text, environment) else {}
    except (OSError, ValueError):
        return {}


def _seal(folder: tuple[str, str], name: str, content: bytes, environment: Mapping[str, str]) -> str:
    return state_folder.seal("/".join((*folder, name)), content, environment)


def _write(folder: tuple[str, str], name: str, fields: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    import json

    try:
        state_folder.made(*folder, environment=environment)
        content = json.dumps(fields).encode()
        sealed = content + b"\n" + _seal(folder, name, content, environment).encode()
        disk.replace_file(_path(folder, name, environment), sealed, sync=False)
    except (OSError, StoreError):
        return


def _remove(folder: tuple[str, str], name: str, environment: Mapping[str, str]) -> None:
    try:
        os.unlink(_path(folder, name, environment))
    except OSError:
        return
