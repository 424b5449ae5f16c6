"""The `loop` block of `.skillpackrc`: limits of a loop in phases, set in a file of the project."""

from __future__ import annotations

import json
from collections.abc import Mapping

from untildone.core.errors import UsageError
from untildone.core.limits import Limit
from untildone.core.plugins.mode import FromFiles
from untildone.core.values.hints import Any
from untildone.modes.phases.options import SKILLPACK

FILE = ".skillpackrc"
NAMES = ("max_iterations", "warning_threshold", "auto_checkpoint_interval", "timeout_per_iteration_minutes")


def from_files(texts: Mapping[str, str]) -> FromFiles:
    """The limits that the file sets. Raises UsageError if it cannot be read."""
    block = {name: value for path, text in texts.items() for name, value in _loop_block(path, text).items()}
    minutes = block.get("timeout_per_iteration_minutes")
    return FromFiles(
        options={SKILLPACK: block},
        iterations=block.get("max_iterations"),
        iteration_timeout=None if minutes is None else minutes * 60.0,
        warn_from=block.get("warning_threshold"),
    )


def _loop_block(path: str, text: str) -> dict[str, int]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise UsageError(
            f"Cannot read {path}: {problem}.", "it must be a JSON object; fix or delete the file"
        ) from None
    block = whole.get("loop", {}) if isinstance(whole, dict) else None
    if not isinstance(block, dict):
        what = "'loop' in it" if isinstance(whole, dict) else "it"
        raise UsageError(f"Cannot read {path}: {what} is not a JSON object.", "fix or delete the file")
    return {name: _number(path, name, value) for name, value in block.items() if name in NAMES}


def _number(path: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= Limit.ITERATIONS.row.most:
        raise UsageError(
            f"'loop.{name}' in {path} is {str(value)[:60]!r}.",
            f"give a whole number from 1 to {Limit.ITERATIONS.row.most:,}",
        )
    return value
