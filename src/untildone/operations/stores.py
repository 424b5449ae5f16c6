"""Opens the store of a folder, and names the store types that faces pass from one operation to the next."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from untildone.store import Group, Journal, Journals, Records, Spool, Store, files, layout, places
from untildone.store.files import FileStore

__all__ = [
    "FileStore",
    "Group",
    "Journal",
    "Journals",
    "Records",
    "Spool",
    "Store",
    "database_of",
    "is_nearest",
    "open_files",
    "open_store",
    "without_password",
]


def open_store(folder: Path, environment: Mapping[str, str] = os.environ, *, create: bool = False) -> Store:
    """The database in the environment or the settings; else the files of the folder, or of the nearest parent that has loops."""
    return places.open_store(folder, environment, create=create)


def open_files(folder: Path, environment: Mapping[str, str] = os.environ, *, create: bool = False) -> FileStore:
    """The store in files, even if a database is named: loops of an agent's own session are always kept in files."""
    return files.open_store(folder, environment, create=create)


def database_of(folder: Path, environment: Mapping[str, str] = os.environ) -> str | None:
    """The address of the database that keeps the folder's loops; None if they are kept in files."""
    return places.named(folder, environment)


def without_password(address: str) -> str:
    """The address of a database without its password, to show it."""
    from untildone.store.postgres import addresses

    return addresses.without_password(address)


def is_nearest(store: Store, folder: Path) -> bool:
    """Whether a command in the folder opens this store without --dir or --store."""
    return store.root is not None and layout.find_root(folder) == store.root.resolve()
