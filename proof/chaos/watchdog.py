"""Plays one story: starts the loop, injects the faults, keeps the loop going and brings it to its end."""

from __future__ import annotations

import time
from contextlib import suppress

from proof.chaos import controls, faults, invariants
from proof.chaos.case import Case

from untildone.core.errors import UntilDoneError
from untildone.core.loop import Loop
from untildone.core.model import Outcome

APPEARS_WITHIN = 60.0
"""Seconds within which a started loop must exist in the store."""
MOST_TRIES, MOST_STOPS = 25, 5
"""How often a loop is resumed before it is stopped, and how often the stop is repeated."""
QUIET = 12.0
"""Seconds after which a waiting loop is resumed: it may wait for a limit by a clock that was moved."""
IDLE = 45.0
"""Seconds for which a runner may do nothing on a busy machine. The next step usually takes hundredths of a second."""


def play(case: Case, faults_until: float, patience_until: float) -> None:
    """Play a story until its loop has ended, and check all invariants.

    No fault is injected after `faults_until`; a loop that runs after `patience_until` is stopped.
    """
    case.begin()
    _wait_until_created(case)
    for fault in case.story.faults:
        if time.monotonic() >= faults_until or not case.tend():
            break
        time.sleep(fault.after)
        case.history.append(f"{time.strftime('%H:%M:%S')} {fault.kind}")
        case.tally.fault(fault.kind, effective=faults.KINDS[fault.kind](case, fault.draw))
        invariants.after_fault(case)
    case.sandbox.move_clock(0)
    come_to_rest(case, patience_until)
    case.tally.invariant(case.story.number, "no runner is idle", [])
    invariants.at_rest(case)


def _wait_until_created(case: Case) -> None:
    deadline = time.monotonic() + APPEARS_WITHIN
    while not case.find():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the loop did not exist after {APPEARS_WITHIN} s")
        if not case.tend():
            return
        time.sleep(0.05)


def come_to_rest(case: Case, patience_until: float) -> None:
    """Resume the loop until it ends; stop it when time is up. No more faults are injected, so it must end."""
    loop: Loop | None = None
    tries = 0
    while (loop := _wait_for_rest(case)) is None or not loop.status.ended:
        tries += 1
        late = time.monotonic() > patience_until
        if tries > MOST_TRIES + MOST_STOPS:
            break
        if late or tries > MOST_TRIES:
            case.tally.note("loops stopped because the time was up" if late else "loops stopped after too many resumes")
            case.send(controls.stop("--now"))
            continue
        out_of_rounds = loop is not None and loop.outcome in (Outcome.BUDGET, Outcome.STALLED)
        case.resume("--now", *(("-r", "+3") if out_of_rounds else ()))
    case.reap(patience=60.0)
    # A corrupted live state file can ask for something that no script does.
    stuck = tries > MOST_TRIES and not any(name.endswith(".md") for name in case.corrupted)
    problems = [f"resumed {MOST_TRIES} times and then stopped"] if stuck else []
    case.tally.invariant(case.story.number, "a loop ends once faults stop", problems)
    outcome = loop.outcome.word if loop is not None and loop.outcome is not None else "none"
    if case.story.boxed:
        case.tally.note("loops in boxes")
    case.tally.rest(case.story.mode, case.story.host.value, outcome)


def _wait_for_rest(case: Case) -> Loop | None:
    """Return the loop once no runner drives it or is about to; also if it waits too long or is idle."""
    began, idle_timer = time.monotonic(), IdleTimer(case)
    while True:
        case.reap()
        loop = None
        with suppress(UntilDoneError):
            loop = case.load()
        if loop is not None:
            if loop.status.ended and case.story.dies_at_end:
                _kill_at_end(case, loop)
            if not case.is_driven and not case.is_about_to_be_driven(loop):
                return loop
        waits_for = invariants.waits_for(loop) if loop is not None else ""
        if waits_for and time.monotonic() > began + QUIET:
            return loop
        if idle_timer.is_idle(waits_for):
            return loop
        time.sleep(0.03)


class IdleTimer:
    """Measures for how long a driven loop has neither made progress nor waited for anything."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._progress: object = None
        self._since = time.monotonic()

    def is_idle(self, waits_for: str) -> bool:
        """Whether nothing has happened for IDLE seconds; that breaks an invariant."""
        case = self._case
        progress = (case.journal_stamp(), len(case.calls()), waits_for)
        if progress != self._progress or waits_for:
            self._progress, self._since = progress, time.monotonic()
        idle = time.monotonic() > self._since + IDLE
        if idle:
            problem = f"runner {case.runner()} was idle for {IDLE:.0f} s; agents {case.agents()}"
            case.tally.invariant(case.story.number, "no runner is idle", [problem])
        return idle


def _kill_at_end(case: Case, loop: Loop) -> None:
    """Kill the runner between the last entry and the archiving of the loop."""
    if loop.status.ended and case.is_driven and (runner := case.last_runner()) is not None:
        faults.kill(case, runner, "runner after the last entry")
