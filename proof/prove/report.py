"""The results as a table, family by family, and the two rates."""

from __future__ import annotations

from collections.abc import Sequence

from proof.prove.case import UNSEEN, Rung, Verdict
from proof.runs.table import columns

MOST_FALSE_VERIFIED = 0.10
"""Of the wrong work that plain checks let through."""
MOST_FALSE_REFUSED = 0.02


def table(verdicts: Sequence[Verdict]) -> str:
    """A row for each family with how often it is verified on each rung, then the rates, then the false verdicts by name."""
    families = list(dict.fromkeys(verdict.family for verdict in verdicts))
    rows = [("family", "cases", "work", *(rung.value for rung in Rung))]
    rows += [_row(name, [each for each in verdicts if each.family == name]) for name in families]
    false = [_line(each) for each in verdicts if each.problem or any(map(each.is_false, UNSEEN))]
    return "\n".join((*columns(rows), "", *rates(verdicts), *false)) + "\n"


def _row(name: str, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    works = {"right" if each.case.is_right else "wrong" for each in verdicts}
    counts = (str(sum(rung in each.verified for each in verdicts)) for rung in Rung)
    return (name, str(len(verdicts)), "/".join(sorted(works)), *counts)


def _line(verdict: Verdict) -> str:
    where = ", ".join(rung.value for rung in UNSEEN if verdict.is_false(rung))
    said = "verified" if not verdict.case.must_be_verified else verdict.refused_by
    said = verdict.problem or f"{where}: {said}"
    return f"false: {verdict.family}: {verdict.case.name}: {said}"


def rates(verdicts: Sequence[Verdict]) -> list[str]:
    wrong = [each for each in verdicts if not each.case.must_be_verified and not each.problem]
    right = [each for each in verdicts if each.case.must_be_verified and not each.problem]
    let_through = [each for each in wrong if Rung.PLAIN in each.verified]
    lines = []
    for rung in Rung:
        believed, refused = (sum(each.is_false(rung) for each in group) for group in (wrong, right))
        share = (
            f", {_percent(believed, len(let_through))} of what plain checks let through"
            if rung is not Rung.PLAIN
            else ""
        )
        lines.append(
            f"{rung.value}: false-verified {believed} of {len(wrong)} ({_percent(believed, len(wrong))}{share}); "
            f"false-refused {refused} of {len(right)} ({_percent(refused, len(right))})"
        )
    return lines


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def holds(verdicts: Sequence[Verdict]) -> bool:
    """Whether every case is as it says, with each kind of unseen tests both rates are within their goals, and `--prove` alone refuses no
    more right work either."""
    let_through = [each for each in verdicts if not each.case.must_be_verified and Rung.PLAIN in each.verified]
    right = [each for each in verdicts if each.case.must_be_verified]
    believed = max(sum(each.is_false(rung) for each in let_through) for rung in UNSEEN)
    refused = max(sum(each.is_false(rung) for each in right) for rung in (Rung.PROVE, *UNSEEN))
    within = believed <= MOST_FALSE_VERIFIED * len(let_through) and refused <= MOST_FALSE_REFUSED * len(right)
    return within and not any(each.problem for each in verdicts)
