"""The names of the live state file in the workspace. A mode may keep it up to date; all modes use the same name."""

from __future__ import annotations

FOLDER = ".claude"
STEM = "ralph-delta"
ENDING = ".local.md"
NAME = f"{STEM}{ENDING}"
KEPT_AS = f"{STEM}.state.md"
"""Its name among the documents of a loop that has ended."""


def own_name(loop_id: str) -> str:
    """The name of a loop's file if another loop in the same folder has the usual name."""
    return f"{STEM}.{loop_id.rpartition('-')[2]}{ENDING}"


def is_live_file(name: str) -> bool:
    """Whether a file of that name is a live state file of some loop."""
    return name.startswith(STEM) and name.endswith(ENDING)
