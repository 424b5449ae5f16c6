"""covers: one process of an agent over several rounds: when it goes on, when it is ended, and what becomes of it at the worst moment."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.support import acp_program
from tests.support.boxes import boxes
from tests.support.command_line import until

from untildone.core.events import Entry, GatesRan, LoopCreated, StartRequested, TurnEnded, TurnRetried, TurnStarted
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, Context, LoopSettings, Outcome, SessionUse
from untildone.core.plugins.agent_io import AgentEvent
from untildone.core.protection.sandbox import Sandbox
from untildone.core.protection.secrets import Redactor
from untildone.engine.agent import standby
from untildone.engine.engine import Engine
from untildone.engine.surroundings import IgnoringObserver, Surroundings
from untildone.engine.usage_limits import SharedLimits
from untildone.store.files import FileStore
from untildone.system import orphans
from untildone.system.guard import Guard
from untildone.system.program import listening

__all__ = ["boxes"]

ROUNDS = 3


class Watch(IgnoringObserver):
    """Keeps what happens, and calls `react` with it."""

    def __init__(self, react: Callable[[object], None] = lambda _event: None) -> None:
        self.events: list[object] = []
        self.react = react

    def entry(self, entry: Entry, loop: Loop) -> None:
        self._take(entry.event)

    def agent(self, event: AgentEvent, loop: Loop) -> None:
        self._take(event)

    def _take(self, event: object) -> None:
        self.events.append(event)
        self.react(event)

    @property
    def texts(self) -> list[str]:
        return [event.answer.text for event in self.events if isinstance(event, TurnEnded)]

    @property
    def starts(self) -> list[tuple[int, int, SessionUse]]:
        started = (event for event in self.events if isinstance(event, TurnStarted))
        return [(event.iteration, event.attempt, event.session) for event in started]


class Stage:
    """A loop with an agent that is `acp_program`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.workspace = folder, folder / "workspace"
        self.workspace.mkdir()
        # Processes are found by the name of their loop: other tests run beside this one.
        self.loop_id = f"loop-{uuid.uuid4().hex}"
        self.store = FileStore(folder / ".loop")

    def drive(
        self,
        *behaviour: str,
        watch: Watch | None = None,
        profile: Callable[[str], Mapping[str, str]] = lambda _profile: {},
        on_start: Callable[[Engine], None] = lambda _engine: None,
        task: str = "do it",
        abilities: tuple[str, ...] = ("resume",),
        **settings: object,
    ) -> tuple[Loop, Watch]:
        command = shlex.join((sys.executable, acp_program.__file__, *behaviour))
        choice = AgentChoice("worker", "acp", command=command, abilities=abilities)
        usual = {"retry_delay": 0.01, "review": False, "sandbox": Sandbox.OFF, "promise": None, **settings}
        chosen = LoopSettings("ralph", choice, str(self.workspace), **usual)  # type: ignore[arg-type]
        self.store.create(LoopCreated(self.loop_id, "t", task, chosen, Budget(iterations=ROUNDS)))
        journal = self.store.open(self.loop_id)
        journal.append(StartRequested())
        journal.close()
        watch, limits = watch or Watch(), SharedLimits(self.folder / "limits")
        around = Surroundings({"PATH": "/usr/bin:/bin"}, Redactor({}), Guard(), limits, profile_environment=profile)
        engine = Engine(self.store, around, watch)
        on_start(engine)
        try:
            loop = engine.drive(self.loop_id)
        finally:
            around.guard.close()
        assert not orphans.find(orphans.mark(self.loop_id)[0])
        return loop, watch

    def output(self, iteration: int) -> bytes:
        return b"".join(path.read_bytes() for path in self.folder.glob(f".loop/**/output/{iteration:04}.jsonl"))

    @property
    def pid(self) -> int:
        return int((self.workspace / "program.pid").read_text())


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_one_process_serves_all_rounds_and_ends_with_the_loop(stage: Stage) -> None:
    loop, watch = stage.drive()
    assert watch.texts == ["prompt 1", "prompt 2", "prompt 3"]
    assert [start[2] for start in watch.starts] == [SessionUse.NEW, SessionUse.RESUME, SessionUse.RESUME]
    assert (loop.outcome, loop.spend.iterations) == (Outcome.BUDGET, ROUNDS)


def test_a_session_that_no_other_process_can_open_goes_on_in_the_same_one(stage: Stage) -> None:
    _, watch = stage.drive(abilities=())
    assert watch.texts == ["prompt 1", "prompt 2", "prompt 3"]
    assert [start[2] for start in watch.starts] == [SessionUse.NEW, SessionUse.RESUME, SessionUse.RESUME]


