"""Reads the files of a project or a person that say more about a new loop: SUPERVISOR.md, and the files of its mode."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from untildone import modes
from untildone.core.errors import UsageError
from untildone.core.plugins.mode import FromFiles, Mode
from untildone.store import layout, places
from untildone.system import trust
from untildone.system.trust import Watched

SUPERVISOR_FILE = "SUPERVISOR.md"


def supervisor_places(workspace: Path, environment: Mapping[str, str]) -> tuple[Path, Path]:
    """The project's file (the nearest, up to the root of its repository), then the user's global one."""
    return places.of_project(workspace, SUPERVISOR_FILE), _own_supervisor(environment)


def _own_supervisor(environment: Mapping[str, str]) -> Path:
    home = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".config")
    return Path(home) / "untildone" / SUPERVISOR_FILE


def supervisor_text(workspace: Path, environment: Mapping[str, str]) -> str:
    """The text of the first supervisor file that exists. UsageError if there is none, or it is empty."""
    for path in supervisor_places(workspace, environment):
        text = _read(path)
        if text is None:
            continue
        if not text.strip():
            raise UsageError(f"{path} is empty.", "say in it what the supervisor should look at, or delete it")
        return text
    raise UsageError(
        f"There is no {SUPERVISOR_FILE} in {workspace}, and no global one.",
        "`untildone supervisor init` writes a good starter",
    )


def from_files(mode: Mode, workspace: Path) -> FromFiles:
    """What the mode reads from its files in the workspace for a new loop. Reads each file once."""
    paths = (path for pattern in mode.files for path in trust.matching(_absolute(workspace, pattern)))
    texts = {path: _read(Path(path)) for path in paths}
    return mode.from_files({path: text for path, text in texts.items() if text is not None})


def watched(workspace: Path, environment: Mapping[str, str], mode_names: Iterable[str] = ()) -> Watched:
    """The files that steer the loops of a workspace: settings, SUPERVISOR.md, the files of the modes."""
    names = (places.PROJECT_FILE, SUPERVISOR_FILE)
    folders = dict.fromkeys((workspace, layout.find_root(workspace).parent))
    of_project = (path for folder in folders for name in names for path in places.candidates_in_project(folder, name))
    own = (places.own_settings(environment), _own_supervisor(environment))
    every = dict.fromkeys((*modes.own_names(), *mode_names))
    patterns = (_absolute(workspace, pattern) for name in every for pattern in modes.find(name).files)
    paths = dict.fromkeys(os.path.abspath(path) for path in (*of_project, *own))
    return Watched(tuple(paths), tuple(patterns))


def _absolute(workspace: Path, pattern: str) -> str:
    return os.path.join(glob.escape(os.path.abspath(workspace)), pattern)


def _read(path: Path) -> str | None:
    """The text of a file as it counts (see `system.trust`); None: there is none."""
    try:
        content = trust.content(path)
        return None if content is None else content.decode("utf-8", "replace")
    except OSError as problem:
        raise UsageError(f"Cannot read {path}: {problem.strerror}.", "make it readable, or delete it") from None
