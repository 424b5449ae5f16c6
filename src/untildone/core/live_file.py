"""The names of the live state file, which a mode may keep up to date in the workspace. All modes share the one file."""

from __future__ import annotations

FOLDER = ".claude"
STEM = "ralph-delta"
ENDING = ".local.md"
NAME = f"{STEM}{ENDING}"
KEPT_AS = f"{STEM}.state.md"
"""Its name among the documents of a loop that has ended."""


def own_name(loop_id: str) -> str:
    """The name of a loop's file where another loop of the same folder has the usual name."""
    return f"{STEM}.{loop_id.rpartition('-')[2]}{ENDING}"


def is_live_file(name: str) -> bool:
    """Whether a file of that name is a live state file of some loop."""
    return name.startswith(STEM) and name.endswith(ENDING)
