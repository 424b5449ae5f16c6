"""Chooses the store: the database named by a flag, the environment or a settings file, else the files of the folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from untildone.core.errors import UsageError
from untildone.core.protection.secrets import Redactor
from untildone.store import Store, files, layout
from untildone.system import trust

VARIABLE = "UNTILDONE_STORE"
PROJECT_FILE = "untildone.toml"
Warn = Callable[[str], None]


def open_store(
    folder: Path, environment: Mapping[str, str], *, create: bool = False, warn: Warn | None = None
) -> Store:
    """The store that the environment or a settings file names, else the files of `folder` (see `files.open_store`).

    With `warn`, a settings file that cannot be read is passed over, and `warn` gets a sentence about it.
    """
    address = named(folder, environment, warn)
    if address is None:
        return files.open_store(folder, environment, create=create)
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", "give an existing one with --dir")
    from untildone.store.postgres.store import PostgresStore

    # The password is a secret wherever it comes from.
    secrets = Redactor.from_environment({**environment, VARIABLE: address})
    return PostgresStore(address, secrets, home=folder.resolve())


def named(folder: Path, environment: Mapping[str, str], warn: Warn | None = None) -> str | None:
    """The address of the database, if one is named. The environment wins over files; an empty address means none."""
    if VARIABLE in environment:
        return environment[VARIABLE] or None
    return next(_in_files(folder, environment, warn), None) or None


def settings_files(folder: Path, environment: Mapping[str, str]) -> tuple[Path, Path]:
    """The settings files: the user's own, then the project's. Neither need exist."""
    return own_settings(environment), of_project(folder, PROJECT_FILE)


def own_settings(environment: Mapping[str, str]) -> Path:
    """The user's own settings file, which need not exist."""
    home = environment.get("XDG_CONFIG_HOME") or os.path.join(
        os.path.expanduser(environment.get("HOME", "~")), ".config"
    )
    return Path(environment.get("UNTILDONE_CONFIG") or os.path.join(home, "untildone", "config.toml"))


def of_project(folder: Path, name: str) -> Path:
    """The nearest file of that name, from a folder up to the root of its git repository; if there is none, the folder's own.

    Outside of a repository only the folder itself counts.
    """
    candidates = candidates_in_project(folder, name)
    return next((path for path in candidates if _counts(path)), candidates[0])


def candidates_in_project(folder: Path, name: str) -> tuple[Path, ...]:
    """Where a file of that name may be, nearest first: in the folder, and above it up to the root of its git repository."""
    own = folder / name
    try:
        return (own, *(each / name for each in _up_to_repository(folder.resolve())))
    except OSError:
        return (own,)


def _counts(path: Path) -> bool:
    """Whether there is such a file, or one that cannot be read, but none that appeared during a loop and was not accepted."""
    try:
        return trust.content(path) is not None
    except OSError:
        return True


def _up_to_repository(folder: Path) -> tuple[Path, ...]:
    """The folders above `folder`, nearest first, as far as the root of the repository that it is in."""
    folders: list[Path] = []
    for each in (folder, *folder.parents):
        folders.append(each)
        if (each / ".git").exists():
            return tuple(folders[1:])
    return ()


def _in_files(folder: Path, environment: Mapping[str, str], warn: Warn | None) -> Iterator[str]:
    own, project = settings_files(folder, environment)
    for path in dict.fromkeys((project, layout.find_root(folder.resolve()).parent / PROJECT_FILE, own)):
        try:
            address = _store_setting(path)
        except UsageError as problem:
            if warn is None:
                raise
            warn(f"{problem.sentence} It is passed over.")
            continue
        if address is not None:
            yield address


def _store_setting(path: Path) -> str | None:
    """The setting `store` of a file, read alone: validating all settings would take longer than most commands."""
    try:
        content = trust.content(path)
    except OSError:
        return None
    if content is None or b"store" not in content:
        return None
    import tomllib

    try:
        address = tomllib.loads(content.decode()).get("store")
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"Cannot read the settings in {path}: {problem}.", "fix or delete the file") from None
    return address if isinstance(address, str) else None
