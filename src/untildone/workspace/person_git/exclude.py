"""Keeps the live state files of running loops out of the person's commits, by two lines in `.git/info/exclude`.

The lines are there as long as a live state file is in one of the work trees of the repository, which share the exclude file. After that
the exclude file is byte for byte as before.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from untildone.core import live_file
from untildone.core.errors import StoreError
from untildone.core.values.digest import sha256
from untildone.core.values.value import dataclass, replace
from untildone.system import disk, locks, state_folder
from untildone.workspace.git import git_folders, root_of
from untildone.workspace.git_links import folders_outside

PATTERN = f"**/{live_file.FOLDER}/{live_file.STEM}*{live_file.ENDING}"
LINES = f"# Of untildone, while a loop keeps its state here; it removes these two lines itself.\n{PATTERN}\n".encode()
PATIENCE = 5.0
"""Seconds to wait for another process that changes the same exclude file."""


@dataclass(frozen=True, slots=True)
class Holders:
    """The loops that need the lines in one exclude file, and how to remove these lines."""

    folders: tuple[str, ...] = ()
    """The workspaces of loops with a live state file."""
    is_new: bool = False
    """Whether there was no exclude file before."""
    ended_line: bool = False
    """Whether the last line had no line end before."""


def hold(workspace: str, environment: Mapping[str, str] = os.environ) -> None:
    """Let git ignore the live state file that is about to be written in a workspace. Does nothing where that is not possible."""
    with suppress(OSError, ValueError, StoreError):
        exclude = _exclude_of(workspace)
        if exclude is None:
            return
        record = _record_of(exclude, environment)
        if workspace in _load(record).folders and LINES in (_content(exclude) or b""):
            return
        with _locked(record):
            holders = replace(_load(record), folders=tuple({*_live(_load(record)), workspace}))
            _add(exclude, record, holders)


def release(workspace: str, environment: Mapping[str, str] = os.environ) -> None:
    """Undo `hold`, unless a live state file is still in one of the work trees."""
    with suppress(OSError, ValueError, StoreError):
        exclude = _exclude_of(workspace)
        if exclude is None:
            return
        record = _record_of(exclude, environment)
        with _locked(record):
            holders = _load(record)
            left = _live(holders)
            if left:
                _save(record, replace(holders, folders=left))
            else:
                _remove(exclude, holders)
                record.unlink(missing_ok=True)


def hide(file: str, environment: Mapping[str, str] = os.environ) -> None:
    """Let git ignore a file of this machine in the person's work tree, and its backups, until `reveal`."""
    with suppress(OSError, ValueError, StoreError):
        exclude, lines = _exclude_of(os.path.dirname(file)), _lines_for(file)
        if exclude is not None and lines not in (_content(exclude) or b""):
            _add(exclude, _record_of(exclude, environment, lines), Holders(), lines)


def reveal(file: str, environment: Mapping[str, str] = os.environ) -> None:
    """Undo `hide`."""
    with suppress(OSError, ValueError, StoreError):
        exclude, lines = _exclude_of(os.path.dirname(file)), _lines_for(file)
        if exclude is not None:
            record = _record_of(exclude, environment, lines)
            _remove(exclude, _load(record), lines)
            record.unlink(missing_ok=True)


def _lines_for(file: str) -> bytes:
    folder = os.path.realpath(os.path.dirname(file))
    inside = os.path.relpath(os.path.join(folder, os.path.basename(file)), root_of(folder) or folder)
    return b"# Of untildone's hook; `untildone hook uninstall` removes these two lines.\n/%b*\n" % os.fsencode(inside)


def without_ours(content: bytes) -> bytes:
    """The content of an exclude file without the lines of untildone."""
    return content.replace(LINES, b"")


def _exclude_of(workspace: str) -> Path | None:
    """The exclude file of the repository that contains a workspace; None: there is none, or it is not a plain file."""
    root = root_of(workspace)
    if root is None:
        return None
    shared = os.path.realpath(git_folders(root)[-1])
    if not shared.startswith(os.path.join(root, "")) and shared not in folders_outside(root):
        # An agent may have made `.git` name the repository of another project.
        return None
    path = Path(shared) / "info" / "exclude"
    if os.path.realpath(path.parent) != str(path.parent):
        return None
    with suppress(FileNotFoundError):
        return path if stat.S_ISREG(path.lstat().st_mode) else None
    return path


def _record_of(exclude: Path, environment: Mapping[str, str], lines: bytes = b"") -> Path:
    folder = state_folder.made("excludes", environment=environment)
    return Path(folder, f"{sha256(os.fsencode(exclude) + lines).hexdigest()[:32]}.json")


def _load(record: Path) -> Holders:
    try:
        fields = json.loads(record.read_bytes())
        return Holders(tuple(fields["folders"]), fields["is_new"], fields["ended_line"])
    except (OSError, ValueError, KeyError, TypeError):
        return Holders()


def _save(record: Path, holders: Holders) -> None:
    fields = {name: getattr(holders, name) for name in ("folders", "is_new", "ended_line")}
    disk.replace_file(record, json.dumps(fields).encode(), sync=False)


def _live(holders: Holders) -> tuple[str, ...]:
    """The workspaces in which a live state file is."""
    return tuple(folder for folder in holders.folders if _has_live_file(os.path.join(folder, live_file.FOLDER)))


def _has_live_file(folder: str) -> bool:
    with suppress(OSError):
        return any(map(live_file.is_live_file, os.listdir(folder)))
    return False


def _content(exclude: Path) -> bytes | None:
    with suppress(FileNotFoundError):
        return disk.read_promptly(exclude)
    return None


def _add(exclude: Path, record: Path, holders: Holders, lines: bytes = LINES) -> None:
    content = _content(exclude)
    if lines in (content or b""):
        _save(record, holders)
        return
    ends_line = not content or content.endswith(b"\n")
    # The record is first: a crash between the two leaves a record of lines that are not there, which is harmless.
    _save(record, replace(holders, is_new=content is None, ended_line=not ends_line))
    exclude.parent.mkdir(exist_ok=True)
    _write(exclude, (content or b"") + (b"" if ends_line else b"\n") + lines)


def _remove(exclude: Path, holders: Holders, lines: bytes = LINES) -> None:
    content = _content(exclude)
    if content is None or lines not in content:
        return
    is_last = holders.ended_line and content.endswith(b"\n" + lines)
    left = content.removesuffix(b"\n" + lines) if is_last else content.replace(lines, b"", 1)
    if holders.is_new and not left:
        exclude.unlink()
    else:
        _write(exclude, left)


def _write(exclude: Path, content: bytes) -> None:
    mode = stat.S_IMODE(exclude.stat().st_mode) if exclude.exists() else None
    disk.replace_file(exclude, content, sync=False)
    if mode is not None:
        exclude.chmod(mode)


@contextmanager
def _locked(record: Path) -> Iterator[None]:
    deadline = time.monotonic() + PATIENCE
    while (descriptor := locks.try_lock(record.with_suffix(".lock"))) is None:
        if time.monotonic() > deadline:
            raise OSError(f"{record} is locked")
    try:
        yield
    finally:
        os.close(descriptor)
