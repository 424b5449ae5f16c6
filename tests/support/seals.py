"""Stores whose seals hold: copies of a store in another folder, and lines that only an independent reader of seals accepts."""

from __future__ import annotations

import hashlib
import hmac
import shutil
from pathlib import Path

from untildone.store.files import FileStore


def copied(store: FileStore, root: Path) -> FileStore:
    """A copy of a store in another folder, with the heads of its loops: as if it had been written there."""
    shutil.copytree(store.root, root)
    for loop_id in store.ids():
        for name in ("path", "spare"):
            source, target = (getattr(store.seals.head(each, loop_id), name) for each in (store.root, root))
            if source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
    return FileStore(root, seals=store.seals)


def is_sealed(line: bytes, key: bytes, loop_id: str) -> bool:
    """Whether a line of a journal has a valid seal, found out with the HMAC of the standard library."""
    body, mark, rest = line.rpartition(b',"seal":"')
    derived = hmac.digest(key, f"journal {loop_id}".encode(), hashlib.sha256)
    return bool(mark) and rest[:33] == hmac.digest(derived, body, hashlib.sha256).hex()[:32].encode() + b'"'
