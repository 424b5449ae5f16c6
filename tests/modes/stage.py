"""Where a play is played: a loop in memory, and what must hold of it whatever happens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tests.modes.plays import EDITS, Dies, Edits, Moment, Play, Works

from untildone import modes
from untildone.core.actions import AskAgent, AwaitPerson, Rest
from untildone.core.errors import WrongMove
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    Event,
    LiveStateSeen,
    MessageSent,
    ResumeRequested,
)
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import (
    AgentChoice,
    Budget,
    GateResult,
    LoopSettings,
    Outcome,
    Status,
)
from untildone.core.values.value import replace
from untildone.testing.driver import Crash, Driver, Reply, fails, passes
from untildone.testing.journal_laws import check_laws

MOST_STEPS = 400
LARGEST_STATE = 1_000_000
MOST_TASKS = 410


class Stage:
    """Plays a play, and insists all the while on what a mode may never do."""

    def __init__(self, mode: str, play: Play) -> None:
        self.mode = modes.find(mode)
        self.reply = Reply()
        self.edit: str | None = None
        self.gates: Iterator[bool] = iter(())
        self.spoken = iter(play.person)
        self.driver = Driver(self.answer, self.gate, self.person)
        worker = AgentChoice("worker", "scripted", abilities=play.abilities)
        chosen = LoopSettings(mode, worker, "/workspace", retry_delay=0.0, **play.chosen)
        self.driver.create(chosen, Budget(iterations=play.budget)).start().lease()

    @property
    def loop(self) -> Loop:
        return self.driver.loop

    def answer(self, action: AskAgent, loop: Loop) -> Reply:
        shown = self.mode.live_state(loop)
        edited = None if shown is None or self.edit is None else EDITS[self.edit](shown)
        return replace(self.reply, live_state=edited)

    def gate(self, command: str, _loop: Loop) -> GateResult:
        return (passes if next(self.gates, True) else fails)(command)

    def person(self, question: AwaitPerson, _loop: Loop) -> str | None:
        assert question.question, "a person is never asked nothing"
        said = next(self.spoken, None)
        return None if said == "exit" else said

    def happens(self, moment: Moment) -> None:
        match moment:
            case Works(reply=reply, gates=gates, edit=edit):
                self.reply, self.gates, self.edit = reply, iter(gates), edit
                self.work()
            case Dies():
                self.die(moment)
            case Edits(edit=edit):
                self.edit_file(EDITS[edit])
            case (str(verb), event):
                self.tell(verb, event)
            case float(seconds):
                self.driver.clock.advance(seconds)

    def work(self) -> None:
        for _ in range(8):
            if isinstance(self.driver.step(), AskAgent | Rest):
                return

    def die(self, moment: Dies) -> None:
        self.reply, self.edit = moment.reply, None
        setattr(
            self.driver.journal,
            "dies_before" if moment.before else "dies_after",
            len(self.driver.entries) + moment.ahead,
        )
        with suppress(Crash):
            self.work()
        self.driver.crash()
        self.driver.lease()

    def edit_file(self, change: Any) -> None:
        shown = self.mode.live_state(self.loop)
        if shown is not None and not self.loop.status.ended and change(shown) != shown:
            self.driver.journal.append(LiveStateSeen(change(shown), shown))

    def tell(self, verb: str, *events: Event) -> bool:
        try:
            self.driver.send(verb, *events)
        except WrongMove:
            return False
        return True

    def comes_to_rest(self, last: list[Reply]) -> None:
        """Left to agents who never fail, with so many rounds as there are."""
        given = iter(range(10_000))
        self.driver.answers = lambda _action, _loop: last[next(given) % len(last)]
        self.spoken = iter(())
        if self.loop.budget.iterations is None:
            self.driver.journal.append(BudgetChanged(Limit.ITERATIONS, self.loop.spend.iterations + 4))
        self.driver.run(MOST_STEPS)
        self.check_rest()

    def check_rest(self) -> None:
        loop = check_laws(self.driver)
        assert loop.outcome is not None
        assert loop.status is loop.outcome.status
        assert len(json.dumps(loop.skill_state)) < LARGEST_STATE, "the mode's state does not grow without end"
        assert len(loop.tasks) <= MOST_TASKS, "nor do its tasks"
        for read in self.driver.events(AnswerRead):
            assert isinstance(read, AnswerRead)
            assert all(text.encode() for text in read.documents.values()), "documents are text that a file can hold"

    def goes_on(self, last: list[Reply]) -> None:
        """A loop that can go on does so when a person wants it to: some agent hears them."""
        rested = self.loop
        if rested.status is not Status.PAUSED:
            return
        before = len(self.driver.asked)
        self.tell("say", MessageSent("[r+2] mind the gap"))
        self.tell("resume", ResumeRequested(skip_wait=True))
        self.comes_to_rest(last)
        ended = self.loop
        heard = any("mind the gap" in call.ask.prompt for call in self.driver.asked[before:])
        assert heard or ended.status is Status.FAILED, "the person is heard"


def perform(mode: str, play: Play) -> Outcome | None:
    """Play it, let it come to rest, and let it go on; how it rested first."""
    stage = Stage(mode, play)
    for moment in play.moments:
        stage.happens(moment)
    stage.comes_to_rest(play.last)
    rested = stage.loop.outcome
    stage.goes_on(play.last)
    return rested
