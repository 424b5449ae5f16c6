"""Asks the person at the terminal, and writes what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from untildone.core import budget as budgets
from untildone.core.actions import Action, AwaitPerson
from untildone.core.answers import rounds
from untildone.core.events import FailuresExplained, MessageSent, Rested
from untildone.core.kinds import Source
from untildone.core.loop import Loop
from untildone.core.model import Outcome
from untildone.core.values.value import replace
from untildone.engine.stepper import CHANGED_SINCE
from untildone.engine.stepper_ports import Next
from untildone.engine.surroundings import Person

if TYPE_CHECKING:
    from untildone.engine.process_hands import ProcessHands


class PersonHands:
    """Asks a person. `hands` are those of the host."""

    def __init__(self, hands: ProcessHands, person: Person | None) -> None:
        self._hands = hands
        self._person = person
        self.stepper = hands.stepper

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    @property
    def has_person(self) -> bool:
        return self._person is not None

    def explain(self, question: AwaitPerson) -> None:
        """Ask, and write what the person says. Another entry of the journal makes the question obsolete: then it is asked again."""
        from untildone.gates import baseline

        person, known = self._person, self.loop.seq
        if person is None:
            return
        answer = person.ask(question, self.loop, lambda: self._hands.has_news() or self.loop.seq != known)
        if answer is None:
            self._rest_as(question)
        elif answer:
            parsed = rounds.parse(answer, budgets.rounds_left(self.loop.budget, self.loop.spend))
            if parsed.changes:
                self.stepper.write(MessageSent(answer[: len(answer) - len(parsed.rest)], Source.TERMINAL))
            for notice in parsed.notices:
                person.tell(notice)
            if (word := parsed.rest.strip().lower()) in question.choices:
                self.stepper.write(FailuresExplained(ignored=word == baseline.IGNORE))

    def ask(self, question: AwaitPerson) -> Next:
        """Ask until the person answers or leaves, or until an entry of another process makes the question obsolete."""
        self._hands.standby.end()
        self.stepper.write()
        action: Action = question
        while (answer := self._answer(question, action)) is not None:
            if not answer or self._take_in(answer):
                return Next.GO_ON
            action = self.stepper.decide()
            question = replace(action, question="") if isinstance(action, AwaitPerson) else AwaitPerson("")
        self._rest_as(question)
        return Next.GO_ON

    def _answer(self, question: AwaitPerson, action: Action) -> str | None:
        def moved_on() -> bool:
            return self._hands.has_news() or self.stepper.decide() != action

        return None if self._person is None else self._person.ask(question, self.loop, moved_on)

    def _take_in(self, answer: str) -> bool:
        """Write the person's message and show the notices about round controls. True: it was more than round controls."""
        loop = self.loop
        parsed = rounds.parse(answer, budgets.rounds_left(loop.budget, loop.spend))
        self.stepper.write(MessageSent(answer, Source.TERMINAL))
        for notice in parsed.notices:
            if self._person is not None:
                self._person.tell(notice)
        return bool(parsed.rest.strip())

    def _rest_as(self, question: AwaitPerson) -> None:
        """Let the loop rest after the person left, or if there is no person."""
        if question.leave is Outcome.VERIFIED and self.stepper.recheck():
            self.stepper.write(Rested(Outcome.PAUSED, CHANGED_SINCE))
        else:
            # A control that another process has just written takes precedence.
            self.stepper.rest_if_current(Rested(question.leave, question.reason))
