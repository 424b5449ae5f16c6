"""The files that untildone itself runs from, which must have no name that a box can write to.

Package managers (`uv`, `pixi`, `pdm`) link what they install from their caches, wherever their settings put these, and boxes may write to
caches: through the other name of a file an agent would change untildone, which runs outside of the box. So a file with other names is
replaced by a copy of itself, once: a file with one name lies nowhere else.
"""

from __future__ import annotations

import errno
import glob
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from untildone.core.errors import UsageError

_OWN = "untildone"
_PLUGINS = ("untildone.agents", "untildone.modes", "untildone.gates")
_SENTENCE = (
    "An agent in the sandbox could change untildone: the file {file} has another name, and cannot be copied: {problem}."
)
_HINT = "install untildone as a copy: with `UV_LINK_MODE=copy` for uv"


_CLEAN: set[object] = set()
"""The last state of the installation (see `_state`) in which no file had another name."""


def keep_apart() -> None:
    """Give every file of this program one name. UsageError if one cannot have that: then a box would not protect it."""
    state = _state()
    if state in _CLEAN:
        return
    if not any(_has_other_names(file) for file in _looked_at()):
        _CLEAN.clear()
        _CLEAN.add(state)
        return
    for file in sorted(filter(_has_other_names, {os.path.realpath(each) for each in _files()})):
        try:
            _copied(file)
        except OSError as problem:
            # Nobody can write to a file system that is read-only.
            if problem.errno != errno.EROFS:
                raise UsageError(_SENTENCE.format(file=file, problem=problem.strerror), _HINT) from None


def places() -> tuple[str, ...]:
    """The folders in which files of this program lie: its package, its environment, and where package managers link to."""
    own = (os.path.realpath(Path(__file__).parents[2]), os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix))
    return tuple(dict.fromkeys((*own, *_linked(_state()))))


@lru_cache(maxsize=1)
def _linked(_: object) -> tuple[str, ...]:
    """The folders to which links in folders of packages lead: `uv` and `pdm` can link what they install from their caches so. The
    argument is the state of the installation."""
    sites = [(folder, os.path.realpath(folder)) for folder in _site_folders()]
    if not any(_leads_away(file, sites) for file in _looked_at()):
        return ()
    found = {os.path.dirname(os.path.realpath(file)) for file in _of_packages() if _leads_away(file, sites)}
    return tuple(sorted(path for path in found if not any(path.startswith(f"{each}{os.sep}") for each in found)))


def _leads_away(file: str, sites: list[tuple[str, str]]) -> bool:
    """Whether a file of a folder of packages lies elsewhere in truth."""
    return any(
        file.startswith(f"{folder}{os.sep}") and not os.path.realpath(file).startswith(f"{real}{os.sep}")
        for folder, real in sites
    )


def _state() -> object:
    """A value that changes when a package is installed or removed, and when this program loads another module."""
    return tuple(os.stat(folder).st_mtime_ns for folder in sorted(_site_folders())), frozenset(sys.modules)


def _looked_at() -> Iterator[str]:
    """One file of every package beside this program, and what is loaded: package managers link all files of a package, or none."""
    for folder in _site_folders():
        yield from glob.glob(os.path.join(glob.escape(folder), "*.dist-info", "METADATA"))
    yield from _loaded()


def _files() -> Iterator[str]:
    """What this program runs, or will."""
    yield from _loaded()
    yield from _mapped()
    for folder in _site_folders():
        # What every interpreter loads at its start.
        yield from (os.path.join(folder, name) for name in os.listdir(folder) if name.endswith((".pth", ".py")))
    yield from _of_packages()
    for prefix in {sys.prefix, sys.base_prefix}:
        # Of an environment that is not only one of Python: libraries that are loaded later.
        yield from glob.glob(os.path.join(glob.escape(prefix), "lib", "*.so*")) if _has_own_libraries(prefix) else ()
    for folder, folders, names in os.walk(sysconfig.get_path("stdlib")):
        folders[:] = [name for name in folders if name not in ("site-packages", "dist-packages")]
        yield from (os.path.join(folder, name) for name in names)


def _has_own_libraries(prefix: str) -> bool:
    return os.path.isdir(os.path.join(prefix, "conda-meta"))


def _loaded() -> Iterator[str]:
    yield from (file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None)))


def _mapped() -> Iterator[str]:
    """The interpreter and the libraries in the memory of this process."""
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        yield from {parts[5].rstrip("\n") for line in maps if (parts := line.split(None, 5))[5:] and parts[5][0] == "/"}


def _site_folders() -> set[str]:
    return {path for name in ("purelib", "platlib") if os.path.isdir(path := sysconfig.get_path(name))}


def _of_packages() -> Iterator[str]:
    """The files of untildone, of its plugins, and of all packages that these need."""
    from importlib import metadata

    waiting = [_OWN]
    for group in _PLUGINS:
        waiting += [point.dist.name for point in metadata.entry_points(group=group) if point.dist]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        with suppress(metadata.PackageNotFoundError):
            package = metadata.distribution(name)
            yield from (str(file.locate()) for file in package.files or ())
            waiting += map(_name_in, package.requires or ())


def _name_in(requirement: str) -> str:
    """The name of a package in what another one says that it needs: `httpx>=0.27; extra == "serve"`."""
    end = next((at for at, letter in enumerate(requirement) if not (letter.isalnum() or letter in "-_.")), None)
    return requirement[:end]


def _has_other_names(file: str) -> bool:
    """Whether a file has other names, and programs of the person could write to it, or allow themselves to."""
    try:
        found = os.stat(file)
    except OSError:
        return False
    return found.st_nlink > 1 and (found.st_uid == os.geteuid() or os.access(file, os.W_OK))


def _copied(file: str) -> None:
    """Replace a file by a copy of itself, with its owner and times: Python compares them with those in its caches."""
    descriptor, draft = tempfile.mkstemp(prefix=".copy-", dir=os.path.dirname(file))
    os.close(descriptor)
    try:
        found = os.stat(file)
        with suppress(PermissionError):
            os.chown(draft, found.st_uid, found.st_gid)
        shutil.copy2(file, draft)
        os.replace(draft, file)
    finally:
        with suppress(OSError):
            os.unlink(draft)
