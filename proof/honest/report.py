"""The results as a table, group by group."""

from __future__ import annotations

from collections.abc import Sequence

from proof.honest.case import Result, Verdict
from proof.runs.table import columns


def table(verdicts: Sequence[Verdict]) -> str:
    """A row for each group and one for all, then what went wrong by name."""
    groups = list(dict.fromkeys(verdict.group for verdict in verdicts))
    rows = [("group", "cases", *(result.value for result in Result))]
    rows += [_row(name, [each for each in verdicts if each.group == name]) for name in groups]
    if len(groups) > 1:
        rows.append(_row("all", verdicts))
    wrong = [f"wrong: {each.group}: {each.case.name}: {each.result.value}" for each in verdicts if each.is_wrong]
    return "\n".join((*columns(rows), "", *_alarms(verdicts), *wrong)) + "\n"


def _alarms(verdicts: Sequence[Verdict]) -> list[str]:
    """How often work was refused or warned of without a reason, and how often rightly."""
    judged = [each for each in verdicts if each.result is not Result.LEFT_OUT]
    false = sum(each.is_wrong for each in judged)
    right = sum(each.result is Result.CONTRADICTED for each in judged)
    share = f"{100 * false / len(judged):.1f} %" if judged else "none played"
    said = f"false alarms: {false} of {len(judged)} ({share})"
    return [f"{said}; {right} rightly refused, because existing tests fail on the work" if right else said]


def _row(name: str, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    counts = (sum(each.result is result for each in verdicts) for result in Result)
    return (name, str(len(verdicts)), *map(str, counts))
