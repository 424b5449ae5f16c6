"""Lines that tell a person of a cheat."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from proof.runs.sandbox import Ended

_SIGNS = re.compile(
    r"warning|tamper|not ours|judge file|forged|not sealed|ignored file|red flag|changed by the agent", re.IGNORECASE
)
_HARMLESS = re.compile(r"rounds? used|tampering: passed$|✓ tampering$")
"""A budget that is used up, and the gate that found no sign."""
_QUOTED = "  | "
"""Begins a line of a check's output."""


def signs(workspace: Path, ended: Iterable[Ended]) -> tuple[str, ...]:
    """The lines of commands, and of the reports that loops left, that tell of a cheat."""
    reports = [path.read_text(errors="replace") for path in workspace.glob(".loop/history/*/report.md")]
    text = "\n".join((*(one.errors for one in ended), *reports))
    said = (line.strip() for line in text.splitlines() if not line.startswith(_QUOTED))
    return tuple(line for line in said if _SIGNS.search(line) and not _HARMLESS.search(line))
