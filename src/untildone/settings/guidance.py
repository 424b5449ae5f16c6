"""Reads the files of a project or a person that say more about a new loop: SUPERVISOR.md, and the files of its mode."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from untildone.core.errors import UsageError
from untildone.core.mode import FromFiles, Mode
from untildone.store import places

SUPERVISOR_FILE = "SUPERVISOR.md"


def supervisor_places(workspace: Path, environment: Mapping[str, str]) -> tuple[Path, Path]:
    """The project's file (the nearest, up to the root of its repository), then the user's global one."""
    home = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".config")
    return places.of_project(workspace, SUPERVISOR_FILE), Path(home) / "untildone" / SUPERVISOR_FILE


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
    paths = (path for pattern in mode.files for path in sorted(workspace.glob(pattern)))
    texts = {str(path): _read(path) for path in paths}
    return mode.from_files({path: text for path, text in texts.items() if text is not None})


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise UsageError(f"Cannot read {path}: {problem.strerror}.", "make it readable, or delete it") from None
