"""What a retry, a rewind and the ratchet change, and where a loop was after a round: as pure functions of the journal."""

from __future__ import annotations

import math

import pytest

from untildone import gates
from untildone.core.actions import AskAgent, Record, RestoreWorkspace, RunGates
from untildone.core.apply import apply
from untildone.core.decide import decide
from untildone.core.events import (
    AnswerRead,
    Entry,
    Event,
    GatesRan,
    LoopCreated,
    MessageSent,
    Rested,
    ResumeRequested,
    RetryRequested,
    Rewound,
    SessionOpened,
    StartRequested,
    StopRequested,
    TurnEnded,
    TurnStarted,
    WorkspaceRestored,
    WorkspaceSeen,
)
from untildone.core.history import bisecting, ratchet, rewinding
from untildone.core.history.bisecting import Snapshot
from untildone.core.history.position import Restoring
from untildone.core.loop import Loop
from untildone.core.model import (
    AgentChoice,
    Answer,
    Budget,
    Changes,
    Failure,
    FailureKind,
    GateResult,
    LoopSettings,
    Outcome,
    Role,
    SessionUse,
    Status,
)
from untildone.modes import find

AGENT = AgentChoice("a", "claude", abilities=("resume",))
CHECK = "make"


def begin(**chosen: object) -> tuple[Event, ...]:
    settings = LoopSettings("ralph", AGENT, "/w", **chosen)  # type: ignore[arg-type]
    return (
        LoopCreated("loop-1", "t", "Do it.", settings, Budget(iterations=9)),
        StartRequested(),
        WorkspaceSeen(seen(0)),
    )


def seen(number: int) -> Changes:
    return Changes(f"f{number}", None, f"tree-{number}")


def a_round(number: int, session: SessionUse = SessionUse.RESUME, failure: Failure | None = None) -> tuple[Event, ...]:
    answer = Answer(f"did {number}", session_id="s1", failure=failure)
    started = TurnStarted(Role.WORKER, number, 1, "a", session, "p")
    ended = TurnEnded(Role.WORKER, number, answer, 1.0, seen(number))
    return (started, ended) if failure else (started, ended, AnswerRead(claimed=False))


def entries(*events: Event) -> tuple[Entry, ...]:
    return tuple(Entry(number, float(number), event) for number, event in enumerate(events, 1))


def folded(*events: Event) -> Loop:
    loop: Loop | None = None
    for entry in entries(*events):
        loop = apply(loop, entry)
    assert loop is not None
    return loop


def next_action(loop: Loop) -> object:
    return decide(loop, 1e6, find(loop.settings.mode), gates.gates_of)


def test_a_retried_loop_asks_the_agent_that_failed_again_in_the_same_round_and_session() -> None:
    crashed = a_round(2, failure=Failure(FailureKind.CRASHED, "boom"))
    failed = folded(*begin(), *a_round(1), *crashed, Rested(Outcome.FAILED, "boom"))
    assert failed.status is Status.FAILED
    loop = folded(*begin(), *a_round(1), *crashed, Rested(Outcome.FAILED, "boom"), RetryRequested())
    assert (loop.status, loop.outcome, loop.reason) == (Status.RUNNING, None, "")
    action = next_action(loop)
    assert isinstance(action, AskAgent)
    assert (action.iteration, action.attempt, action.session, action.session_id) == (2, 1, SessionUse.RESUME, "s1")


def test_a_retried_loop_that_was_stopped_goes_on_with_the_next_round() -> None:
    events = (*begin(), *a_round(1), StopRequested(), Rested(Outcome.STOPPED), RetryRequested())
    action = next_action(folded(*events))
    assert isinstance(action, AskAgent)
    assert action.iteration == 2


@pytest.mark.parametrize("outcome", [Outcome.CLAIMED, Outcome.PAUSED])
def test_only_a_failed_loop_is_retried(outcome: Outcome) -> None:
    rested = (*begin(), *a_round(1)[:2], AnswerRead(claimed=True), Rested(outcome))
    loop = folded(*rested)
    assert loop.status is outcome.status
    assert folded(*rested, RetryRequested()).status is loop.status


def test_a_rewind_brings_back_the_position_and_gives_nothing_back_of_what_was_spent() -> None:
    events = (
        *begin(),
        *a_round(1, SessionUse.NEW),
        MessageSent("mind it"),
        *a_round(2),
        *a_round(3),
        Rested(Outcome.BUDGET),
    )
    place = rewinding.after(entries(*events), 1)
    assert place is not None
    assert place.position.changes == seen(1)
    assert not place.position.sessions, "the agent has worked in it since"
    assert place.position.inbox == ("mind it",)
    now = folded(*events)
    words = rewinding.account(now, 1, place)
    assert "after round 1" in words
    assert "rounds 2 to 3 are undone" in words
    assert "> did 1" in words
    rewound = Rewound(1, place.position, "tree-x", words)
    loop = folded(*events, rewound)
    assert (loop.status, loop.outcome, loop.spend.iterations) == (Status.PAUSED, Outcome.PAUSED, 3)
    assert next_action(loop) == RestoreWorkspace("tree-1", "tree-x"), "also while it rests"
    loop = folded(*events, rewound, WorkspaceRestored("tree-1", seen(1)), ResumeRequested())
    action = next_action(loop)
    assert isinstance(action, AskAgent)
    assert (action.iteration, action.session) == (4, SessionUse.NEW)
    assert words in action.prompt
    assert "mind it" in action.prompt


