"""What a new loop starts from beside the last commit: uncommitted files, and refused work of earlier loops that is still there."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from untildone.core.events import AnswerRead, GatesRan, LoopCreated, Rested, StartRequested, TurnEnded, WorkspaceSeen
from untildone.core.loop import Loop
from untildone.core.model import (
    AgentChoice,
    Answer,
    Budget,
    GateResult,
    LoopSettings,
    NeededGate,
    Outcome,
    Refused,
    Role,
)
from untildone.engine import inherited
from untildone.store.files import FileStore
from untildone.workspace.look import Workspace

FIRST, NEXT = "loop-20260101-000000000-aaaaaa", "loop-20260102-000000000-bbbbbb"
TAMPERED = GateResult("check", "pytest", passed=False, reason="tampered", tampered=("test_it.py",))
REVIEWED = GateResult("review", "", passed=False, tail="No.")
PLAIN = GateResult("check", "pytest", passed=False, reason="exit code 1")


class Place:
    """A repository in which one loop changes two files and a gate says what it says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "w"
        self.folder.mkdir()
        self.store = FileStore(self.folder / ".loop")
        self.git("init", "-q")
        self.git("config", "user.email", "a@b.example")
        self.git("config", "user.name", "a")
        for name in ("it.py", "test_it.py"):
            (self.folder / name).write_text("before\n")
        self.commit()

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=30)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "x")

    def created(self, loop_id: str) -> Loop:
        settings = LoopSettings("ralph", AgentChoice("worker", "scripted"), str(self.folder), checks=("pytest",))
        return self.store.create(LoopCreated(loop_id, "t", "do it", settings, Budget(iterations=3)), StartRequested())

    def refuse(self, *results: GateResult, works: Callable[[], None] | None = None) -> None:
        """The first loop: changes both files, claims, and is judged."""
        self.created(FIRST)
        look = Workspace(str(self.folder), FIRST)
        with self.store.lease(FIRST) as journal:
            journal.append(WorkspaceSeen(start := look.look(None)))
            for name in ("it.py", "test_it.py"):
                (self.folder / name).write_text("an agent's\n")
            if works is not None:
                works()
            journal.append(TurnEnded(Role.WORKER, 1, Answer("done"), 1.0, look.look(start)))
            journal.append(AnswerRead(claimed=True, needed=(NeededGate("check", "pytest"),)))
            journal.append(GatesRan(results), Rested(Outcome.STALLED))

    def next(self) -> tuple[int, tuple[Refused, ...]]:
        """What the next loop starts from."""
        loop, look = self.created(NEXT), Workspace(str(self.folder), NEXT)
        return inherited.look(self.store, loop, look.shadow, look.look(None))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("results", "paths"),
    [
        ((TAMPERED,), ("test_it.py",)),
        ((REVIEWED,), ("it.py", "test_it.py")),
        ((TAMPERED, REVIEWED), ("it.py", "test_it.py")),
        ((PLAIN,), ()),
    ],
)
def test_refused_work_is_named(place: Place, results: tuple[GateResult, ...], paths: tuple[str, ...]) -> None:
    place.refuse(*results)
    assert place.next() == (2, (Refused(FIRST, paths),) if paths else ())


def test_what_was_put_back_or_worked_on_is_not_named(place: Place) -> None:
    place.refuse(REVIEWED)
    (place.folder / "test_it.py").write_text("before\n")
    (place.folder / "it.py").write_text("a person's\n")
    assert place.next() == (1, ())


def test_what_a_person_committed_after_the_loop_is_accepted(place: Place) -> None:
    place.refuse(REVIEWED)
    place.commit()
    assert place.next() == (0, ())


def test_what_the_agent_committed_itself_is_not(place: Place) -> None:
    place.refuse(TAMPERED, works=place.commit)
    assert place.next() == (0, (Refused(FIRST, ("test_it.py",)),))


def test_a_flag_of_the_index_hides_nothing(place: Place) -> None:
    place.refuse(TAMPERED, works=lambda: place.git("update-index", "--assume-unchanged", "test_it.py"))
    assert place.next() == (2, (Refused(FIRST, ("test_it.py",)),))


def test_a_clean_start_says_nothing(place: Place) -> None:
    assert place.next() == (0, ())


def test_converted_files_count_as_unknown(place: Place) -> None:
    (place.folder / ".gitattributes").write_text("*.bin filter=lfs\n")
    assert place.next() == (0, ())
