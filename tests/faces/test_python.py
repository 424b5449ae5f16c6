"""`import untildone` for programs: its names, its types, and a loop from its creation to its end."""

from __future__ import annotations

import asyncio
import builtins
import json
import os
import pydoc
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import reduce
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import untildone
from untildone import modes
from untildone.core.events import KINDS, Rested, TurnEnded, TurnInterrupted, TurnRetried, TurnStarted
from untildone.core.kinds import Interruption
from untildone.core.model import Answer, Failure, FailureKind, Outcome, Role, SessionUse
from untildone.faces import python as aio
from untildone.settings.declared import AgentProfile, Chosen, Settings, every
from untildone.settings.setting import Setting

ROOT = Path(__file__).parent.parent
NAMES = {
    "approve",
    "bisect",
    "branch",
    "budget",
    "clean",
    "create",
    "delete",
    "diff",
    "duplicate",
    "follow",
    "list",
    "output",
    "pause",
    "receipt",
    "resume",
    "retry",
    "rewind",
    "rounds",
    "run",
    "run_async",
    "say",
    "show",
    "spend",
    "start",
    "stop",
    "tasks",
    "verify",
    "wait",
}
TYPES = {
    "Branch",
    "Entry",
    "Heard",
    "Loop",
    "Money",
    "Outcome",
    "Round",
    "Settings",
    "Status",
    "Subtask",
    "UntilDoneError",
    "Verification",
}

