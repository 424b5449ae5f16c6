"""Gates as lines of text."""

from __future__ import annotations

from untildone.core.limits import duration
from untildone.core.model import GateResult
from untildone.core.receipts.proving import PROOFS
from untildone.faces.text.line import SHOWN_TAIL, Kind, Line
from untildone.faces.text.plain import one_line

LONGEST_REASON = 1000
"""Characters of a reason that are shown. Many, because it ends with what to do about it."""
TRIALS_SHOWN = 10
"""How many of many trials are shown as lines."""


def of_gate_start(command: str) -> Line:
    """A gate that starts to run."""
    return Line(f"gate: {one_line(command)} …", Kind.QUIET)


def is_shown_trial(number: int, total: int) -> bool:
    """Whether a trial is shown where each takes a line: every one of few, every tenth part of many."""
    return total <= TRIALS_SHOWN or number * TRIALS_SHOWN // total != (number - 1) * TRIALS_SHOWN // total


def of_trial(proof: str, number: int, total: int, about: str) -> Line:
    """A trial of a proof that starts to run."""
    return Line(f"  {proof.replace('_', ' ')} {number} of {total}: {one_line(about)}", Kind.QUIET)


def of_gate(result: GateResult) -> tuple[Line, ...]:
    """The result of a gate; if it failed, with the end of its output and notes about the room."""
    name = one_line(result.command or result.gate.replace("_", " "))
    took = f" ({duration(result.seconds)})" if result.seconds >= 1 else ""
    if nothing := proves_nothing(result):
        return (Line(f"gate: {name}: {nothing}{took}", Kind.QUIET),)
    if result.passed:
        return (Line(f"gate: {name}: passed{took}", Kind.GOOD),)
    tail = [line for line in result.tail.splitlines() if line.strip()][-SHOWN_TAIL:]
    shown = tuple(Line(f"  | {one_line(line)}", Kind.QUIET) for line in tail)
    new = (note for note in result.notes if note != result.tail)
    notes = tuple(Line(f"  {one_line(note, LONGEST_REASON)}", Kind.WARNING) for note in new)
    reason = one_line(result.reason or "no reason given", LONGEST_REASON)
    return (Line(f"gate: {name}: failed: {reason}{took}", Kind.BAD), *shown, *notes)


def proves_nothing(result: GateResult) -> str:
    """What a proof that did not apply says, with its reason. Empty for other results: gates that are no proofs just hold."""
    if not result.passed or result.proves or result.gate not in PROOFS:
        return ""
    return one_line(": ".join(("proves nothing", *result.notes[:1])), LONGEST_REASON)
