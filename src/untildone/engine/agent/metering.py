"""Meters the agent of a turn, so that limits are enforced while it works, as far as it reports its usage."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from untildone.core import budget as budgets
from untildone.core.applying import sessions
from untildone.core.events import BudgetWarned, UsageSeen
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Answer, SoFar, Spend, Usage
from untildone.core.plugins.agent_io import Notice, SideReader, Used
from untildone.engine.agent.side_files import SideFiles

if TYPE_CHECKING:
    from untildone.engine.process_hands import ProcessHands

NOTE_EVERY = 0.25
"""Seconds between two notes of what a turn has used so far, at least."""


class Meter:
    """Counts what the agent of one turn uses."""

    def __init__(self, hands: ProcessHands, side: SideReader | None) -> None:
        """`side`: the reader of the agent, if the agent reports beside its output what each message used, and that is read."""
        self._hands = hands
        self._side = side
        self._side_files = SideFiles(())
        self._used = Used(Usage())
        """What the running agent has used so far."""
        self._noted = Usage()
        """What of that is in the journal."""
        self._began = self._note_from = 0.0
        """When the program was started, and from when on the journal may have more of what it uses."""
        self._is_metered = False
        """Whether the agent has reported its usage while it works."""
        hands.used_in_turn = Usage()

    @property
    def _loop(self) -> Loop:
        return self._hands.stepper.loop

    @property
    def reads_errors(self) -> bool:
        """Whether what the agent uses is also on its standard error."""
        return self._side is not None and self._side.reads_errors

    def begin(self, environment: Mapping[str, str]) -> None:
        """The program starts now, with this environment."""
        self._began = time.monotonic()
        self._note_from = self._began + NOTE_EVERY
        self._side_files = SideFiles(self._side.side_files(environment) if self._side else ())

    def end(self) -> None:
        """The program has ended: read what it reported last."""
        for line in self._side_files.last_lines():
            self.take_line(line)

    def conclude(self, choice: AgentChoice, answer: Answer) -> Answer:
        """The answer with its usage. Warns of limits that cannot be enforced for this agent."""
        self._warn_if_unpriced(choice, answer)
        if self._side is not None:
            answer = sessions.with_total(self._loop, answer, self._side.session_growth())
            self._warn_if_unmetered(choice, answer)
        return answer

    def is_over_budget(self) -> bool:
        """Whether what the agent has used in this turn uses up the dollars or tokens of the loop, as they are limited now."""
        for line in self._side_files.lines():
            self.take_line(line)
        self._note_usage()
        spend = self._loop.spend.plus(time.monotonic() - self._began, self._used.usage)
        self._warn(spend)
        return budgets.spent(self._loop.own_budget, spend) is not None

    def _warn(self, spend: Spend) -> None:
        """Warn of a limit that is nearly used up during a turn: the next decision may be an hour away."""
        for gauge in budgets.gauges(self._loop.own_budget, spend):
            is_due = gauge.is_nearly_used() and not gauge.used_up and gauge.limit not in self._loop.warned
            if is_due and gauge.limit is not Limit.ITERATIONS:
                self._hands.stepper.write(BudgetWarned(gauge.limit, gauge.used, gauge.allowed), sync=False)

    def _note_usage(self) -> None:
        """Write what the turn has used so far, but not at every message of a quick agent: if this runner dies, the next one counts it."""
        turn, now = self._loop.turn, time.monotonic()
        if turn is None or self._used.usage == self._noted or now < self._note_from:
            return
        self._noted, self._note_from = self._used.usage, now + NOTE_EVERY
        growth = self._side.session_growth() if self._side else self._used.session_growth
        total = sessions.with_total(self._loop, Answer(), growth).session_total
        known = SoFar(self._used.usage, now - self._began, self._used.priced, total)
        self._hands.stepper.write(UsageSeen(turn.role, turn.iteration, known), sync=False)

    def take_line(self, line: bytes) -> bool:
        """Take a line that the agent's program wrote beside its output. Returns whether the reader knows it."""
        events = self._side.feed_side(line) if self._side else None
        for event in events or ():
            if isinstance(event, Used):
                self._is_metered = True
                self.take(event)
            else:
                self._hands.observer.agent(event, self._loop)
        return events is not None

    def take(self, event: Used) -> None:
        """Take what the agent says that it has used in this turn so far."""
        self._used, self._hands.used_in_turn = event, event.usage

    def _warn_if_unmetered(self, choice: AgentChoice, answer: Answer) -> None:
        """Warn once that a limit of dollars or tokens is checked only at the end of a turn."""
        profile = choice.profile
        if self._is_metered or profile in self._hands.unmetered or not sessions.usage_of(self._loop, answer).tokens:
            return
        self._hands.unmetered.add(profile)
        sentence = f"{profile} did not report what it uses while it worked: its limits are checked after each turn."
        self._hands.observer.agent(Notice(sentence), self._loop)

    def _warn_if_unpriced(self, choice: AgentChoice, answer: Answer) -> None:
        """Warn once that a limit of dollars has no effect, because the price of the agent's model is unknown."""
        profile, limit = choice.profile, self._loop.budget.cost_usd
        if limit is None or profile in self._hands.unpriced or not sessions.usage_of(self._loop, answer).unpriced:
            return
        self._hands.unpriced.add(profile)
        model = answer.model or choice.model
        of_what = f"the model {model} of {profile}" if model else f"the model of {profile}"
        sentence = (
            f"Price unknown: {of_what} is not in the table of prices, so the limit of dollars does not hold for it."
        )
        self._hands.observer.agent(Notice(f"{sentence} Add it to [prices] in your settings."), self._loop)
