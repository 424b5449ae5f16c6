"""The rounds of a loop, from its journal."""

from __future__ import annotations

import pytest

from untildone.core.events import (
    AnswerRead,
    Entry,
    Event,
    GatesRan,
    MessageSent,
    PauseRequested,
    Rewound,
    StopRequested,
    TurnEnded,
    TurnInterrupted,
    TurnStarted,
    WorkspaceSeen,
)
from untildone.core.history.position import Position
from untildone.core.kinds import Interruption
from untildone.core.model import (
    Answer,
    Changes,
    GateResult,
    Role,
    SessionUse,
    Urgency,
    Usage,
)
from untildone.operations.showing.timeline import Timeline, extended


def journal(*events: Event) -> tuple[Entry, ...]:
    return tuple(Entry(number, float(number), event) for number, event in enumerate(events, 1))


def started(iteration: int, role: Role = Role.WORKER) -> TurnStarted:
    return TurnStarted(role, iteration, 1, "claude", SessionUse.NEW, "Do it")


def ended(iteration: int, tree: str, role: Role = Role.WORKER, cost: float = 0.5) -> TurnEnded:
    changes = Changes(tree, tree=tree, files=1) if role is Role.WORKER else None
    return TurnEnded(role, iteration, Answer("Done.", usage=Usage(cost, 10)), 2.0, changes)


class TestTimeline:
    def test_rounds_have_what_happened_in_them(self) -> None:
        gate = GateResult("check", "true", passed=True)
        entries = journal(
            WorkspaceSeen(Changes("a", tree="a")),
            started(1),
            MessageSent("also write docs"),
            ended(1, "b"),
            AnswerRead(claimed=False),
            started(2),
            ended(2, "c"),
            AnswerRead(claimed=True),
            started(2, Role.SUPERVISOR),
            ended(2, "", Role.SUPERVISOR, cost=0.25),
            GatesRan((gate,)),
            started(3),
        )
        timeline = extended(Timeline(), entries)
        one, two, three = timeline.rounds
        assert (one.before, one.after, one.messages, one.claimed) == ("a", "b", ("also write docs",), False)
        assert (two.before, two.after, two.gates, two.usage) == ("b", "c", (gate,), Usage(0.75, 20))
        assert [each.role for each in two.consultations] == [Role.SUPERVISOR]
        assert (three.is_going, three.seconds) == (True, None)
        assert extended(timeline, entries) == timeline

    @pytest.mark.parametrize(
        ("orders", "words"),
        [
            ((), "interrupted by a person"),
            ((PauseRequested(Urgency.NOW),), "interrupted by pause"),
            ((PauseRequested(), StopRequested(Urgency.NOW)), "interrupted by stop"),
        ],
    )
    def test_an_interrupted_round_says_by_what(self, orders: tuple[Event, ...], words: str) -> None:
        cut = TurnInterrupted(Role.WORKER, 1, Interruption.CONTROL, 1.0)
        timeline = extended(Timeline(), journal(PauseRequested(), started(1), *orders, cut))
        assert timeline.last is not None
        assert (timeline.last.is_going, timeline.last.trouble) == (False, words)

    def test_a_rewind_can_be_undone_until_an_agent_works_again(self) -> None:
        back, forth = Rewound(1, Position()), Rewound(1, Position(), undone=True)
        for events, undoable in (((back,), True), ((back, forth), False), ((back, started(3)), False)):
            timeline = extended(Timeline(), journal(started(1), started(2), *events))
            assert timeline.is_taken_back is undoable
