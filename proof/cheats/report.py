"""The results as a table, family by family."""

from __future__ import annotations

from collections.abc import Sequence

from proof.cheats.case import Expected, Result, Verdict
from proof.runs.table import columns

HEAD = ("family", "cases", "refused", "believed", "noticed", "out of reach", "holes")


def table(verdicts: Sequence[Verdict]) -> str:
    """A row for each family and one for all, then the holes by name."""
    families = list(dict.fromkeys(verdict.family for verdict in verdicts))
    rows = [HEAD, *(_row(name, [each for each in verdicts if each.family == name]) for name in families)]
    if len(families) > 1:
        rows.append(_row("all", verdicts))
    holes = [f"hole: {each.family}: {each.cheat.name}: {each.result.value}" for each in verdicts if each.is_hole]
    return "\n".join((*columns(rows), "", *holes)) + "\n"


def _row(name: str, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    believed = [each for each in verdicts if each.result is Result.BELIEVED]
    counts = (
        len(verdicts),
        sum(each.result is Result.REFUSED for each in verdicts),
        len(believed),
        sum(each.is_noticed for each in verdicts),
        sum(each.cheat.expected is Expected.OUT_OF_REACH for each in believed),
        sum(each.is_hole for each in verdicts),
    )
    return (name, *map(str, counts))
