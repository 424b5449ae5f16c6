"""`import untildone` for programs: its names, its types, and a loop from its creation to its end."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import untildone
from untildone import modes
from untildone.faces import python as aio
from untildone.settings.declared import SETTINGS, Chosen, every

ROOT = Path(__file__).parent.parent
NAMES = {
    "approve",
    "bisect",
    "budget",
    "clean",
    "create",
    "delete",
    "diff",
    "duplicate",
    "follow",
    "list",
    "pause",
    "resume",
    "retry",
    "rewind",
    "say",
    "show",
    "start",
    "stop",
    "verify",
    "wait",
}
TYPES = {"Entry", "Heard", "Loop", "Outcome", "Status", "UntilDoneError", "Verification"}


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
    assert set(SETTINGS) <= set(Chosen.__annotations__) <= set(every(modes.own_names()))


def script(*turns: dict[str, object]) -> list[str]:
    path = Path.cwd().parent / "script.json"
    path.write_text(json.dumps(turns))
    return ["--script", str(path)]


def test_the_names_are_these() -> None:
    assert set(untildone.__all__) == set(aio.__all__) == NAMES | TYPES
    for name in NAMES:
        assert getattr(untildone, name) is getattr(aio, name)
    with pytest.raises(AttributeError, match="nothing"):
        _ = untildone.nothing


@pytest.mark.slow
def test_a_type_checker_knows_them(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import untildone\n\n\nasync def main() -> None:\n"
        "    reveal_type(await untildone.create('x'))\n"
        "    reveal_type(await untildone.list())\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, str(program)]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert "core.loop.Loop" in checked.stdout, checked.stdout + checked.stderr
    assert "tuple[untildone.core.loop.Loop, ...]" in checked.stdout


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
