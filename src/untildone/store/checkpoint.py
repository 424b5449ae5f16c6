"""Checkpoints: the state of a loop as of one journal entry, with a checksum file and three backups."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from untildone.core.errors import StoreError
from untildone.core.loop import Loop
from untildone.core.protection.secrets import Redactor
from untildone.core.values.codec import CodecError, epoch, from_json, timestamp, to_json
from untildone.core.values.digest import sha256
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass
from untildone.store import lines
from untildone.store.lines import DamagedLine, ForeignLine
from untildone.store.seals import LoopSeal
from untildone.system import disk

BACKUPS = 3
VERSION = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a loop, and the place in the journal up to which it is folded."""

    loop: Loop
    offset: int
    """Where the entries begin that are not folded yet: a byte offset in the file, or in Postgres the last entry number."""
    last_seal: str = ""
    """The seal of the last sealed entry before `offset`; empty: not known, or the journal has no seals."""


def as_fields(loop: Loop, text: Callable[[str], str] = str) -> dict[str, object]:
    """The JSON fields of a checkpoint. `text` is applied to all free text."""
    fields = to_json(loop, text)
    return {
        **{name: fields[name] for name in ("loop_id", "title", "description", "status")},
        "max_iterations": loop.budget.iterations,
        "current_iteration": loop.spend.iterations,
        **fields,
        "created_at": timestamp(loop.created_at),
        "updated_at": timestamp(loop.updated_at),
    }


def write(path: Path, checkpoint: Checkpoint, redactor: Redactor, seal: LoopSeal | None = None) -> None:
    """Write a checkpoint and its checksum file; see `put`."""
    put(path, encoded(checkpoint, redactor, seal))


def put(path: Path, content: bytes) -> None:
    """Replace a checkpoint atomically: a reader gets the old or the new one. The old one becomes a backup."""
    disk.replace_file(path, content, before=lambda: _keep_backups(path), mode=0o600)
    disk.replace_file(_checksum_path(path), _checksum(path, content), sync=False, mode=0o600)


def encoded(checkpoint: Checkpoint, redactor: Redactor, seal: LoopSeal | None = None) -> bytes:
    """A checkpoint as one redacted line of JSON, with its seal if it has one, and with its checksum."""
    place = {"journal_offset": checkpoint.offset, "journal_seal": checkpoint.last_seal, "version": VERSION}
    body = lines.encoded({**as_fields(checkpoint.loop, redactor.text), **place})
    return lines.with_checksum(body if seal is None else seal.sealed(body))


def decoded(content: bytes, seal: LoopSeal | None = None) -> Checkpoint:
    """The checkpoint in `content`. Raises DamagedLine if the content was changed after it was written, or has no valid seal."""
    body = lines.without_checksum(content)
    if seal is not None and not seal.is_sealed(body):
        raise ForeignLine("untildone did not write it; it was ignored")
    fields = lines.fields_of(body)
    try:
        offset, last = from_json(int, fields["journal_offset"]), from_json(str, fields["journal_seal"])
    except (KeyError, CodecError) as problem:
        raise DamagedLine(str(problem)) from None
    return Checkpoint(loop_of(fields), offset, last)


def loop_of(fields: Mapping[str, Any]) -> Loop:
    """The loop with these JSON fields. Raises DamagedLine if they are invalid."""
    try:
        times = {name: epoch(fields[name]) for name in ("created_at", "updated_at")}
        return from_json(Loop, {**fields, **times})
    except (KeyError, TypeError, ValueError, OverflowError, CodecError) as problem:
        raise DamagedLine(str(problem)) from None


def read(path: Path, seal: LoopSeal | None = None) -> tuple[Checkpoint | None, str]:
    """The newest intact checkpoint, and the problems of the newer ones, as text. With `seal`, only sealed ones count."""
    problems: list[str] = []
    for candidate in _candidates(path):
        try:
            return _read_one(candidate, seal, checked=candidate is path), "; ".join(problems)
        except FileNotFoundError:
            if candidate is path:
                problems.append(f"{path.name}: the file is missing")
        except (OSError, DamagedLine) as problem:
            if candidate is not path or isinstance(problem, ForeignLine) or not _was_being_replaced(path):
                problems.append(f"{candidate.name}: {problem}")
    return None, "; ".join(problems)


def read_spare(path: Path, seal: LoopSeal) -> Checkpoint | None:
    """The copy of a checkpoint in the state folder; None if there is none."""
    try:
        return decoded(path.read_bytes(), seal)
    except (OSError, DamagedLine):
        return None


