"""Checks that the outcome of a loop is true: reruns the checks, and reads the logs of checks and agents."""

from __future__ import annotations

import subprocess
from typing import Any

from proof.chaos import call_log
from proof.chaos.agent_scripts import AGREED, MARKER
from proof.chaos.call_log import Call
from proof.chaos.case import Case

from untildone.core.loop import Loop
from untildone.core.model import Outcome

REVIEWS = "review"


def outcome_problems(case: Case, loop: Loop) -> list[str]:
    """Reasons why `verified` or `claimed` is false for this loop."""
    story = case.story
    gated = bool(story.checks) or is_reviewed(case)
    match loop.outcome:
        case Outcome.VERIFIED:
            untrue = [] if gated else ["verified, but the story has no gate"]
            return [*untrue, *_failing(case), *_unchecked(case), *_not_agreed(case)]
        case Outcome.CLAIMED:
            return ["claimed, but the story has checks or a review"] if gated else _not_claimed(case)
        case _:
            return []


def is_reviewed(case: Case) -> bool:
    return case.story.mode == "supervise" or REVIEWS in case.story.settings


def _failing(case: Case) -> list[str]:
    """Run the checks again on the final workspace; report those that fail."""
    codes = {
        check: subprocess.run(check, shell=True, cwd=case.workspace, check=False, timeout=60).returncode
        for check in case.story.checks
    }
    return [f"verified, but {check} exits with {code}" for check, code in codes.items() if code != 0]


def _unchecked(case: Case) -> list[str]:
    """By the log of the checks, each one must have passed after the worker's last turn."""
    worked = [call.at for call in case.calls() if call.role == "worker"]
    since = max(worked, default=0.0)
    runs = [run for run in call_log.check_runs(case.folder) if run.at > since]
    last = {run.number: run.code for run in runs}
    failed = [number for number in range(len(case.story.checks)) if last.get(number) != 0]
    return [f"verified, but checks {failed} have not passed since the worker's last turn: {last}"] if failed else []


def _not_agreed(case: Case) -> list[str]:
    """The reviewer must agree after the worker's last turn. Repeating the prompt does not count."""
    if not is_reviewed(case):
        return []
    calls = [call for call in case.calls() if call.request is not None]
    worked = max((number for number, call in enumerate(calls) if call.role == "worker"), default=-1)
    turns = [turn_of(case, call) for call in calls[worked + 1 :] if call.role == "supervisor" and call.answered_at]
    if turns and agrees(turns[-1]):
        return []
    return [f"verified, but the reviewer's last turn was {turns[-1] if turns else 'none'}"]


def _not_claimed(case: Case) -> list[str]:
    """Without gates, an agent must at least have claimed that the task is done."""
    if case.story.mode not in ("ralph", "instruct"):
        return []
    role = "instructor" if case.story.mode == "instruct" else "worker"
    turns = [turn_of(case, call) for call in case.calls() if call.role == role and call.answered_at]
    claims = bool(turns) and agrees(turns[-1])
    return [] if claims else [f"claimed, but the {role}'s last turn was {turns[-1] if turns else 'none'}"]


def turn_of(case: Case, call: Call) -> dict[str, Any]:
    """The turn of the script that the agent played in this call."""
    assert call.request is not None
    turn: dict[str, Any] = case.story.script[call.request["turn"] - 1]
    return turn


def agrees(turn: dict[str, Any]) -> bool:
    """Whether the script makes the agent claim or agree. An `echo` turn repeats the prompt and does neither."""
    return "claim" in turn or not {MARKER, AGREED}.isdisjoint(str(turn.get("say", "")).splitlines())
