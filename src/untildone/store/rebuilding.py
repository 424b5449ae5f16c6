"""Rebuilds a loop whose checkpoint, backups and first journal entry are all lost."""

from __future__ import annotations

from pathlib import Path

from untildone.core.apply import apply
from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status
from untildone.core.values.value import replace
from untildone.store.journal import Writing
from untildone.store.layout import Places
from untildone.store.lines import DamagedLine
from untildone.store.reading import LineReader

FIRST_ENTRY = "created.json"
"""A copy of the first line of the journal, which creates the loop."""


def first_entry(places: Places, writing: Writing) -> Entry | None:
    """The entry that created the loop, from its copy; None if that is lost too, or has no valid seal."""
    try:
        return (
            LineReader(writing.loop_id, writing.seal)
            .read((places.progress / FIRST_ENTRY).read_bytes().rstrip(b"\n"))
            .entry
        )
    except (OSError, DamagedLine):
        return None


def rebuilt(places: Places, first: Entry) -> Loop:
    """The loop as created, with the number of iterations from its output files. It is paused until a person resumes it."""
    loop = apply(None, first)
    spend = replace(loop.spend, iterations=_iterations(places.output))
    return replace(loop, spend=spend, status=Status.PAUSED, outcome=Outcome.INTERRUPTED)


def _iterations(output: Path) -> int:
    names = (path.stem for path in output.glob("[0-9]*.jsonl"))
    return max((int(name) for name in names if name.isdecimal()), default=0)