def _was_being_replaced(path: Path) -> bool:
    """Whether a writer died between writing a checkpoint and its checksum file. The checksum is then that of the first backup."""
    try:
        return _checksum_path(path).read_bytes() == _checksum(path, backups(path)[0].read_bytes())
    except OSError:
        return False


def _candidates(path: Path) -> Iterator[Path]:
    yield path
    yield from backups(path)


def backups(path: Path) -> tuple[Path, ...]:
    """The paths of the backups, newest first."""
    return tuple(path.with_name(f"{path.name}.backup.{number}") for number in range(1, BACKUPS + 1))


def remove_drafts(path: Path) -> None:
    """Delete the temp files of a writer that died."""
    # `glob` takes several times as long in a folder with thousands of loops.
    prefix = f"{path.name}."
    for draft in [name for name in os.listdir(path.parent) if name.startswith(prefix) and name.endswith("tmp")]:
        with suppress(OSError):
            path.with_name(draft).unlink()


def files(path: Path) -> tuple[Path, ...]:
    """The paths of a checkpoint, its checksum file and its backups, whether or not they exist."""
    return (path, _checksum_path(path), *backups(path))


def _checksum_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _checksum(path: Path, content: bytes) -> bytes:
    return f"{sha256(content).hexdigest()}  {path.name}\n".encode()


def _read_one(path: Path, seal: LoopSeal | None, *, checked: bool) -> Checkpoint:
    content = path.read_bytes()
    if checked:
        _compare(path, content)
    return decoded(content, seal)


def _compare(path: Path, content: bytes) -> None:
    try:
        recorded = _checksum_path(path).read_bytes()
    except FileNotFoundError:
        raise DamagedLine("its checksum file is missing") from None
    if recorded != _checksum(path, content):
        raise DamagedLine("the checksum file does not match")


def _keep_backups(path: Path) -> None:
    chain = backups(path)
    for old, new in zip(reversed(chain[:-1]), reversed(chain[1:]), strict=True):
        if old.exists():
            os.replace(old, new)
    if path.exists():
        _copy(path, chain[0])


def _copy(path: Path, copy: Path) -> None:
    try:
        os.link(path, copy)
    except OSError:
        # Not every file system has hard links.
        copy.write_bytes(path.read_bytes())


class LateWriter:
    """Writes the newest checkpoint when it is closed. For a runner that soon ends, like the stop hook: it needs no thread."""

    def __init__(self, write: Callable[[Checkpoint], object]) -> None:
        self._write_file = write
        self._newest: Checkpoint | None = None

    def submit(self, checkpoint: Checkpoint) -> None:
        self._newest = checkpoint

    def abandon(self) -> None:
        self._newest = None

    def close(self) -> None:
        if self._newest is not None:
            with suppress(StoreError):
                self._write_file(self._newest)


class CheckpointWriter:
    """Writes checkpoints in a thread. Only the newest one matters, because the journal is already on disk.

    It pauses between two checkpoints, because their syncs would compete with those of the journal.
    """

    def __init__(self, write: Callable[[Checkpoint], object], pause: float = 0.25) -> None:
        import threading  # the stop hook does not need it

        self._write_file = write
        self._pause = pause
        self._not_before = 0.0
        self._newest: Checkpoint | None = None
        self._wake = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="checkpoints", daemon=True)

    def submit(self, checkpoint: Checkpoint) -> None:
        """Write this checkpoint soon, unless a newer one is submitted before."""
        with self._wake:
            is_idle, self._newest = self._newest is None, checkpoint
            if self._thread.ident is None:
                self._thread.start()
            if is_idle:
                # Otherwise the thread only waits for the end of its pause, and waking it would cost more than the entry did.
                self._wake.notify()

    def abandon(self) -> None:
        """Drop the submitted checkpoint: the loop was deleted, and a late checkpoint would bring it back."""
        with self._wake:
            self._newest = None

    def close(self) -> None:
        """Write the submitted checkpoint, and end the thread."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        while (checkpoint := self._next()) is not None:
            self._write(checkpoint)

    def _next(self) -> Checkpoint | None:
        with self._wake:
            self._wake.wait_for(lambda: self._newest is not None or self._closed)
            self._wake.wait_for(lambda: self._closed, timeout=max(0.0, self._not_before - time.monotonic()))
            newest, self._newest = self._newest, None
            return newest

    def _write(self, checkpoint: Checkpoint) -> None:
        # A checkpoint that cannot be written only makes the next load slower, because the journal has everything.
        with suppress(StoreError):
            self._write_file(checkpoint)
        self._not_before = time.monotonic() + self._pause
