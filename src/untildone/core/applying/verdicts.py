"""The loop after an answer was read, and after gates and checks ran."""

from __future__ import annotations

from untildone.core.answers import gate_output, subtasks
from untildone.core.events import (
    AcceptanceRan,
    AnswerRead,
    BaselineRan,
    GatesRan,
    GateStarted,
)
from untildone.core.loop import Loop, RunningGate
from untildone.core.model import (
    BeforeWork,
    Usage,
)
from untildone.core.values.value import replace


def tried(loop: Loop, event: BaselineRan | AcceptanceRan) -> Loop:
    """The loop after its checks, or its acceptance tests, ran before any work. Acceptance tests that no check runs do not count: the author
    is asked again."""
    loop, written = _after_gates(loop, event.seconds), loop.acceptance
    if isinstance(event, BaselineRan):
        return replace(loop, baseline=event.results)
    are_run = any(each.said is not BeforeWork.NOT_RUN for each in event.results)
    return replace(loop, acceptance=written and replace(written, tried=event.results) if are_run else None)


def _read(loop: Loop, event: AnswerRead) -> Loop:
    return replace(
        loop,
        turn=None,
        answer=None,
        live_state=None,
        live_before="",
        live_in_turn=False,
        live_resumed=False,
        claimed=event.claimed,
        blocked=event.blocked,
        gates=() if event.claimed and not loop.claimed else loop.gates,
        needed=event.needed if event.claimed and not loop.claimed else loop.needed,
        checked="" if event.claimed and not loop.claimed else loop.checked,
        stall=replace(loop.stall, answer="", answers=0) if event.progressed else loop.stall,
        fruitless=0 if event.progressed else loop.fruitless,
        skill_state=loop.skill_state if event.skill_state is None else event.skill_state,
        tasks=subtasks.changed(loop.tasks, event.tasks),
    )


def _after_gates(loop: Loop, seconds: float) -> Loop:
    """The loop with the time that gates took."""
    return replace(loop, spend=loop.spend.plus(seconds, Usage()), gate_seconds=loop.gate_seconds + seconds)


def claimed(loop: Loop, event: AnswerRead | GateStarted | GatesRan, at: float) -> Loop:
    """The loop after an answer was read, or after gates started or ran."""
    match event:
        case AnswerRead():
            return _read(loop, event)
        case GateStarted(command=command):
            return replace(loop, gate=RunningGate(command, at))
        case GatesRan():
            return _judged(loop, event)


def _judged(loop: Loop, event: GatesRan) -> Loop:
    if event.weighs:
        from untildone.core.history import ratchet  # the stop hook imports this module for every stop

        return ratchet.weighed(_after_gates(loop, event.seconds), event)
    loop = replace(loop, blocked="", refuted=True) if loop.blocked else loop
    results = (*loop.gates, *event.results)
    failed = tuple(result for result in results if not result.passed)
    loop = replace(_after_gates(loop, event.seconds), turn=None, answer=None, gates=results, gate=None)
    loop = replace(loop, claimed=loop.claimed and not failed, checked=event.seen or loop.checked)
    loop = replace(loop, signs=event.signs or loop.signs)
    if not failed:
        return loop
    check = gate_output.signature(failed)
    again = loop.stall.unchanged and check == loop.stall.check
    checks = loop.stall.checks + 1 if again else int(loop.stall.unchanged)
    return replace(
        loop, stall=replace(loop.stall, check=check, checks=checks), fruitless=_fruitless_after_gates(loop, check)
    )


def _fruitless_after_gates(loop: Loop, check: str) -> int:
    """Rounds without progress after gates failed. A round that changed nothing is counted already."""
    if check != loop.stall.check:
        return 0
    return loop.fruitless if loop.stall.unchanged else loop.fruitless + 1
