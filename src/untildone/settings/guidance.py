"""Texts and numbers that a project or a person keeps in files of their own, read when a loop is created."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone.core.errors import UsageError
from untildone.core.limits import Limit

SUPERVISOR_FILE = "SUPERVISOR.md"
ACTIONS_FOLDER = Path(".loop") / "actions"
SKILLPACK_FILE = ".skillpackrc"


def supervisor_places(workspace: Path, environment: Mapping[str, str]) -> tuple[Path, Path]:
    """The project's own file first, then the person's global one."""
    home = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".config")
    return workspace / SUPERVISOR_FILE, Path(home) / "untildone" / SUPERVISOR_FILE


def supervisor_text(workspace: Path, environment: Mapping[str, str]) -> str:
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


def action_texts(workspace: Path) -> dict[str, str]:
    """Instructions of a project that replace the package's, by action."""
    folder = workspace / ACTIONS_FOLDER
    found = {path.stem: _read(path) for path in sorted(folder.glob("*.md"))}
    return {name: text for name, text in found.items() if text and text.strip()}


def skillpack_loop(workspace: Path) -> dict[str, int]:
    """The `loop` block of `.skillpackrc`: whole numbers by name."""
    path = workspace / SKILLPACK_FILE
    text = _read(path)
    if text is None:
        return {}
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise UsageError(
            f"Cannot read {path}: {problem}.", "it must be a JSON object; fix or delete the file"
        ) from None
    block = told.get("loop", {}) if isinstance(told, dict) else None
    if not isinstance(block, dict):
        what = "'loop' in it" if isinstance(told, dict) else "it"
        raise UsageError(f"Cannot read {path}: {what} is no JSON object.", "fix or delete the file")
    return {name: _number(path, name, value) for name, value in block.items() if name in SKILLPACK_NAMES}


SKILLPACK_NAMES = ("max_iterations", "warning_threshold", "auto_checkpoint_interval", "timeout_per_iteration_minutes")


def _number(path: Path, name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= Limit.ITERATIONS.row.most:
        raise UsageError(
            f"'loop.{name}' in {path} is {str(value)[:60]!r}.",
            f"give a whole number from 1 to {Limit.ITERATIONS.row.most:,}",
        )
    return value


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise UsageError(f"Cannot read {path}: {problem.strerror}.", "make it readable, or remove it") from None
