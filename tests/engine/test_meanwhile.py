"""What is looked at while the commands of gates run in a sealed room: programs, and signs of tampering; and rooms that cannot be made."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.support.boxes import boxes

from untildone.core.actions import RunCommand
from untildone.core.events import WorkspaceSeen
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, LoopSettings, RoomKind
from untildone.core.plugins.gate import CommandEnd, CommandRan
from untildone.core.values.value import replace
from untildone.engine.verdicts import gating, judging, loop_rooms
from untildone.workspace.look import Workspace
from untildone.workspace.rooms.refusal import RoomNotMade, again_if_void
from untildone.workspace.shadow import Reading

__all__ = ["boxes"]
pytestmark = pytest.mark.usefixtures("boxes")

LONG = "sleep 60"


class Claim:
    """A loop in a folder with a program of the person on PATH."""

    def __init__(self, folder: Path, command: str, room: RoomKind = RoomKind.SEALED) -> None:
        self.command = command
        self.folder = folder / "work"
        self.program = folder / "bin" / "runner"
        for path in (self.folder, self.program.parent):
            path.mkdir()
        self.program.write_text("#!/bin/sh\nexit 1\n")
        self.program.chmod(0o755)
        (self.folder / "calc.py").write_text("1\n")
        (self.folder / ".gitignore").write_text("pytest.ini\n")
        self.workspace = Workspace(str(self.folder), "loop-meanwhile")
        settings = LoopSettings(
            "ralph", AgentChoice("command", "command"), str(self.folder), checks=(command,), room=room
        )
        loop = Loop("loop-meanwhile", "test", "test", settings, Budget(), time.time(), time.time())
        seen = loop_rooms.recorded(WorkspaceSeen(self.workspace.look()), loop, self.workspace)
        self.loop = replace(loop, start=seen.changes, start_record=seen.record, start_programs=seen.programs)

    def judge(self) -> judging.Judge:
        changes = self.workspace.look(self.loop.start, reading=Reading.ALL)
        base = gating.Room(str(self.folder), os.environ, lambda: False)
        return judging.Judge(replace(self.loop, changes=changes), self.workspace, (), base)

    def finding(self, judge: judging.Judge) -> CommandRan:
        found = judge.findings([RunCommand(self.command, 600)], lambda _command: None, lambda: False)
        assert found is not None
        return found[self.command]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return tmp_path


def replace_program(claim: Claim) -> None:
    """Put another program in the place of the person's."""
    claim.program.write_text("#!/bin/sh\nexit 0\n")


def test_a_replaced_program_refuses_a_claim_whose_check_has_passed(place: Path) -> None:
    claim = Claim(place, "runner")
    replace_program(claim)
    ran = claim.finding(claim.judge())
    assert "Programs are not those" in ran.problem
    assert ran.judge_changed == (str(claim.program),)


def test_a_check_does_not_go_on_if_a_program_was_replaced(place: Path) -> None:
    claim, started = Claim(place, LONG), time.monotonic()
    replace_program(claim)
    assert "Programs are not those" in claim.finding(claim.judge()).problem
    assert time.monotonic() - started < 50


def test_a_replaced_program_does_not_run_where_it_could_hide_itself(place: Path) -> None:
    claim = Claim(place, "runner", RoomKind.RESTORED)
    claim.program.write_text(f"#!/bin/sh\ntouch {place}/ran\n")
    assert "Programs are not those" in claim.finding(claim.judge()).problem
    assert not (place / "ran").exists()


@pytest.mark.parametrize("room", [RoomKind.SEALED, RoomKind.RESTORED])
def test_signs_are_those_of_the_claim_whatever_the_check_writes(place: Path, room: RoomKind) -> None:
    claim = Claim(place, "mkdir src; echo 1 > src/pytest.ini", room)
    (claim.folder / "pytest.ini").write_text("1\n")
    judge = claim.judge()
    assert claim.finding(judge).exit_code == 0
    assert "pytest.ini" in " ".join(judge.signs())
    assert ("src/pytest.ini" in " ".join(judge.signs())) == (room is RoomKind.RESTORED)


def test_a_check_whose_room_cannot_be_made_has_not_failed(place: Path) -> None:
    claim = Claim(place, 'echo "bwrap: Can\'t mkdir parents for /gone: Read-only file system"; exit 1')
    found = claim.finding(claim.judge())
    assert found.end is CommandEnd.NOT_STARTED
    assert "The sealed room cannot be made: Can't mkdir parents for /gone: Read-only file system" in found.problem


@pytest.mark.parametrize("said", ["echo bwrap: no", "echo bwrap: no; echo more; exit 1", "echo bwrap: no; exit 2"])
def test_other_words_of_a_check_are_its_own(place: Path, said: str) -> None:
    claim = Claim(place, said)
    assert claim.finding(claim.judge()).end is CommandEnd.EXITED


def test_a_room_that_cannot_be_made_is_planned_anew_once() -> None:
    reasons = ["gone"]

    def work() -> str:
        if reasons:
            raise RoomNotMade(reasons.pop())
        return "made"

    assert again_if_void(work) == "made"
    reasons += ["gone", "gone too"]
    with pytest.raises(RoomNotMade, match="gone"):
        again_if_void(work)
