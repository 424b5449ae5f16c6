"""Chooses the store: the database named by a flag, the environment or a settings file, else the files of the folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from untildone.core.errors import UsageError
from untildone.core.secrets import Redactor
from untildone.store import Store, files, layout

VARIABLE = "UNTILDONE_STORE"
PROJECT_FILE = "untildone.toml"


def open_store(folder: Path, environment: Mapping[str, str], *, create: bool = False) -> Store:
    """The store that the environment or a settings file names, else the files of `folder` (see `files.open_store`)."""
    address = named(folder, environment)
    if address is None:
        return files.open_store(folder, Redactor.from_environment(environment), create=create)
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", "give an existing one with --dir")
    from untildone.store.postgres.store import PostgresStore

    # The password is a secret wherever it comes from.
    secrets = Redactor.from_environment({**environment, VARIABLE: address})
    return PostgresStore(address, secrets, home=folder.resolve())


def named(folder: Path, environment: Mapping[str, str]) -> str | None:
    """The address of the database, if one is named. The environment wins over files; an empty address means none."""
    if VARIABLE in environment:
        return environment[VARIABLE] or None
    return next(_in_files(folder, environment), None) or None


def settings_files(folder: Path, environment: Mapping[str, str]) -> tuple[Path, Path]:
    """The settings files: the user's own, then the project's. Neither need exist."""
    home = environment.get("XDG_CONFIG_HOME") or os.path.join(
        os.path.expanduser(environment.get("HOME", "~")), ".config"
    )
    own = environment.get("UNTILDONE_CONFIG") or os.path.join(home, "untildone", "config.toml")
    return Path(own), of_project(folder, PROJECT_FILE)


def of_project(folder: Path, name: str) -> Path:
    """The nearest file of that name, from a folder up to the root of its git repository; if there is none, the folder's own.

    Outside of a repository only the folder itself counts.
    """
    own = folder / name
    try:
        above = _up_to_repository(folder.resolve())
    except OSError:
        return own
    return next((path for path in (own, *(each / name for each in above)) if path.exists()), own)


def _up_to_repository(folder: Path) -> tuple[Path, ...]:
    """The folders above `folder`, nearest first, as far as the root of the repository that it is in."""
    found: list[Path] = []
    for each in (folder, *folder.parents):
        found.append(each)
        if (each / ".git").exists():
            return tuple(found[1:])
    return ()


def _in_files(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    own, project = settings_files(folder, environment)
    for path in (project, layout.find_root(folder.resolve()).parent / PROJECT_FILE, own):
        try:
            content = path.read_bytes()
        except OSError:
            continue
        if b"store" in content and (address := _store_setting(content, path)) is not None:
            yield address


def _store_setting(content: bytes, path: Path) -> str | None:
    """The setting `store`, read alone: validating all settings would take longer than most commands."""
    import tomllib

    try:
        address = tomllib.loads(content.decode()).get("store")
    except ValueError as problem:
        raise UsageError(f"Cannot read the settings in {path}: {problem}.", "fix or delete the file") from None
    return address if isinstance(address, str) else None
