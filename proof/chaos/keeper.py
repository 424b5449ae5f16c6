"""Plays one story: begins the loop, lets the blows fall, sees to it that it goes on, and brings it to rest."""

from __future__ import annotations

import time
from contextlib import suppress

from proof.chaos import hits, laws, words
from proof.chaos.case import Case

from untildone.core.errors import UntilDoneError
from untildone.core.loop import Loop
from untildone.core.model import Outcome

APPEARS_WITHIN = 60.0
MOST_TRIES = 25
"""So often a person goes on with a loop before they stop it."""
QUIET = 12.0
"""Seconds after which a person who waits for a loop puts it to the test: it may wait for a limit on a clock that was moved."""


def play(case: Case, hits_until: float, patience_until: float) -> None:
    """Until the loop has ended and all laws were looked at. No blow falls after one moment, no loop is waited for after the other."""
    case.begin()
    _appear(case)
    for hit in case.story.hits:
        if time.monotonic() >= hits_until or not case.tend():
            break
        time.sleep(hit.after)
        case.history.append(f"{time.strftime('%H:%M:%S')} {hit.kind}")
        case.tally.hit(hit.kind)
        hits.KINDS[hit.kind](case, hit.draw)
        laws.after_hit(case)
    case.ground.move_clock(0)
    come_to_rest(case, patience_until)
    laws.at_rest(case)


def _appear(case: Case) -> None:
    deadline = time.monotonic() + APPEARS_WITHIN
    while not case.find():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the loop was not there within {APPEARS_WITHIN} s")
        if not case.tend():
            return
        time.sleep(0.05)


def come_to_rest(case: Case, patience_until: float) -> None:
    """As a person would: resume, wait, resume; after many times, or late at night, stop."""
    loop: Loop | None = None
    for _ in range(MOST_TRIES):
        loop = _waited_for(case)
        if loop is not None and loop.status.ended:
            break
        if time.monotonic() > patience_until:
            case.tell(words.stop("--now"))
            continue
        out_of_rounds = loop is not None and loop.outcome in (Outcome.BUDGET, Outcome.STALLED)
        case.go_on("--now", *(("-r", "+3") if out_of_rounds else ()))
    else:
        case.tally.note("loops that a person stopped, because they led nowhere")
        case.tell(words.stop("--now"))
        loop = _waited_for(case)
    case.reap(patience=60.0)
    outcome = loop.outcome.word if loop is not None and loop.outcome is not None else "none"
    case.tally.rest(case.story.mode, case.story.host.value, outcome)


def _waited_for(case: Case) -> Loop | None:
    """The loop, once nobody drives it and nobody is about to; or as it is when that takes too long."""
    deadline = time.monotonic() + QUIET
    loop = None
    while time.monotonic() < deadline:
        case.reap()
        with suppress(UntilDoneError):
            loop = case.load()
            if loop is not None and loop.status.ended and case.story.dies_at_end:
                _kill_at_end(case, loop)
            if loop is not None and not case.is_driven and not case.is_about_to_be_driven(loop):
                return loop
        time.sleep(0.03)
    return loop


def _kill_at_end(case: Case, loop: Loop) -> None:
    if loop.status.ended and case.is_driven and (runner := case.last_runner()) is not None:
        hits.kill(case, runner, "runner at the loop's very end")
