"""Invariants of every journal, for any mode, agent and person. Used by the suites that drive loops."""

from __future__ import annotations

from collections.abc import Iterable

from untildone.core import budget as budgets
from untildone.core.apply import apply
from untildone.core.events import (
    AnswerRead,
    Entry,
    Event,
    GatesRan,
    LimitReached,
    Rested,
    TurnEnded,
    TurnInterrupted,
    TurnStarted,
    WorkspaceSeen,
)
from untildone.core.loop import Loop
from untildone.core.model import Changes, GateResult, Outcome, Role, Spend, Status, Usage
from untildone.core.values.value import replace
from untildone.store.lines import as_fields, encoded, entry_of, fields_of, with_checksum, without_checksum
from untildone.testing.driver import Driver, fold

LEGAL_MOVES = {
    (Status.CREATED, Status.RUNNING),
    (Status.CREATED, Status.FAILED),
    (Status.RUNNING, Status.PAUSED),
    (Status.RUNNING, Status.COMPLETED),
    (Status.RUNNING, Status.FAILED),
    (Status.PAUSED, Status.RUNNING),
    (Status.PAUSED, Status.FAILED),
}


def through_the_journal(entry: Entry) -> Entry:
    """The entry after a round trip through the file format."""
    line = with_checksum(encoded(as_fields(entry, "loop-1")))
    return entry_of(fields_of(without_checksum(line)))


class Laws:
    """Reads a journal entry by entry and asserts the invariants."""

    def __init__(self) -> None:
        self.loop: Loop | None = None
        self.iterations = 0
        self.spend = Spend()
        self.since_claim: dict[tuple[str, str], tuple[GateResult, str]] = {}
        """Gate and command → last result since the claim, with the workspace fingerprint at that time."""
        self.workspace = ""

    def read(self, entries: Iterable[Entry]) -> Loop:
        for entry in entries:
            self.read_one(entry)
        assert self.loop is not None
        return self.loop

    def read_one(self, entry: Entry) -> None:
        kept = through_the_journal(entry)
        assert kept == entry, "an entry reads back as it was written"
        before = self.loop
        assert entry.seq == (before.seq + 1 if before else 1), "no entry is lost or repeated"
        self.loop = apply(before, kept)
        if before is None or before.status.ended:
            return
        self._check(before, self.loop, entry.event)

    def _check(self, before: Loop, after: Loop, event: Event) -> None:
        self._count(before, event)
        assert after.spend == replace(self.spend, iterations=self.iterations), "the spend is the sum of all usage"
        if before.status is not after.status:
            assert (before.status, after.status) in LEGAL_MOVES, f"{before.status} does not become {after.status}"
        match event:
            case TurnStarted():
                self._may_start(before, event)
            case TurnEnded():
                assert before.turn is not None, "only a started turn ends"
                assert before.answer is None, "a turn ends once"
            case GatesRan():
                judged_by_agent = before.turn is None or before.turn.role is Role.SUPERVISOR
                assert judged_by_agent, "no agent but the supervisor judges a claim"
            case Rested(outcome=outcome):
                self._may_rest(before, outcome)
            case _:
                return

    def _count(self, before: Loop, event: Event) -> None:
        match event:
            case TurnStarted(role=Role.WORKER, attempt=1):
                self.iterations += 1
            case LimitReached(profile=profile) if before.turn and before.turn.profile == profile:
                self.iterations -= before.turn.role is Role.WORKER
            case TurnEnded(answer=answer, seconds=seconds) if answer.session_total is None:
                self._add(seconds, answer.usage)
            case TurnInterrupted(seconds=seconds, usage=usage):
                self._add(seconds, usage)
            case GatesRan(seconds=seconds):
                self._add(seconds, Usage())
            case _:
                pass
        self._note_gates(before, event)

    def _add(self, seconds: float, usage: Usage) -> None:
        reported = {name: getattr(self.spend, name) + (getattr(usage, name) or 0) for name in Usage.__match_args__}
        self.spend = replace(self.spend, seconds=self.spend.seconds + seconds, **reported)

    def _note_gates(self, before: Loop, event: Event) -> None:
        match event:
            case AnswerRead(claimed=True) if not before.claimed:
                self.since_claim = {}
            case WorkspaceSeen(changes=changes):
                self.since_claim, self.workspace = {}, changes.fingerprint
            case TurnEnded(changes=Changes(fingerprint=fingerprint)):
                self.workspace = fingerprint
            case GatesRan(results=results, seen=seen):
                self.workspace = seen or self.workspace
                self.since_claim |= {(each.gate, each.command): (each, self.workspace) for each in results}
            case _:
                pass

    def _may_start(self, before: Loop, event: TurnStarted) -> None:
        assert before.status is Status.RUNNING, "only a running loop starts a turn"
        assert before.turn is None, "one turn at a time"
        assert before.pause is None, "a pause is obeyed before the next turn"
        assert before.stop is None, "a stop is obeyed before the next turn"
        worker = event.role is Role.WORKER
        assert not worker or event.iteration == self.iterations, "iterations are counted one by one"
        used_up = budgets.used_up(before.budget, before.spend, before_worker_turn=worker and event.attempt == 1)
        assert used_up is None, f"no turn starts once the budget is used up: {used_up}"

    def _may_rest(self, before: Loop, outcome: Outcome) -> None:
        order = before.stop or before.pause
        assert order is None or outcome in (order.outcome, Outcome.FAILED), "a pause or stop decides the outcome"
        if outcome.status is Status.COMPLETED:
            self._may_complete(before, outcome)

    def _may_complete(self, before: Loop, outcome: Outcome) -> None:
        assert before.claimed, "a loop completes only after a claim"
        assert not before.inbox, "every message reaches an agent before the loop completes"
        required = [("check", command) for command in before.settings.checks]
        required += [("require_change", "")] if before.settings.require_change else []
        required += [("review", "")] if before.settings.review else []
        passed = [gate for gate, (result, _) in self.since_claim.items() if result.passed]
        assert sorted(passed) == sorted(required), "every gate passed since the claim"
        assert len(passed) == len(self.since_claim), "no gate failed since the claim"
        judged = {workspace for (gate, _), (_, workspace) in self.since_claim.items() if gate != "review"}
        assert judged <= {self.workspace}, "the checks passed on the current workspace"
        proving = [gate for gate in required if gate != ("require_change", "")]
        assert outcome is (Outcome.VERIFIED if proving else Outcome.CLAIMED), "the outcome is verified only with proof"


def check_laws(driver: Driver) -> Loop:
    """Check the invariants of the driver's journal, and that it folds to the driver's loop."""
    loop = Laws().read(driver.entries)
    assert loop == driver.loop == fold(driver.entries), "the loop equals its folded journal"
    return loop