OF_CLIENT = {"AsyncClient", "Client", "LoopLine", "connect", "connect_async"}


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, with a home of nobody else."""
    for name, folder in {"HOME": "home", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}.items():
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")


def test_create_is_typed_for_every_setting() -> None:
    declared, typed = every(modes.own_names()), get_type_hints(Chosen)
    hints = get_type_hints(Settings)
    assert typed == {name: typed_as(hints.get(name) or option_type(each)) for name, each in declared.items()}


def option_type(option: Setting) -> object:
    return Literal[option.choices] if option.choices else type(option.default)


def typed_as(hint: Any) -> object:
    """The type that a program sees for a setting whose value has the type `hint`."""
    known = {tuple[str, ...]: Sequence[str], Mapping[str, AgentProfile]: Mapping[str, Mapping[str, object]]}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Literal[tuple(member.value for member in hint)]
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        return reduce(or_, (typed_as(each) for each in get_args(hint) if each is not NoneType))
    return known.get(hint, hint)


def script(*turns: dict[str, object]) -> list[str]:
    path = Path.cwd().parent / "script.json"
    path.write_text(json.dumps(turns))
    return ["--script", str(path)]


def test_the_names_are_these() -> None:
    assert set(aio.__all__) == NAMES | TYPES
    assert {*untildone.__all__, "list"} == NAMES | TYPES | OF_CLIENT | {"events"}
    for name in NAMES:
        assert getattr(untildone, name) is getattr(aio, name)
    with pytest.raises(AttributeError, match="nothing"):
        _ = untildone.nothing


def test_a_star_import_replaces_no_builtin() -> None:
    assert set(untildone.__all__) & set(dir(builtins)) == set()


def test_dir_and_help_show_every_function_with_its_docstring() -> None:
    assert set(dir(untildone)) >= NAMES | TYPES | OF_CLIENT | {"events"}
    shown = pydoc.plain(pydoc.render_doc(untildone))
    for name in NAMES - {"list"} | {"connect", "connect_async"}:
        assert f" {name}(" in shown
        assert getattr(untildone, name).__doc__, name


def test_importing_it_imports_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import untildone; print(sorted(set(sys.modules) - before))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.stdout == "['untildone']\n", ended.stdout + ended.stderr


def test_every_event_of_the_journal_has_its_name_in_public() -> None:
    for name, kind in KINDS.items():
        in_public = "".join(part.title() for part in name.split("_"))
        assert in_public in untildone.events.__all__
        assert issubclass(getattr(untildone.events, in_public), kind)


FAILURE = Failure(FailureKind.CRASHED, "it crashed")


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize(
    ("make", "ending"),
    [
        (lambda role: TurnStarted(role, 1, 1, "scripted", SessionUse.NEW, "Go"), "Start"),
        (lambda role: TurnEnded(role, 1, Answer("Done"), 1.0), "Complete"),
        (lambda role: TurnInterrupted(role, 1, Interruption.CONTROL), "Interrupted"),
        (lambda role: TurnRetried(role, 1, 2, FAILURE, 0.0), "Retry"),
    ],
)
def test_turns_match_by_the_name_that_the_journal_has_for_their_role(role: Role, make: Any, ending: str) -> None:
    event, own = make(role), "Iteration" if role is Role.WORKER else "Consultation"
    kinds = [
        kind for kind in ("Iteration", "Consultation") if isinstance(event, getattr(untildone.events, kind + ending))
    ]
    assert kinds == [own]


@pytest.mark.parametrize("outcome", Outcome)
def test_a_rest_matches_by_how_the_loop_rests(outcome: Outcome) -> None:
    match Rested(outcome, "because"):
        case untildone.events.TaskComplete(outcome=found, reason="because"):
            name = "completed"
        case untildone.events.LoopPaused(found, _):
            name = "paused"
        case untildone.events.LoopFailed(outcome=found):
            name = "failed"
    assert (found, name) == (outcome, outcome.status.value)


@pytest.mark.slow
def test_a_type_checker_knows_them(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import untildone\n\n\nasync def main() -> None:\n"
        "    reveal_type(await untildone.create('x'))\n"
        "    reveal_type(await untildone.list())\n"
        "    reveal_type(untildone.connect('x').list())\n"
        "    untildone.run('x', max_iteration=3)\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, str(program)]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert "core.loop.Loop" in checked.stdout, checked.stdout + checked.stderr
    assert "tuple[untildone.core.loop.Loop, ...]" in checked.stdout
    assert "tuple[untildone.faces.client.values.LoopLine, ...]" in checked.stdout
    assert 'did you mean "max_iterations"?' in checked.stdout


def test_a_loop_from_its_creation_to_its_end() -> None:
    async def story() -> None:
        args = script({"say": "more", "sleep": 0.2}, {"say": "done", "claim": True, "write": {"a": "b"}})
        loop = await untildone.create("[r=1] A job", agent="scripted", args=args, checks=["test -s a"])
        assert (loop.status, loop.budget.iterations) == (untildone.Status.CREATED, 1)
        await untildone.start(loop)
        seen = [entry.seq async for entry in untildone.follow(loop)]
        assert seen == list(range(1, len(seen) + 1))
        rested = await untildone.wait(loop)
        assert rested.outcome is untildone.Outcome.BUDGET
        heard = await untildone.say(loop, "[r+2] go on")
        assert (heard.goes_on, heard.notices) == (True, ("Added 2 rounds. Remaining: 2",))
        ended = await untildone.wait(loop)
        assert (ended.outcome, ended.spend.iterations) == (untildone.Outcome.VERIFIED, 2)
        (check,) = await untildone.verify(loop.loop_id)
        assert check.agrees
        (check,) = await untildone.verify(loop, room="plain")
        assert (check.holds, check.same_workspace, check.now.room) == (True, True, "plain")
        with pytest.raises(untildone.UntilDoneError, match="no room `cellar`"):
            await untildone.verify(loop, room="cellar")
        assert [each.loop_id for each in await untildone.list()] == [loop.loop_id]
        assert await untildone.show("last") == ended

    asyncio.run(asyncio.wait_for(story(), 90))


def test_controls_and_mistakes() -> None:
    async def story() -> None:
        loop = await untildone.create("A job", agent="scripted", args=["--scenario", "hang"])
        changed = await untildone.budget(loop, iterations="+5", cost=2.5, minutes="none")
        assert (changed.budget.iterations, changed.budget.cost_usd) == (10, 2.5)
        for wrong in ({"iterations": "many"}, {"iterations": 0}, {"hours": 1}, {"cost": "-1"}):
            with pytest.raises(untildone.UntilDoneError):
                await untildone.budget(loop, **wrong)
        with pytest.raises(untildone.UntilDoneError, match="cannot be paused"):
            await untildone.pause(loop)
        await untildone.start(loop)
        await untildone.pause(loop, now=True)
        assert (await untildone.wait(loop)).outcome is untildone.Outcome.PAUSED
        await untildone.resume(loop)
        await untildone.stop(loop, now=True)
        assert (await untildone.wait(loop)).outcome is untildone.Outcome.STOPPED
        with pytest.raises(untildone.UntilDoneError, match="There is no loop"):
            await untildone.show("nobody")

    asyncio.run(asyncio.wait_for(story(), 90))


def test_run_creates_starts_and_waits() -> None:
    names: list[str] = []
    args = script({"say": "more"}, {"say": "done", "claim": True, "write": {"a": "b"}})
    loop = untildone.run(
        "A job",
        on_event=lambda entry: names.append(untildone.events.name_of(entry.event)),
        agent="scripted",
        args=args,
        checks=["test -s a"],
    )
    assert (loop.outcome, loop.spend.iterations) == (untildone.Outcome.VERIFIED, 2)
    assert (names[0], names[-1]) == ("loop_created", "task_complete")
    assert names.count("iteration_complete") == 2

    async def look_back() -> None:
        first, second = await untildone.rounds(loop)
        assert (first.words, first.claimed, second.claimed) == ("more", False, True)
        assert [result.passed for result in second.gates] == [True]
        assert "more" in await untildone.output(loop, 1)
        assert "done" in await untildone.output(loop)
        assert (await untildone.receipt(loop))["outcome"] == "verified"
        assert await untildone.tasks(loop) == ()
        with pytest.raises(untildone.UntilDoneError, match="no output of the supervisor in round 2"):
            await untildone.output(loop, role="supervisor")
        fresh = await untildone.create("Another", agent="scripted")
        with pytest.raises(untildone.UntilDoneError, match="no receipt yet"):
            await untildone.receipt(fresh)
        with pytest.raises(untildone.UntilDoneError, match="running event loop"):
            untildone.run("Never", agent="scripted")
        assert len(await untildone.list()) == 2

    asyncio.run(asyncio.wait_for(look_back(), 90))


def test_a_run_that_is_cancelled_leaves_a_paused_loop() -> None:
    async def story() -> None:
        started = asyncio.Event()

        def watch(entry: untildone.Entry) -> None:
            if isinstance(entry.event, untildone.events.IterationStart):
                started.set()

        running = untildone.run_async("A job", agent="scripted", args=["--scenario", "hang"], on_event=watch)
        task = asyncio.create_task(running)
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await untildone.wait("last")).outcome is untildone.Outcome.PAUSED
        await untildone.stop("last", now=True)

    asyncio.run(asyncio.wait_for(story(), 90))


def test_an_exception_of_on_event_pauses_the_loop() -> None:
    def refuse(entry: untildone.Entry) -> None:
        if isinstance(entry.event, untildone.events.IterationStart):
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        untildone.run("A job", agent="scripted", args=["--scenario", "hang"], on_event=refuse)
    rested = asyncio.run(asyncio.wait_for(untildone.wait("last"), 90))
    assert rested.outcome is untildone.Outcome.PAUSED


def test_ctrl_c_pauses_the_loop_of_run() -> None:
    program = """
import untildone
def tell(entry):
    print(untildone.events.name_of(entry.event), flush=True)
untildone.run("A job", agent="scripted", args=["--scenario", "hang"], on_event=tell)
"""
    running = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert "iteration_start\n" in iter(running.stdout.readline, "")
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    rested = asyncio.run(asyncio.wait_for(untildone.wait("last"), 90))
    assert rested.outcome is untildone.Outcome.PAUSED
