"""Seals of a store in files: HMAC-SHA256 with a key that lies in the state folder, outside of every workspace.

Journal, checkpoints and receipt of a loop lie where its agent can write. Of these files counts what carries the seal of this key:

- each entry is sealed together with the seal of the entry before it, so that none can be altered, dropped or moved unnoticed;
- a key is derived for each loop and purpose, so that no seal fits another loop or another kind of file;
- the *head*, the number and seal of the last entry, lies in the state folder too. It shows that entries were cut off at the end, or
  that the whole journal is that of another folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from untildone.core.errors import StoreError
from untildone.core.values.digest import Hmac, sha256
from untildone.core.values.value import dataclass
from untildone.system import disk, state_folder
from untildone.system.state_folder import KEY

HEADS = "heads"
KEY_BYTES = 32
LENGTH = 32
"""Hexadecimal digits of a seal: 128 bits."""
FIRST = b"0" * LENGTH
"""Stands for the seal before the first entry."""
_PREVIOUS, _SEAL = b',"prev":"', b',"seal":"'
_PART = len(_SEAL) + LENGTH + 1


@dataclass(frozen=True, slots=True)
class Link:
    """The seal of an entry, and the seal of the entry that it was written after."""

    previous: bytes
    seal: bytes


class LoopSeal:
    """Seals the files of one loop. `body` is always a JSON object without its closing brace."""

    def __init__(self, key: bytes, loop_id: str) -> None:
        derive = Hmac(key).digest
        self._of_entries = Hmac(derive(f"journal {loop_id}".encode()))
        self._of_checkpoints = Hmac(derive(f"checkpoint {loop_id}".encode()))

    def linked(self, body: bytes, previous: bytes) -> tuple[bytes, bytes]:
        """The body of an entry with its seal as the last field, and the seal."""
        body += _PREVIOUS + previous + b'"'
        seal = _hex(self._of_entries, body)
        return body + _SEAL + seal + b'"', seal

    def link(self, body: bytes) -> Link | None:
        """The link of an entry; None: it has no valid seal."""
        content, seal = body[:-_PART], body[-LENGTH - 1 : -1]
        if content + _SEAL + seal + b'"' != body or _hex(self._of_entries, content) != seal:
            return None
        return Link(content[-LENGTH - 1 : -1], seal)

    def sealed(self, body: bytes) -> bytes:
        """The body of a checkpoint with its seal as the last field."""
        return body + _SEAL + _hex(self._of_checkpoints, body) + b'"'

    def is_sealed(self, body: bytes) -> bool:
        """Whether the body of a checkpoint has a valid seal."""
        return self.sealed(body[:-_PART]) == body


def _hex(code: Hmac, content: bytes) -> bytes:
    return code.digest(content).hex()[:LENGTH].encode()


class ReceiptSeal:
    """Seals receipts, of all loops: a receipt can be checked wherever it lies."""

    def __init__(self, key: bytes) -> None:
        derive = Hmac(key).digest
        self._code = Hmac(derive(b"receipt"))
        self.name = f"untildone:{derive(b'name').hex()[:16]}"
        """The name of the key."""

    def seal(self, content: bytes) -> bytes:
        return self._code.digest(content)


class Head:
    """The file with the number and the seal of the last entry of one loop. Its size is fixed: it is overwritten in place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    @property
    def spare(self) -> Path:
        """A copy of the last checkpoint, in case that those beside the journal are lost."""
        return self.path.with_name(f"{self.path.name}.json")

    def read(self) -> int | None:
        """The number of the last entry; None: the loop was not written in this folder with this state folder."""
        try:
            number, _, seal = self.path.read_bytes().strip().partition(b" ")
            return int(number) if len(seal) == LENGTH else None
        except (OSError, ValueError):
            return None

    def create(self, seq: int, seal: bytes) -> None:
        """Write the file durably: a loop without it is not taken for one of ours."""
        with _in_state_folder(self.path):
            os.makedirs(self.path.parent, mode=0o700, exist_ok=True)
            disk.replace_file(self.path, _head(seq, seal), mode=0o600)
            disk.sync_folder(self.path.parent)

    def write(self, seq: int, seal: bytes) -> None:
        """Overwrite the file. Without a sync: after a power failure it may be behind the journal, which is no harm."""
        # A head that cannot be written is only older: fewer entries that are cut off would be noticed.
        with suppress(OSError):
            if self._descriptor is None:
                self._descriptor = os.open(self.path, os.O_WRONLY)
            os.pwrite(self._descriptor, _head(seq, seal), 0)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def delete(self) -> None:
        with suppress(OSError):
            self.spare.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
            self.path.parent.rmdir()


