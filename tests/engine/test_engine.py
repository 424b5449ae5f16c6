"""The engine, and people who write to the journal at the worst moment."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from untildone.core.actions import AwaitPerson
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    Entry,
    Event,
    GatesRan,
    LoopCreated,
    MessageSent,
    Rested,
    RunnerLeased,
    StartRequested,
    TurnStarted,
    WorkspaceSeen,
)
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, GateResult, LoopSettings, Outcome, Status
from untildone.core.plugins.agent_io import AgentEvent
from untildone.core.protection.sandbox import Sandbox
from untildone.core.protection.secrets import Redactor
from untildone.core.values.value import replace
from untildone.engine.engine import Engine
from untildone.engine.surroundings import IgnoringObserver, Surroundings
from untildone.engine.usage_limits import SharedLimits
from untildone.operations import control
from untildone.store.files import FileStore
from untildone.system import orphans
from untildone.system.guard import Guard
from untildone.workspace.look import Workspace

UNBOXED = Sandbox.OFF
"""These agents write down their calls beside the workspace."""


def agent(folder: Path, answer: str, works: str = "") -> AgentChoice:
    program = folder / "agent.sh"
    program.write_text(
        f'#!/bin/sh\ncat > /dev/null\necho call >> "{folder}/calls"\n{works}\necho "Process $$ worked. {answer}"\n'
    )
    program.chmod(0o755)
    return AgentChoice("worker", "command", command=str(program))


NO_LIMITS = Budget()


class SpeaksAt(IgnoringObserver):
    """Appends an event the first time that an entry, or a word of the agent, of some kind is seen: before the engine's next write."""

    def __init__(self, store: FileStore, when: str, event: Event) -> None:
        self.store, self.when, self.event = store, when, event
        self.spoken = False

    def entry(self, entry: Entry, loop: Loop) -> None:
        self.react(entry.event, loop)

    def agent(self, event: AgentEvent, loop: Loop) -> None:
        self.react(event, loop)

    def react(self, event: Event | AgentEvent, loop: Loop) -> None:
        if not self.spoken and type(event).__name__ == self.when:
            self.spoken = True
            journal = self.store.open(loop.loop_id)
            journal.append(self.event)
            journal.close()


class LeavesWhileAnotherSpeaks:
    """A person leaves the terminal while another person sends a message."""

    def __init__(self, store: FileStore) -> None:
        self.store, self.asked = store, 0

    def ask(self, _question: AwaitPerson, loop: Loop, _moved_on: Callable[[], bool]) -> str | None:
        self.asked += 1
        if self.asked == 1:
            journal = self.store.open(loop.loop_id)
            journal.append(MessageSent("and the docs"))
            journal.close()
        return None

    def tell(self, notice: str) -> None:
        return