def test_a_session_in_which_nobody_worked_since_goes_on() -> None:
    events = (*begin(), *a_round(1), *a_round(2), Rested(Outcome.BUDGET))
    place = rewinding.after(entries(*events), 2)
    assert place is not None
    assert place.position.sessions
    assert rewinding.account(folded(*events), 2, place) == ""


def test_the_start_is_before_the_first_turn() -> None:
    place = rewinding.after(entries(*begin(), *a_round(1)), 0)
    assert place is not None
    assert (place.position.changes, place.position.asked) == (seen(0), ("Do it.",))


def test_there_is_no_place_after_a_round_without_an_answer() -> None:
    failed = a_round(2, failure=Failure(FailureKind.CRASHED, "boom"))
    assert rewinding.after(entries(*begin(), *a_round(1), *failed), 2) is None
    assert rewinding.after(entries(*begin()), 1) is None


def test_an_order_to_stop_comes_before_the_workspace_is_put_back() -> None:
    place = rewinding.after(entries(*begin(), *a_round(1)), 0)
    assert place is not None
    events = (*begin(), *a_round(1), Rested(Outcome.BUDGET), Rewound(0, place.position, "tree-1"), StopRequested())
    assert isinstance(next_action(folded(*events)), Record)
    again = folded(*events, Rested(Outcome.STOPPED), RetryRequested())
    assert again.restoring == Restoring("tree-0", "tree-1"), "a retry puts it back"


def test_what_was_taken_back_can_be_found_again_until_an_agent_works() -> None:
    place = rewinding.after(entries(*begin(), *a_round(1), *a_round(2)), 1)
    assert place is not None
    events = (*begin(), *a_round(1), *a_round(2), Rested(Outcome.BUDGET), Rewound(1, place.position, "tree-2b"))
    found = rewinding.before_last(entries(*events))
    assert found is not None
    assert found[1].position.changes.tree == "tree-2b"
    assert rewinding.before_last(entries(*events, ResumeRequested(), *a_round(3))) is None


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 20, 100])
def test_bisection_finds_each_round_in_the_logarithm_of_their_number(count: int) -> None:
    rounds = tuple(Snapshot(number, f"t{number}") for number in range(count + 1))
    for planted in range(1, count + 1):
        asked: list[int] = []

        def holds(each: Snapshot, planted: int = planted, asked: list[int] = asked) -> bool:
            asked.append(each.iteration)
            return each.iteration < planted

        assert rounds[bisecting.first_bad(rounds, holds)].iteration == planted
        assert len(asked) <= math.ceil(math.log2(count)) if count > 1 else not asked


def test_rounds_that_were_taken_back_are_not_bisected() -> None:
    place = rewinding.after(entries(*begin(), *a_round(1), *a_round(2)), 1)
    assert place is not None
    events = (*begin(), *a_round(1), *a_round(2), Rested(Outcome.BUDGET), Rewound(1, place.position), *a_round(3))
    assert [each.iteration for each in bisecting.snapshots(entries(*events))] == [0, 1, 3]


def weighed(number: int, *holds: bool) -> GatesRan:
    results = tuple(
        GateResult("check", f"check {place}", passed, reason="exit code 1") for place, passed in enumerate(holds)
    )
    return GatesRan(results, seen=f"f{number}", weighs=True)


def test_the_ratchet_weighs_each_state_once_and_undoes_only_what_lowers_the_count() -> None:
    start = begin(ratchet=True, checks=("check 0", "check 1"))
    action = next_action(folded(*start))
    assert isinstance(action, RunGates)
    assert action.weighs
    level = (*start, weighed(0, True, False))
    assert isinstance(next_action(folded(*level)), AskAgent)
    swapped = (*level, *a_round(1), weighed(1, False, True))
    assert folded(*swapped).restoring is None, "as many hold as before"
    worse = (*swapped, *a_round(2), weighed(2, False, False))
    loop = folded(*worse)
    assert next_action(loop) == RestoreWorkspace("tree-1", "tree-2")
    assert "Round 2 was undone" in loop.account
    assert "It broke: check 1" in loop.account
    back = folded(*worse, WorkspaceRestored("tree-1", seen(1)))
    action = next_action(back)
    assert isinstance(action, AskAgent), "the restored state is known"
    assert back.account in action.prompt
    assert ratchet.due(back, gates.gates_of) is None
    assert folded(*worse, WorkspaceRestored("tree-1", seen(1)), *a_round(3)).account == ""


def test_a_weighed_check_is_no_verdict_on_a_claim() -> None:
    start = begin(ratchet=True, checks=("check 0",))
    loop = folded(*start, weighed(0, True), *a_round(1), weighed(1, True))
    assert (loop.gates, loop.claimed) == ((), False)


def test_sessions_that_opened_are_kept_by_role_and_profile() -> None:
    opened = SessionOpened(Role.WORKER, "a", "s9")
    place = rewinding.after(entries(*begin(), *a_round(1), opened), 1)
    assert place is not None
    assert place.position.sessions["worker:a"].session_id == "s9"
