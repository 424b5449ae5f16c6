"""Rooms that are made while libraries are still searched: what was done in one counts only if it holds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.boxes import boxes
from tests.support.rooms import Premises, is_judge, said

from untildone.core.model import RoomKind
from untildone.workspace.rooms import Claim, Claimed, RoomRefused
from untildone.workspace.rooms.refusal import RoomNotMade

__all__ = ["boxes"]
pytestmark = pytest.mark.usefixtures("boxes")

PACKAGE = "tools/lib/python3.11/site-packages/runner"
MANY = 8_000
"""Files of a library: their search takes longer than it takes to make a room."""
AGED = 0.1
"""Seconds after which the change time of a file is surely older than the start of a loop."""


@pytest.fixture
def premises(tmp_path: Path) -> Premises:
    made = Premises(tmp_path)
    made.watches_libraries = True
    made.write({"calc.py": "1\n", ".gitignore": "build/\n"})
    package = made.home / PACKAGE
    package.mkdir(parents=True)
    (made.home / "tools/pyvenv.cfg").write_text("")
    (made.home / "tools/bin").mkdir()
    for number in range(MANY):
        (package / f"module_{number}.py").write_text("HONEST = 1\n")
    made.environment["PATH"] = f"{made.home}/tools/bin:/usr/bin:/bin"
    time.sleep(AGED)
    made.begin()
    made.says("true")  # the next room is made sooner
    return made


@contextmanager
def claim_of(premises: Premises) -> Iterator[tuple[Claim, str]]:
    tree = premises.shadow.take().tree
    with premises.rooms.claim(Claimed(premises.start, tree, premises.record, is_judge)) as claim:
        yield claim, tree


def test_a_room_holds_if_no_library_changed(premises: Premises) -> None:
    with (
        claim_of(premises) as (claim, tree),
        claim.room(RoomKind.SEALED, tree, premises.environment, early=True) as room,
    ):
        assert said(room, "cat calc.py") == "1"
        assert room.holds()
        assert not room.is_void()


def test_a_new_module_voids_an_early_room_and_is_hidden_from_the_next_with_what_it_built(premises: Premises) -> None:
    module = premises.home / PACKAGE / "new.py"
    module.write_text("import os\n")
    with claim_of(premises) as (claim, tree):
        with claim.room(RoomKind.SEALED, tree, premises.environment, early=True) as room:
            assert said(room, f"mkdir build; cp {module} build/forged; ls build") == "forged"
            assert not room.holds()
            assert room.is_void()
        with claim.room(RoomKind.SEALED, tree, premises.environment, early=True) as room:
            assert "No such file" in said(room, f"ls {module}")
            assert "No such file" in said(room, "ls build/forged")
            assert room.holds()
            assert "new.py" in " ".join(room.notes)


def test_a_changed_module_refuses_an_early_room(premises: Premises) -> None:
    module = premises.home / PACKAGE / "module_0.py"
    module.write_text("HONEST = 0\n")
    with claim_of(premises) as (claim, tree):
        with claim.room(RoomKind.SEALED, tree, premises.environment, early=True) as room:
            assert said(room, f"cat {module}") == "HONEST = 0"
            with pytest.raises(RoomRefused, match=r"module_0\.py"):
                room.holds()
            assert room.is_void()
        with pytest.raises(RoomRefused), claim.room(RoomKind.SEALED, tree, premises.environment, early=True):
            pass


def test_a_room_that_is_not_early_waits(premises: Premises) -> None:
    module = premises.home / PACKAGE / "quiet.pth"
    module.write_text("import os\n")
    with claim_of(premises) as (claim, tree), claim.room(RoomKind.SEALED, tree, premises.environment) as room:
        assert "No such file" in said(room, f"ls {module}")


def test_nothing_is_left_of_a_room_that_seemed_not_to_be_made(premises: Premises) -> None:
    """Code of the agent runs in it, and can print what bubblewrap would."""
    premises.write({"calc.py": "2\n"})
    with claim_of(premises) as (claim, tree):

        def forge() -> None:
            with claim.room(RoomKind.SEALED, tree, premises.environment) as room:
                said(room, "mkdir build; echo forged > build/app")
                raise RoomNotMade("no")

        with pytest.raises(RoomNotMade):
            forge()
        with claim.room(RoomKind.SEALED, tree, premises.environment) as room:
            assert "forged" not in said(room, "cat build/app")