class NotesAtFirstTurn(IgnoringObserver):
    """Notes with which exit code a process had ended when the first turn began."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.code: int | None = None

    def entry(self, entry: Entry, loop: Loop) -> None:
        if isinstance(entry.event, TurnStarted):
            self.code = self.process.poll()


def test_who_leaves_does_not_end_what_another_just_asked_for(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    store = FileStore(tmp_path / ".loop")
    settings = LoopSettings(
        "supervise",
        agent(tmp_path, "Built."),
        str(workspace),
        checks=("true",),
        interactive=True,
        review=False,
        sandbox=UNBOXED,
    )
    store.create(LoopCreated("loop-1", "t", "do it", settings, Budget(iterations=5)))
    journal = store.open("loop-1")
    journal.append(StartRequested())
    journal.close()
    around = Surroundings({"PATH": "/usr/bin:/bin"}, Redactor({}), Guard(), SharedLimits(tmp_path / "limits"))
    person = LeavesWhileAnotherSpeaks(store)
    try:
        loop = Engine(store, around, None, person).drive("loop-1")
    finally:
        around.guard.close()
    assert (loop.outcome, loop.spend.iterations, person.asked) == (Outcome.VERIFIED, 2, 2)


def drive(
    tmp_path: Path, answer: str, when: str, event: Event, rounds: int, *, works: str = "", budget: Budget = NO_LIMITS
) -> Loop:
    (tmp_path / "workspace").mkdir()
    store = FileStore(tmp_path / ".loop")
    choice, observer = agent(tmp_path, answer, works), SpeaksAt(store, when, event)
    return driven(tmp_path, store, choice, observer, replace(budget, iterations=rounds))


def driven(
    tmp_path: Path,
    store: FileStore,
    choice: AgentChoice,
    observer: IgnoringObserver,
    budget: Budget,
    guard: Guard | None = None,
) -> Loop:
    settings = LoopSettings("ralph", choice, str(tmp_path / "workspace"), sandbox=UNBOXED)
    store.create(LoopCreated("loop-1", "t", "do it", settings, budget))
    journal = store.open("loop-1")
    journal.append(StartRequested())
    journal.close()
    around = Surroundings({"PATH": "/usr/bin:/bin"}, Redactor({}), guard or Guard(), SharedLimits(tmp_path / "limits"))
    try:
        return Engine(store, around, observer).drive("loop-1")
    finally:
        around.guard.close()


def test_rounds_given_while_the_budget_ends_are_used(tmp_path: Path) -> None:
    """The message lands after the engine decided to rest and before it wrote so."""
    loop = drive(tmp_path, "not yet", "AnswerRead", MessageSent("[r+2] go on"), rounds=1)
    assert (loop.status, loop.outcome, loop.spend.iterations) == (Status.PAUSED, Outcome.BUDGET, 3)
    assert len((tmp_path / "calls").read_text().splitlines()) == 3


def test_a_message_that_lands_on_a_claim_is_not_lost(tmp_path: Path) -> None:
    loop = drive(tmp_path, "<promise>COMPLETE</promise>", "AnswerRead", MessageSent("and the docs"), rounds=5)
    assert (loop.status, loop.outcome, loop.spend.iterations) == (Status.COMPLETED, Outcome.CLAIMED, 2)
    assert loop.asked == ("do it", "and the docs")


@pytest.mark.parametrize("limit", [Limit.MINUTES, Limit.ITERATION_TIMEOUT])
def test_less_time_given_while_the_agent_works_ends_the_turn(tmp_path: Path, limit: Limit) -> None:
    change = BudgetChanged(limit, 0.0)
    budget = Budget(minutes=60, iteration_timeout=3600)
    works = "echo at work; sleep 20"
    loop = drive(tmp_path, "<promise>COMPLETE</promise>", "Said", change, rounds=1, works=works, budget=budget)
    assert (loop.outcome, loop.spend.iterations) == (Outcome.BUDGET, 1)


@pytest.mark.parametrize("limit", [Limit.MINUTES, Limit.ITERATION_TIMEOUT])
def test_more_time_given_while_the_agent_works_is_used(tmp_path: Path, limit: Limit) -> None:
    budget = Budget(minutes=0.005) if limit is Limit.MINUTES else Budget(iteration_timeout=0.3)
    change = BudgetChanged(limit, 600.0, add=True)
    loop = drive(
        tmp_path, "<promise>COMPLETE</promise>", "TurnStarted", change, rounds=1, works="sleep 2", budget=budget
    )
    assert (loop.outcome, loop.spend.iterations) == (Outcome.CLAIMED, 1)


class CallsWhileItLeaves(Guard):
    """Calls a function when the runner has nothing left to do for the loop, and still holds its lease."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__()
        self.call = call

    def forget(self, mark: str) -> None:
        self.call()
        super().forget(mark)


def resting(tmp_path: Path, while_it_leaves: Callable[[FileStore], object]) -> tuple[FileStore, Loop]:
    (tmp_path / "workspace").mkdir()
    store = FileStore(tmp_path / ".loop")
    choice = agent(tmp_path, "\n<blocked>Which database?</blocked>")
    guard = CallsWhileItLeaves(lambda: while_it_leaves(store))
    return store, driven(tmp_path, store, choice, IgnoringObserver(), Budget(iterations=5), guard)


