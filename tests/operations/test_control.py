"""Controls that come in the very moment in which something else happens to the loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from untildone.core.errors import BudgetUsedUp, LoopChanged, UsageError, WrongMove
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    Event,
    GatesRan,
    LoopCreated,
    PauseRequested,
    Rested,
    StartRequested,
    StopRequested,
    WorkspaceSeen,
)
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, GateResult, LoopSettings, Outcome, Status, Urgency
from untildone.operations import control
from untildone.store.files import FileStore
from untildone.workspace import approvals
from untildone.workspace.look import Workspace


class JustBefore(FileStore):
    """Whoever opens a journal has read it just before something else is written to it."""

    happens: tuple[Event, ...] = ()

    def load(self, loop_id: str) -> Loop:
        happens, self.happens = self.happens, ()
        loop = super().load(loop_id)
        self.happens = happens
        return loop

    def open(self, loop_id: str) -> Any:
        journal = super().open(loop_id)
        happens, self.happens = self.happens, ()
        if happens:
            other = super().open(loop_id)
            other.append(*happens)
            other.close()
        return journal


@pytest.fixture
def store(tmp_path: Path) -> JustBefore:
    made = JustBefore(tmp_path / ".loop")
    settings = LoopSettings("ralph", AgentChoice("worker", "scripted"), str(tmp_path))
    made.create(LoopCreated("loop-1", "t", "do it", settings, Budget(iterations=1)))
    journal = made.open("loop-1")
    journal.append(StartRequested())
    journal.close()
    return made


CONTROLS: dict[str, Callable[[JustBefore], object]] = {
    "say": lambda store: control.say(store, "loop-1", "[r+5] and the docs"),
    "pause": lambda store: control.pause(store, "loop-1"),
    "resume": lambda store: control.resume(store, "loop-1"),
    "budget": lambda store: control.budget(store, "loop-1", BudgetChanged(Limit.ITERATIONS, 9)),
}


@pytest.mark.parametrize("control", CONTROLS)
def test_what_comes_too_late_is_refused_and_not_swallowed(store: JustBefore, control: str) -> None:
    store.happens = (AnswerRead(claimed=True), Rested(Outcome.CLAIMED))
    with pytest.raises(WrongMove, match="loop-1 is completed"):
        CONTROLS[control](store)
    assert store.load("loop-1").asked == ("do it",)


def test_a_loop_that_has_just_ended_takes_another_title(store: JustBefore) -> None:
    store.happens = (AnswerRead(claimed=True), Rested(Outcome.CLAIMED))
    assert control.rename(store, "loop-1", "another title").title == "another title"
    assert store.load("loop-1").title == "another title"


def test_a_change_that_knows_an_older_state_is_refused(store: JustBefore) -> None:
    known = store.load("loop-1").seq
    store.happens = (PauseRequested(),)
    with pytest.raises(LoopChanged, match="has changed"):
        control.rename(store, "loop-1", "another title", known)
    assert store.load("loop-1").title == "t"


@pytest.mark.parametrize("control", ["say", "pause", "resume"])
def test_what_a_loop_that_is_to_stop_would_never_hear_is_refused(store: JustBefore, control: str) -> None:
    store.happens = (StopRequested(),)
    with pytest.raises(WrongMove, match="loop-1 is being stopped"):
        CONTROLS[control](store)


def test_rounds_that_come_just_after_they_ran_out_let_it_go_on(store: JustBefore) -> None:
    store.happens = (BudgetChanged(Limit.ITERATIONS, 0), Rested(Outcome.BUDGET))
    heard = control.say(store, "loop-1", "[r+5] and the docs")
    assert (heard.goes_on, heard.loop.status, heard.loop.inbox) == (True, Status.RUNNING, ("and the docs",))


def test_a_message_without_rounds_waits_where_they_ran_out(store: JustBefore) -> None:
    store.happens = (BudgetChanged(Limit.ITERATIONS, 0), Rested(Outcome.BUDGET))
    heard = control.say(store, "loop-1", "and the docs")
    assert (heard.goes_on, heard.loop.status, heard.loop.inbox) == (False, Status.PAUSED, ("and the docs",))


@pytest.mark.parametrize(
    ("rest", "text", "goes_on"),
    [
        (Rested(Outcome.BLOCKED, "Which database?"), "Postgres", True),
        (Rested(Outcome.STALLED, "3 times the same"), "use the other parser", True),
        (Rested(Outcome.PAUSED, "Which database?"), "Postgres", True),
        (Rested(Outcome.STALLED, "3 times the same"), "[r+5]", False),
        (Rested(Outcome.PAUSED, "Which database?"), "[r=2]", False),
        (Rested(Outcome.PAUSED), "when you go on, mind the docs", False),
        (Rested(Outcome.INTERRUPTED), "when you go on, mind the docs", False),
        (Rested(Outcome.PAUSED, "Taken back to its start."), "another way", False),
    ],
)
def test_an_answer_to_what_a_loop_waits_for_lets_it_go_on(
    store: JustBefore, rest: Rested, text: str, goes_on: bool
) -> None:
    store.happens = (rest,)
    heard = control.say(store, "loop-1", text)
    assert (heard.goes_on, heard.loop.status is Status.RUNNING) == (goes_on, goes_on)


@pytest.mark.parametrize(("text", "sentence"), [("a\0b", "NUL character"), (" \n", "no message")])
def test_a_message_that_no_agent_can_take_is_refused(store: JustBefore, text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        control.say(store, "loop-1", text)
    assert store.load("loop-1").inbox == ()


def test_half_a_character_becomes_a_whole_one(store: JustBefore) -> None:
    assert control.say(store, "loop-1", "caf\udce9").loop.inbox == ("caf?",)


def test_a_loop_without_rounds_is_resumed_with_more_rounds_only(store: JustBefore) -> None:
    store.happens = (BudgetChanged(Limit.ITERATIONS, 0), Rested(Outcome.BUDGET))
    with pytest.raises(BudgetUsedUp, match="0 of 0 rounds used"):
        control.resume(store, "loop-1")
    assert store.load("loop-1").outcome is Outcome.BUDGET
    resumed = control.resume(store, "loop-1", BudgetChanged(Limit.ITERATIONS, 5, add=True))
    assert (resumed.status, resumed.budget.iterations) == (Status.RUNNING, 5)


def test_the_budget_of_an_ended_loop_is_known_before_it_goes_on(store: JustBefore) -> None:
    ended = control.stop(store, "loop-1")
    assert ended.status is Status.FAILED
    assert control.with_budget(ended, BudgetChanged(Limit.ITERATIONS, 4, add=True)).budget.iterations == 5


@pytest.mark.parametrize("first", [Outcome.STOPPED, Outcome.ABANDONED])
@pytest.mark.parametrize("second", [Outcome.STOPPED, Outcome.ABANDONED])
def test_a_loop_that_obeyed_may_be_told_to_stop_again(store: JustBefore, first: Outcome, second: Outcome) -> None:
    assert control.stop(store, "loop-1", outcome=first).outcome is first
    assert control.stop(store, "loop-1", Urgency.NOW, second).outcome is first


def test_a_stop_that_a_dead_runner_left_is_carried_out_by_the_next_control(store: JustBefore) -> None:
    journal = store.open("loop-1")
    journal.append(StopRequested())
    journal.close()
    with pytest.raises(WrongMove):
        control.resume(store, "loop-1")
    assert store.load("loop-1").outcome is Outcome.STOPPED


def test_an_approval_of_all_refused_files_lets_the_claim_be_judged_again(store: JustBefore) -> None:
    refused = GateResult("check", "pytest", passed=False, reason="tampered", tampered=("tests/a.py", "tests/b.py"))
    journal = store.open("loop-1")
    journal.append(AnswerRead(claimed=True), GatesRan((refused,)), Rested(Outcome.PAUSED))
    journal.close()
    part = control.approve(store, "loop-1", "tests/a.py")
    assert (part.approved, part.claimed) == (("tests/a.py",), False)
    whole = control.approve(store, "loop-1", "tests/b.py", "tests/a.py")
    assert (whole.approved, whole.claimed, whole.gates) == (("tests/a.py", "tests/b.py"), True, ())


def test_an_approval_names_something(store: JustBefore) -> None:
    with pytest.raises(UsageError, match="Nothing to approve"):
        control.approve(store, "loop-1")


@pytest.fixture
def seen(store: JustBefore, tmp_path: Path) -> JustBefore:
    """The loop has begun with a test and a file of the product; the test was then deleted."""
    for name in ("tests/a.py", "product.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1\n")
    workspace = Workspace(str(tmp_path), "loop-1")
    first = workspace.look()
    (tmp_path / "tests/a.py").unlink()
    journal = store.open("loop-1")
    journal.append(WorkspaceSeen(first), WorkspaceSeen(workspace.look(first)), Rested(Outcome.PAUSED))
    journal.close()
    return store


@pytest.mark.parametrize(
    ("name", "says"), [("tests/b.py", "no tests/b.py"), (".", "is a folder"), ("tests/", "is a folder")]
)
def test_an_approval_of_nothing_that_could_have_changed_is_refused(seen: JustBefore, name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        control.approve(seen, "loop-1", name)
    assert not seen.load("loop-1").approved


def test_an_approval_knows_a_file_by_other_ways_to_write_its_path(seen: JustBefore) -> None:
    """A file that was deleted is approved as deleted."""
    approved = control.approve(seen, "loop-1", "./product.py", "tests/../tests/a.py")
    assert approved.approved == ("product.py", "tests/a.py")
    assert approved.approved_contents[1] == approvals.MISSING