def _head(seq: int, seal: bytes) -> bytes:
    return b"%020d %b\n" % (seq, seal)


class Seals:
    """The key of a state folder, and the seals and heads that it has of loops."""

    def __init__(self, folder: str | None = None) -> None:
        self._folder = Path(state_folder.folder() if folder is None else folder)
        self._key: bytes | None = None

    @property
    def path(self) -> Path:
        """The file of the key."""
        return self._folder / KEY

    def of(self, loop_id: str) -> LoopSeal | None:
        """The seal of a loop; None: there is no usable key (`problem`)."""
        key = self._read()
        return None if key is None else LoopSeal(key, loop_id)

    @property
    def of_receipts(self) -> ReceiptSeal | None:
        """The seal of receipts; None: there is no usable key."""
        key = self._read()
        return None if key is None else ReceiptSeal(key)

    def for_new(self, loop_id: str) -> LoopSeal:
        """The seal of a new loop. Makes the key if there is none and no loop needs one; else StoreError."""
        self.prepare()
        seal = self.of(loop_id)
        if seal is None:
            raise StoreError(*self.problem)
        return seal

    def prepare(self) -> None:
        """Make the key if there is none. StoreError if loops need the one that is missing."""
        if self.path.exists():
            return
        if self._is_needed():
            raise StoreError(*self.problem)
        self._make()

    def head(self, root: Path, loop_id: str) -> Head:
        """The head of a loop in a store's folder."""
        place = sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return Head(self._folder / HEADS / place / loop_id)

    @property
    def problem(self) -> tuple[str, str]:
        """Why there is no usable key, and what to do about it."""
        what = "is damaged or cannot be read" if self.path.exists() else "is missing"
        begin = f"delete it and {self._folder / HEADS}" if self.path.exists() else f"delete {self._folder / HEADS}"
        return (
            f"The key of untildone, {self.path}, {what}: no loop can be told from a forged one.",
            f"put the key back from a backup; or {begin} to begin with a new key: earlier loops are then shown as not ours",
        )

    def _read(self) -> bytes | None:
        if self._key is None:
            try:
                content = self.path.read_bytes()
            except OSError:
                return None
            self._key = content if len(content) == KEY_BYTES else None
        return self._key

    def _is_needed(self) -> bool:
        try:
            return any(True for _ in (self._folder / HEADS).iterdir())
        except OSError:
            return False

    def _make(self) -> None:
        """Create the key with access for its owner only. If two processes do so at once, one key remains."""
        with _in_state_folder(self.path):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            draft = self._folder / f"{KEY}.{os.urandom(6).hex()}.tmp"
            disk.replace_file(draft, os.urandom(KEY_BYTES), mode=0o600)
            try:
                # Unlike a rename, a link never replaces a key that another process has just made.
                os.link(draft, self.path)
            except FileExistsError:
                pass
            except OSError:
                # Not every file system has hard links.
                os.rename(draft, self.path)
            draft.unlink(missing_ok=True)
            disk.sync_folder(self._folder)


@contextmanager
def _in_state_folder(path: Path) -> Iterator[None]:
    """Raise what goes wrong in the block as a StoreError with a hint about the state folder."""
    try:
        with disk.as_store_error(path):
            yield
    except StoreError as error:
        hint = "make the state folder of untildone writable, or name another with XDG_STATE_HOME"
        raise StoreError(error.sentence, hint) from error
