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
MOST_TRIES, MOST_STOPS = 25, 5
"""So often a person goes on with a loop before they stop it, and says that it is to stop."""
QUIET = 12.0
"""Seconds after which a person who waits for a loop puts it to the test: it may wait for a limit on a clock that was moved."""
IDLE = 45.0
"""Seconds for which a runner may do nothing at all on a busy machine. Usually it takes hundredths to do the next thing."""


def play(case: Case, hits_until: float, patience_until: float) -> None:
    """Until the loop has ended and all laws were looked at. No blow falls after one moment, no loop is waited for after the other."""
    case.begin()
    _appear(case)
    for hit in case.story.hits:
        if time.monotonic() >= hits_until or not case.tend():
            break
        time.sleep(hit.after)
        case.history.append(f"{time.strftime('%H:%M:%S')} {hit.kind}")
        case.tally.blow(hit.kind, effective=hits.KINDS[hit.kind](case, hit.draw))
        laws.after_hit(case)
    case.ground.move_clock(0)
    come_to_rest(case, patience_until)
    case.tally.law(case.story.number, "no runner waits for nothing", [])
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
    """As a person would: resume, wait, resume; when time is up, stop. Nothing hits the loop any more: it must come to its end."""
    loop: Loop | None = None
    tries = 0
    while (loop := _waited_for(case)) is None or not loop.status.ended:
        tries += 1
        late = time.monotonic() > patience_until
        if tries > MOST_TRIES + MOST_STOPS:
            break
        if late or tries > MOST_TRIES:
            case.tally.note("loops that a person stopped, because it was late" if late else "loops that led nowhere")
            case.tell(words.stop("--now"))
            continue
        out_of_rounds = loop is not None and loop.outcome in (Outcome.BUDGET, Outcome.STALLED)
        case.go_on("--now", *(("-r", "+3") if out_of_rounds else ()))
    case.reap(patience=60.0)
    # A live state file that was written to may ask for what no script does.
    nowhere = tries > MOST_TRIES and not any(name.endswith(".md") for name in case.spoilt)
    problems = [f"gone on with {MOST_TRIES} times, and then had to be stopped"] if nowhere else []
    case.tally.law(case.story.number, "a loop that nothing hits comes to its end", problems)
    outcome = loop.outcome.word if loop is not None and loop.outcome is not None else "none"
    case.tally.rest(case.story.mode, case.story.host.value, outcome)


def _waited_for(case: Case) -> Loop | None:
    """The loop, once nobody drives it and nobody is about to; or as it is when it waits for something for too long."""
    began, watch = time.monotonic(), Watch(case)
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
        told = laws.waits_for(loop) if loop is not None else ""
        if told and time.monotonic() > began + QUIET:
            return loop
        if watch.is_idle(told):
            return loop
        time.sleep(0.03)


class Watch:
    """Over a loop that somebody drives, or is to drive: something must happen, or be waited for."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._seen: object = None
        self._since = time.monotonic()

    def is_idle(self, waits_for: str) -> bool:
        """Whether nothing has happened for too long: that breaks a promise."""
        case = self._case
        seen = (case.look_of_journal(), len(case.calls()), waits_for)
        if seen != self._seen or waits_for:
            self._seen, self._since = seen, time.monotonic()
        idle = time.monotonic() > self._since + IDLE
        if idle:
            told = (
                f"runner {case.runner()} does nothing for {IDLE:.0f} s, and waits for nothing; agents {case.agents()}"
            )
            case.tally.law(case.story.number, "no runner waits for nothing", [told])
        return idle


def _kill_at_end(case: Case, loop: Loop) -> None:
    if loop.status.ended and case.is_driven and (runner := case.last_runner()) is not None:
        hits.kill(case, runner, "runner at the loop's very end")