def test_a_fresh_context_gets_a_fresh_process(stage: Stage) -> None:
    _, watch = stage.drive(context=Context.FRESH)
    assert watch.texts == ["prompt 1"] * ROUNDS


def test_another_environment_gets_another_process(stage: Stage) -> None:
    count = iter(range(1000))
    _, watch = stage.drive(profile=lambda _profile: {"COUNT": str(next(count))})
    assert watch.texts == ["prompt 1"] * ROUNDS
    assert [start[2] for start in watch.starts] == [SessionUse.NEW, SessionUse.RESUME, SessionUse.RESUME]


def test_after_some_turns_another_process_resumes_the_session(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standby, "MOST_TURNS", 2)
    _, watch = stage.drive()
    assert watch.texts == ["prompt 1", "prompt 2", "prompt 1"]


def test_it_is_gone_before_the_gates_run(stage: Stage) -> None:
    seen: list[bool] = []

    def look(event: object) -> None:
        if isinstance(event, TurnEnded):
            seen.append(is_gone(stage.pid))

    running = "kill -0 $(cat program.pid)"
    loop, watch = stage.drive(
        "signs",
        task="say <promise>",
        promise="<promise>COMPLETE</promise>",
        checks=(f"! {running}",),
        watch=Watch(look),
    )
    (ran,) = [event for event in watch.events if isinstance(event, GatesRan)]
    assert (loop.outcome, [result.passed for result in ran.results]) == (Outcome.VERIFIED, [True])
    assert seen == [False], "it was still open after its turn"


def test_what_it_prints_after_its_turn_is_no_claim(stage: Stage) -> None:
    loop, watch = stage.drive("late", promise="ALL IS DONE")
    assert watch.texts == [f"prompt {number}" for number in range(1, ROUNDS + 1)]
    assert loop.outcome is Outcome.BUDGET


def test_one_that_is_killed_between_turns_is_started_again_and_no_round_is_lost(stage: Stage) -> None:
    def kill(event: object) -> None:
        if isinstance(event, TurnEnded) and event.iteration == 1:
            os.kill(stage.pid, signal.SIGKILL)
            until(lambda: is_gone(stage.pid))

    loop, watch = stage.drive("signs", watch=Watch(kill))
    assert watch.texts == ["prompt 1", "prompt 1", "prompt 2"]
    assert [start[:2] for start in watch.starts] == [(1, 1), (2, 1), (3, 1)]
    assert loop.spend.iterations == ROUNDS


def test_one_that_dies_in_a_later_turn_is_asked_again_and_the_round_counts_once(stage: Stage) -> None:
    loop, watch = stage.drive("dies-later")
    assert watch.texts == ["prompt 1", "", "prompt 1", "prompt 1"]
    assert [start[:2] for start in watch.starts] == [(1, 1), (2, 1), (2, 2), (3, 1)]
    assert len([event for event in watch.events if isinstance(event, TurnRetried)]) == 1
    assert loop.spend.iterations == ROUNDS


def test_a_later_turn_is_cancelled_by_an_interruption(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "CANCEL_GRACE", 60.0)
    interrupting: list[threading.Thread] = []

    def interrupt_in_second_round(engine: Engine) -> None:
        def interrupt() -> None:
            until(lambda: b"working" in stage.output(2))
            engine.interrupt()

        interrupting.append(threading.Thread(target=interrupt))
        interrupting[0].start()

    loop, watch = stage.drive("cancels-later", on_start=interrupt_in_second_round)
    interrupting[0].join()
    assert (loop.outcome, watch.texts) == (Outcome.INTERRUPTED, ["prompt 1"])
    assert b'"cancelled"' in stage.output(2)


@pytest.mark.usefixtures("boxes")
@pytest.mark.parametrize(
    ("replaces", "texts"), [(True, ["prompt 1", "prompt 1", "prompt 2"]), (False, ["prompt 1", "prompt 2", "prompt 3"])]
)
def test_a_box_that_lost_the_cover_of_a_file_takes_no_further_turn(
    stage: Stage, replaces: bool, texts: list[str]
) -> None:
    settings, draft = stage.workspace / "untildone.toml", stage.workspace / "draft"
    settings.write_text("# mine\n")

    def edit(event: object) -> None:
        if isinstance(event, TurnEnded) and event.iteration == 1:
            draft.write_text("# mine\n")
            draft.replace(settings) if replaces else draft.unlink()

    _, watch = stage.drive(watch=Watch(edit), sandbox=Sandbox.ON)
    assert watch.texts == texts