def test_a_stop_that_comes_while_the_runner_leaves_is_obeyed(tmp_path: Path) -> None:
    store, loop = resting(tmp_path, lambda store: control.stop(store, "loop-1"))
    assert (loop.status, loop.outcome) == (Status.FAILED, Outcome.STOPPED)
    assert store.load("loop-1").outcome is Outcome.STOPPED
    assert not store.is_driven("loop-1")


def test_an_answer_that_comes_while_the_runner_leaves_needs_a_new_runner(tmp_path: Path) -> None:
    heard: list[control.Heard] = []
    store, loop = resting(tmp_path, lambda store: heard.append(control.say(store, "loop-1", "staging")))
    assert loop.outcome is Outcome.BLOCKED
    assert [(one.goes_on, one.has_driver) for one in heard] == [(True, False)]
    assert store.load("loop-1").status is Status.RUNNING


# The first rounds last until nothing of git's own is so new that only git tells.
@pytest.mark.parametrize("begun", [False, True])
def test_nothing_is_written_behind_the_end(tmp_path: Path, begun: bool) -> None:
    """Seed 1 of chaos, stories 49 and 175: who came to a loop in the moment of its end looked at the workspace, and wrote that down."""
    (tmp_path / "workspace").mkdir()
    place, store = Workspace(str(tmp_path / "workspace")), FileStore(tmp_path / ".loop")
    settings = LoopSettings("ralph", agent(tmp_path, "Built."), place.path, checks=("true",), sandbox=UNBOXED)
    store.create(LoopCreated("loop-1", "t", "do it", settings, Budget(iterations=5)))
    judged = (
        WorkspaceSeen(place.look(None)),
        AnswerRead(claimed=True),
        GatesRan((GateResult("check", "true", passed=True),), seen="as it was"),
    )
    journal = store.open("loop-1")
    journal.append(StartRequested(), *(judged if begun else ()), Rested(Outcome.STOPPED))
    before = tuple(entry.event for entry in journal.entries())
    journal.close()
    around = Surroundings({"PATH": "/usr/bin:/bin"}, Redactor({}), Guard(), SharedLimits(tmp_path / "limits"))
    try:
        Engine(store, around).drive("loop-1")
    finally:
        around.guard.close()
    *after, leased = (entry.event for entry in store.open("loop-1").entries())
    assert (tuple(after), type(leased)) == (before, RunnerLeased)


@pytest.mark.parametrize("damage", [False, True])
def test_a_process_that_a_dead_runner_left_ends_before_the_next_runner_works(tmp_path: Path, *, damage: bool) -> None:
    """Also if its agent cut off the entry of that runner, as one could without a box."""
    (tmp_path / "workspace").mkdir()
    store = FileStore(tmp_path / ".loop")
    settings = LoopSettings(
        "ralph", agent(tmp_path, "<promise>COMPLETE</promise>"), str(tmp_path / "workspace"), sandbox=UNBOXED
    )
    store.create(LoopCreated("loop-1", "t", "do it", settings, Budget(iterations=1)), StartRequested())
    journal = store.progress("loop-1") / "execution.log.jsonl"
    before = journal.read_bytes()
    with store.lease("loop-1"):
        pass
    if damage:
        journal.write_bytes(before)
    name, value = orphans.mark("loop-1")
    around = Surroundings({"PATH": "/usr/bin:/bin"}, Redactor({}), Guard(), SharedLimits(tmp_path / "limits"))
    with subprocess.Popen(["sleep", "60"], env={"PATH": "/usr/bin:/bin", name: value}) as left:
        try:
            watch = NotesAtFirstTurn(left)
            Engine(store, around, watch).drive("loop-1")
        finally:
            around.guard.close()
            left.kill()
    assert watch.code == -signal.SIGTERM
