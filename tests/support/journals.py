"""Reading the journals of loops while their runners write and archive them."""

from __future__ import annotations

import os
from pathlib import Path


def journal_files(folder: Path) -> list[Path]:
    """The journals in a `.loop` folder. Unlike `glob`, this does not fail when a temporary folder vanishes meanwhile."""
    name = "execution.log.jsonl"
    return [Path(place) / name for place, _, files in os.walk(folder) if name in files]


def journal_lines(folder: Path) -> list[str]:
    """The whole lines of the first journal in a `.loop` folder; none if it was just moved to the history."""
    try:
        text = "".join(path.read_text() for path in journal_files(folder)[:1])
    except FileNotFoundError:
        return []
    return [line for line in text.splitlines() if line.endswith("}")]
