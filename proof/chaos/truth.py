"""Whether what a loop ended with is true: by the checks run again, by the checks' own book, and by what the agents really did."""

from __future__ import annotations

import subprocess
from typing import Any

from proof.chaos import books
from proof.chaos.books import Call
from proof.chaos.case import Case
from proof.chaos.temperaments import MARKER

from untildone.core.loop import Loop
from untildone.core.model import Outcome

REVIEWS = "review"


def false_claims(case: Case, loop: Loop) -> list[str]:
    story = case.story
    gated = bool(story.checks) or is_reviewed(case)
    match loop.outcome:
        case Outcome.VERIFIED:
            untrue = [] if gated else ["verified, and nothing was there to verify it"]
            return [*untrue, *_failing(case), *_unchecked(case), *_not_agreed(case)]
        case Outcome.CLAIMED:
            return ["claimed, and there were checks or a review"] if gated else _not_claimed(case)
        case _:
            return []


def is_reviewed(case: Case) -> bool:
    return case.story.mode == "supervise" or REVIEWS in case.story.settings


def _failing(case: Case) -> list[str]:
    """The harness judges for itself, on what the loop left."""
    codes = {
        check: subprocess.run(check, shell=True, cwd=case.workspace, check=False, timeout=60).returncode
        for check in case.story.checks
    }
    return [f"verified, and {check} ends with {code}" for check, code in codes.items() if code != 0]


def _unchecked(case: Case) -> list[str]:
    """Every check has passed, by its own book, after the last turn in which a worker did something."""
    worked = [call.at for call in case.calls() if call.role == "worker"]
    since = max(worked, default=0.0)
    runs = [run for run in books.checked(case.folder) if run.at > since]
    last = {run.number: run.code for run in runs}
    wrong = [number for number in range(len(case.story.checks)) if last.get(number) != 0]
    return [f"verified, and since the last turn of the worker the checks say {last}: not {wrong}"] if wrong else []


def _not_agreed(case: Case) -> list[str]:
    """A reviewer who only repeats what it was told, or asks for more, has not agreed."""
    if not is_reviewed(case):
        return []
    calls = [call for call in case.calls() if call.heard is not None]
    worked = max((number for number, call in enumerate(calls) if call.role == "worker"), default=-1)
    said = [turn_of(case, call) for call in calls[worked + 1 :] if call.role == "supervisor" and call.answered_at]
    if said and agrees(said[-1]):
        return []
    return [f"verified, and the reviewer's last word was {said[-1] if said else 'never asked for'}"]


def _not_claimed(case: Case) -> list[str]:
    """Nothing checks it, so an agent must at least have said it."""
    if case.story.mode not in ("ralph", "instruct"):
        return []
    role = "instructor" if case.story.mode == "instruct" else "worker"
    said = [turn_of(case, call) for call in case.calls() if call.role == role and call.answered_at]
    claims = bool(said) and agrees(said[-1])
    return [] if claims else [f"claimed, and the {role}'s last word was {said[-1] if said else 'never asked for'}"]


def turn_of(case: Case, call: Call) -> dict[str, Any]:
    """What the script had the agent do in this call."""
    assert call.heard is not None
    turn: dict[str, Any] = case.story.script[call.heard["turn"] - 1]
    return turn


def agrees(turn: dict[str, Any]) -> bool:
    """Whether it means what it says: one who only repeats the words of others has said nothing."""
    return "claim" in turn or MARKER in str(turn.get("say", "")).splitlines()
