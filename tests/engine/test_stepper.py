"""The stepper with pretend hands: which action goes to which hand, what is written when, and the end under the lease.

Covers: `engine/stepper.py`, `engine/leasing.py`, `engine/archiving.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from untildone.core.actions import Action, AskAgent, AwaitPerson, Record, Rest, RunGates, Wait
from untildone.core.errors import LoopBusy, StoreError
from untildone.core.events import (
    AnswerRead,
    Event,
    GatesRan,
    LimitReached,
    LoopCreated,
    MessageSent,
    PauseRequested,
    Rested,
    SessionOpened,
    StartRequested,
    StopRequested,
    TurnEnded,
    TurnInterrupted,
    TurnStarted,
)
from untildone.core.kinds import Host, Interruption
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
from untildone.engine import archiving
from untildone.engine.leasing import leased
from untildone.engine.stepper import HostParts, Stepper
from untildone.engine.stepper_ports import Idle, Next, WorkspaceAfterTurn
from untildone.engine.usage_limits import SharedLimits
from untildone.store.files import FileStore
from untildone.testing.driver import NOON

SOURCE = Path(__file__).parent.parent.parent / "src" / "untildone"
WORKER = AgentChoice("worker", "scripted")
STARTED = TurnStarted(Role.WORKER, 1, 1, "worker", SessionUse.NEW, "Go on.")
PASSED = GateResult("check", "true", passed=True)


class Notes(Idle):
    """Hands that note which of them was called, write one entry, and go on as often as they are allowed to."""

    def __init__(self, stepper: Stepper, goes_on: int = 0) -> None:
        self.called: list[str] = []
        self._stepper = stepper
        self._goes_on = goes_on

    def _note(self, name: str) -> Next:
        self.called.append(name)
        self._stepper.write(MessageSent(name))
        return Next.GO_ON if len(self.called) <= self._goes_on else Next.LEAVE

    def ask(self, action: AskAgent) -> Next:
        return self._note("ask")

    def gates(self, action: RunGates) -> Next:
        return self._note("gates")

    def wait(self, action: Wait) -> Next:
        return self._note("wait")

    def person(self, action: AwaitPerson) -> Next:
        return self._note("person")


class GoesOn(Idle):
    """Hands that do nothing and say that something was done."""

    def ask(self, action: AskAgent) -> Next:
        return Next.GO_ON

    def gates(self, action: RunGates) -> Next:
        return Next.GO_ON


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    (tmp_path / "workspace").mkdir()
    return FileStore(tmp_path / ".loop")


@pytest.fixture
def stepper(store: FileStore) -> Iterator[Stepper]:
    with leased(store, started(store), Host.TERMINAL, parts=HostParts(clock=lambda: NOON)) as stepper:
        yield stepper


def started(store: FileStore, *events: Event, checks: tuple[str, ...] = (), mode: str = "ralph") -> str:
    """A loop with these entries after its start; its id."""
    settings = LoopSettings(mode, WORKER, str(store.home / "workspace"), checks=checks)
    store.create(LoopCreated("loop-1", "t", "Make it work.", settings, Budget(iterations=5)))
    with closing(store.open("loop-1")) as journal:
        journal.append(StartRequested(), *events)
    return "loop-1"


def written(store: FileStore) -> list[Event]:
    with closing(store.open("loop-1")) as journal:
        return [entry.event for entry in journal.entries()]


ACTIONS: list[tuple[tuple[Event, ...], tuple[str, ...], list[str]]] = [
    ((), (), ["ask"]),
    ((STARTED,), (), ["ask"]),
    ((STARTED, TurnEnded(Role.WORKER, 1, Answer("Done."), 1.0), AnswerRead(claimed=True)), ("true",), ["gates"]),
    ((LimitReached("worker", NOON * 2, "at its limit"),), (), ["wait"]),
    ((STARTED, TurnInterrupted(Role.WORKER, 1, Interruption.PERSON)), (), ["person"]),
    ((PauseRequested(),), (), []),
    ((StopRequested(),), (), []),
    ((Rested(Outcome.PAUSED),), (), []),
]


@pytest.mark.parametrize(("events", "checks", "called"), ACTIONS)
def test_each_action_goes_to_its_hand(
    store: FileStore, events: tuple[Event, ...], checks: tuple[str, ...], called: list[str]
) -> None:
    with leased(
        store, started(store, *events, checks=checks), Host.TERMINAL, parts=HostParts(clock=lambda: NOON)
    ) as stepper:
        hands = Notes(stepper)
        loop = stepper.run(hands)
        assert hands.called == called
        assert (loop.outcome is None) is bool(called)


def test_the_stepper_decides_again_until_the_hands_leave(stepper: Stepper) -> None:
    hands = Notes(stepper, goes_on=2)
    stepper.run(hands)
    assert hands.called == ["ask", "ask", "ask"]


def test_an_action_that_the_stepper_does_not_know_is_an_error_at_once(stepper: Stepper) -> None:
    with pytest.raises(AssertionError):
        stepper.carry_out(cast(Action, "dance"), Notes(stepper))


@pytest.mark.parametrize(("events", "checks", "called"), [row for row in ACTIONS if row[2] in (["ask"], ["gates"])])
def test_an_action_that_hands_do_not_do_is_an_error_at_once(
    store: FileStore, events: tuple[Event, ...], checks: tuple[str, ...], called: list[str]
) -> None:
    lazy = pytest.raises(RuntimeError, match=r"did nothing for (AskAgent|RunGates)")
    with leased(store, started(store, *events, checks=checks), Host.TERMINAL) as stepper, lazy:
        stepper.run(GoesOn())


def test_settling_writes_what_only_needs_writing_and_returns_the_rest(store: FileStore) -> None:
    with leased(store, started(store, STARTED), Host.TERMINAL) as stepper:
        assert isinstance(stepper.settle(), AskAgent)
    assert written(store)[-1] == TurnInterrupted(Role.WORKER, 1, Interruption.CRASH)
    with leased(store, "loop-1", Host.TERMINAL) as stepper:
        stepper.write(PauseRequested())
        assert stepper.settle() == Rest(Outcome.PAUSED)


def test_a_decision_is_not_written_over_a_control_that_came_first(store: FileStore, stepper: Stepper) -> None:
    action = stepper.decide()
    assert isinstance(action, AskAgent)
    with closing(store.open("loop-1")) as other:
        other.append(PauseRequested())
    assert not stepper.begin_turn(action, "Go on.", SessionOpened(Role.WORKER, "worker", "s"))
    assert stepper.loop.turn is None
    assert stepper.settle() == Rest(Outcome.PAUSED)


def test_a_turn_is_on_disk_before_anything_is_spent(store: FileStore, stepper: Stepper) -> None:
    action = stepper.decide()
    assert isinstance(action, AskAgent)
    assert stepper.begin_turn(action, "Go on.")
    turn = store.load("loop-1").turn
    assert turn is not None
    assert (turn.role, turn.iteration, turn.profile) == (Role.WORKER, 1, "worker")


def test_what_is_foreseen_is_not_written(store: FileStore, stepper: Stepper) -> None:
    before = written(store)
    loop, action = stepper.foresee(PauseRequested())
    assert loop.pause is not None
    assert isinstance(action, Record)
    assert (stepper.loop.pause, written(store)) == (None, before)


def test_the_end_of_a_turn_is_looked_at_with_the_entry_at_hand(store: FileStore) -> None:
    with leased(store, started(store, STARTED), Host.TERMINAL) as stepper:
        seen: list[TurnEnded] = []

        def look(ended: TurnEnded) -> WorkspaceAfterTurn:
            seen.append(ended)
            return WorkspaceAfterTurn(Changes("after"), "Not committed.")

        stepper.end_turn(Role.WORKER, 1, Answer("Done."), 2.0, look)
    assert seen == [TurnEnded(Role.WORKER, 1, Answer("Done."), 2.0)]
    assert written(store)[-1] == TurnEnded(
        Role.WORKER, 1, Answer("Done."), 2.0, Changes("after"), note="Not committed."
    )


@pytest.mark.parametrize("changes", [False, True])
def test_gate_results_hold_only_for_the_workspace_that_the_gates_saw(store: FileStore, changes: bool) -> None:
    ended = TurnEnded(Role.WORKER, 1, Answer("Done."), 1.0)
    with leased(store, started(store, STARTED, ended, checks=("true",)), Host.TERMINAL) as stepper:
        stepper.look_first()
        stepper.write(AnswerRead(claimed=True))
        stepper.write(GatesRan((PASSED,), 1.0, stepper.workspace.look(None).fingerprint))
        if changes:
            (store.home / "workspace" / "file").write_text("new")
        assert stepper.recheck() is changes
        action = stepper.settle()
    assert isinstance(action, RunGates) is changes
    assert (store.load("loop-1").outcome is Outcome.VERIFIED) is not changes


def test_a_usage_limit_is_shared_by_every_host(store: FileStore, tmp_path: Path) -> None:
    limit = Failure(FailureKind.LIMIT, "at its limit", reset_at=NOON + 100)
    ended = TurnEnded(Role.WORKER, 1, Answer(failure=limit), 1.0)
    limits = SharedLimits(tmp_path / "limits")
    with leased(
        store, started(store, STARTED, ended), Host.NONE, parts=HostParts(clock=lambda: NOON, limits=limits)
    ) as stepper:
        assert isinstance(stepper.settle(), Wait)
    shared = limits.find("worker", NOON)
    assert shared is not None
    assert shared.until == NOON + 100


class Watched(FileStore):
    """A store that notes whether the lease was held while a loop was archived."""

    def __init__(self, root: Path, fails: Callable[[], None] = lambda: None) -> None:
        super().__init__(root)
        self.archived_with_lease: list[bool] = []
        self._fails = fails

    def archive(self, loop_id: str, receipt: str, report: str) -> None:
        self._fails()
        self.archived_with_lease.append(self.is_driven(loop_id))
        super().archive(loop_id, receipt, report)


def test_a_loop_that_has_ended_is_archived_before_its_lease_is_released(store: FileStore) -> None:
    watched = Watched(store.root)
    with leased(watched, started(watched, StopRequested()), Host.NONE) as stepper:
        stepper.settle()
        assert watched.receipt("loop-1") is None
    assert watched.archived_with_lease == [True]
    assert not watched.is_driven("loop-1")
    assert watched.receipt("loop-1") is not None
    assert watched.load("loop-1") == stepper.loop
    assert (watched.live_ids(), watched.ids()) == ((), ("loop-1",))
    assert not list(store.root.glob("loop-1*")), "a checkpoint written late would keep the loop out of the history"


def test_a_loop_that_only_rests_is_not_archived(store: FileStore) -> None:
    watched = Watched(store.root)
    with leased(watched, started(watched, PauseRequested()), Host.NONE) as stepper:
        stepper.settle()
    assert (watched.archived_with_lease, stepper.loop.status) == ([], Status.PAUSED)


def test_a_loop_whose_runner_died_before_the_archive_is_archived_later_and_once(store: FileStore) -> None:
    def dies() -> None:
        raise StoreError("The disk is full.", "make room")

    watched = Watched(store.root, dies)
    with pytest.raises(StoreError), leased(watched, started(watched, StopRequested()), Host.NONE) as stepper:
        stepper.settle()
    assert store.live_ids() == ("loop-1",)
    ended = store.load("loop-1")
    for _ in range(2):
        archiving.recover(store, "loop-1")
    assert (store.live_ids(), store.load("loop-1")) == ((), ended)
    assert store.receipt("loop-1") is not None


def test_what_another_runner_has_is_left_to_it(store: FileStore) -> None:
    started(store, StopRequested())
    with store.lease("loop-1") as journal:
        journal.append(Rested(Outcome.STOPPED))
        archiving.recover(store, "loop-1")
        assert store.live_ids() == ("loop-1",)
        with pytest.raises(LoopBusy), leased(store, "loop-1", Host.NONE):
            pass


def calls_of(path: Path, *names: str) -> set[str]:
    """The names among these that a module calls."""
    called = {node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)}
    found = {func.id for func in called if isinstance(func, ast.Name)}
    return (found | {func.attr for func in called if isinstance(func, ast.Attribute)}) & set(names)


def test_only_the_stepper_builds_the_entries_of_a_turn() -> None:
    builders = {path for path in SOURCE.rglob("*.py") if calls_of(path, "TurnStarted", "TurnEnded")}
    assert builders == {SOURCE / "engine" / "stepper.py"}


def test_only_the_stepper_imports_decide() -> None:
    asking = {path for path in SOURCE.rglob("*.py") if "core.decide import" in path.read_text()}
    assert asking == {SOURCE / "engine" / "stepper.py"}
