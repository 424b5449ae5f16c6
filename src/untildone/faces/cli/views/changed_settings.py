"""Asks the person about settings files that changed while a loop ran, before a new loop uses them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from untildone.faces.cli import streams
from untildone.faces.cli.views import menus
from untildone.faces.text.plain import one_line
from untildone.operations import trust
from untildone.operations.trust import Change

SHOWN = 20
"""How many lines of a change the question shows."""
USE, LEAVE = "use it as it is now", "use it as it was before"


def resolve(folder: Path, environment: Mapping[str, str], *, accept: bool, asking: bool) -> None:
    """Accept the changes, or ask the person about each if there is one at a terminal."""
    at_terminal = asking and bool(sys.stdin and sys.stdin.isatty()) and streams.talk().is_terminal
    for change in trust.changes(folder, environment):
        if accept or (at_terminal and not change.declined and _wants(change)):
            trust.accept(change, environment)
            streams.talk().prose(f"Accepted: {change.path}")
        elif at_terminal:
            trust.decline(change, environment)


def _wants(change: Change) -> bool:
    title = f"{Path(change.path).name} changed while loop {change.loop_id} ran"
    lines = [one_line(line) for line in trust.diff(change)]
    more = [f"… and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
    return menus.pick(title, (change.path, *lines[:SHOWN], *more), (USE, LEAVE)) == USE
