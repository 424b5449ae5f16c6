"""Checkpoints: the loop as of one journal entry, with checksum and the three before it."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from untildone.core.codec import CodecError, epoch, from_json, timestamp, to_json
from untildone.core.errors import StoreError
from untildone.core.loop import Loop
from untildone.core.secrets import Redactor
from untildone.store import disk
from untildone.store.lines import DamagedLine, compact, sealed, unsealed

BACKUPS = 3
VERSION = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    loop: Loop
    offset: int
    """Where in the journal the entries begin that are not in the loop yet."""


def as_fields(loop: Loop) -> dict[str, object]:
    """The checkpoint as programs see it."""
    fields = to_json(loop)
    return {
        "loop_id": loop.loop_id,
        "title": loop.title,
        "description": loop.description,
        "status": loop.status.value,
        "max_iterations": loop.budget.iterations,
        "current_iteration": loop.spend.iterations,
        **fields,
        "created_at": timestamp(loop.created_at),
        "updated_at": timestamp(loop.updated_at),
    }


def write(path: Path, checkpoint: Checkpoint, redactor: Redactor) -> None:
    fields = {**as_fields(checkpoint.loop), "journal_offset": checkpoint.offset, "version": VERSION}
    content = sealed(redactor.text(compact(fields)))
    _keep_backups(path)
    disk.replace_file(path, content)
    digest = sha256(content).hexdigest()
    with disk.told_as_sentence(path):
        _checksum_path(path).write_text(f"{digest}  {path.name}\n")


def read(path: Path) -> tuple[Checkpoint | None, str]:
    """The newest good checkpoint there is, and what was wrong with those before it, if anything was."""
    problems: list[str] = []
    for candidate in (path, *backups(path)):
        try:
            return _read_one(candidate, checked=candidate == path), "; ".join(problems)
        except FileNotFoundError:
            continue
        except (OSError, DamagedLine) as problem:
            problems.append(f"{candidate.name}: {problem}")
    return None, "; ".join(problems)


def backups(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(f"{path.name}.backup.{number}") for number in range(1, BACKUPS + 1))


def _checksum_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _read_one(path: Path, *, checked: bool) -> Checkpoint:
    content = path.read_bytes()
    if checked and _checksum_path(path).read_text(errors="replace").split(" ")[0] != sha256(content).hexdigest():
        raise DamagedLine("the checksum file does not match")
    fields = unsealed(content)
    try:
        fields["created_at"], fields["updated_at"] = epoch(fields["created_at"]), epoch(fields["updated_at"])
        return Checkpoint(from_json(Loop, fields), int(fields["journal_offset"]))
    except (KeyError, TypeError, ValueError, CodecError) as problem:
        raise DamagedLine(str(problem)) from None


def _keep_backups(path: Path) -> None:
    newest, *older = backups(path)
    chain = [newest, *older]
    for old, new in zip(reversed(chain[:-1]), reversed(chain[1:]), strict=True):
        if old.exists():
            os.replace(old, new)
    if path.exists():
        os.replace(path, newest)


class CheckpointWriter:
    """Writes checkpoints behind the runner's back: the journal is already on disk, so only the newest one matters."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self.path = path
        self._redactor = redactor
        self._newest: Checkpoint | None = None
        self._wake = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, checkpoint: Checkpoint) -> None:
        with self._wake:
            self._newest = checkpoint
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="checkpoints", daemon=True)
                self._thread.start()
            self._wake.notify()

    def close(self) -> None:
        """Write what is left, and end."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join()
        if self._newest is not None:
            self._write(self._newest)

    def _work(self) -> None:
        while (checkpoint := self._next()) is not None:
            self._write(checkpoint)

    def _next(self) -> Checkpoint | None:
        with self._wake:
            self._wake.wait_for(lambda: self._newest is not None or self._closed)
            newest, self._newest = self._newest, None
            return newest

    def _write(self, checkpoint: Checkpoint) -> None:
        try:
            write(self.path, checkpoint, self._redactor)
        except StoreError:
            # The journal has everything: a checkpoint that cannot be written now costs only time at the next load.
            return
