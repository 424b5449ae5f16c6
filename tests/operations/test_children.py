"""covers: a runner that takes a loop with children up again, whatever became of the children."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from untildone.core.actions import AwaitPerson
from untildone.core.children import Child, Parent
from untildone.core.events import (
    ChildReserved,
    Event,
    LoopCreated,
    Rested,
    StartRequested,
    TurnInterrupted,
    TurnStarted,
)
from untildone.core.kinds import Interruption
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, LoopSettings, Outcome, Role, SessionUse, Status
from untildone.core.protection.sandbox import Sandbox
from untildone.core.protection.secrets import Redactor
from untildone.engine.engine import Engine
from untildone.engine.surroundings import Person, Surroundings
from untildone.engine.usage_limits import SharedLimits
from untildone.operations.driving import children
from untildone.store import layout
from untildone.store.files import FileStore
from untildone.system.guard import Guard

USED_UP = (
    StartRequested(),
    TurnStarted(Role.WORKER, 1, 1, "worker", SessionUse.NEW, "Go on."),
    TurnInterrupted(Role.WORKER, 1, Interruption.CONTROL, 1.0),
    Rested(Outcome.INTERRUPTED),
)
"""Its parent was interrupted in the only round of the child."""


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """A loop that a runner left at work, with one child."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    subprocess.run(("git", "init", "-q", str(workspace)), check=True)
    store = FileStore(tmp_path / ".loop")
    create(store, workspace, "loop-a", StartRequested(), ChildReserved(Child("loop-b", Budget(iterations=1))))
    return store


def create(store: FileStore, workspace: Path, loop_id: str, *events: Event, above: str = "") -> None:
    worker = AgentChoice("worker", "command", command="echo '<promise>COMPLETE</promise>'")
    kept = LoopSettings("ralph", worker, str(workspace), children=2, sandbox=Sandbox.OFF)
    parent = Parent(above, 1) if above else None
    store.create(LoopCreated(loop_id, "t", "do it", kept, Budget(iterations=1 if above else 5), parent))
    with closing(store.open(loop_id)) as journal:
        journal.append(*events)


def drive(store: FileStore, folder: Path, person: Person | None = None) -> None:
    limits = SharedLimits(folder / "limits")
    around = Surroundings({"PATH": "/usr/bin:/bin"}, Redactor(()), Guard(), limits, children=children.serving)
    Engine(store, around, person=person).drive("loop-a")


def test_a_child_that_was_interrupted_in_its_last_round_does_not_keep_its_parent_from_going_on(
    store: FileStore, tmp_path: Path
) -> None:
    create(store, tmp_path / "workspace", "loop-b", *USED_UP, above="loop-a")
    drive(store, tmp_path)
    parent, child = store.load("loop-a"), store.load("loop-b")
    assert parent.outcome is Outcome.CLAIMED
    assert child.status is not Status.RUNNING
    assert parent.total_spend.iterations == 2


def test_a_child_that_cannot_be_read_does_not_keep_its_parent_from_going_on(store: FileStore, tmp_path: Path) -> None:
    create(store, tmp_path / "workspace", "loop-b", *USED_UP, above="loop-a")
    places = layout.places(store.root, "loop-b")
    for file in (*places.progress.iterdir(), *places.checkpoint.parent.glob(f"{places.checkpoint.name}*")):
        if file.is_file():
            file.write_bytes(b"\0")
    drive(store, tmp_path)
    assert store.load("loop-a").outcome is Outcome.CLAIMED


class Leaves:
    """A person who leaves the terminal. A child uses a round meanwhile, in another process."""

    def __init__(self, store: FileStore) -> None:
        self._store, self.asked = store, 0

    def ask(self, _question: AwaitPerson, _loop: Loop, _moved_on: Callable[[], bool]) -> str | None:
        self.asked += 1
        if self.asked == 1:
            with closing(self._store.open("loop-b")) as journal:
                journal.append(TurnStarted(Role.WORKER, 1, 1, "worker", SessionUse.NEW, "Go on."))
        return None

    def tell(self, notice: str) -> None:
        return


def test_a_person_who_leaves_is_not_asked_again_because_a_child_comes_to_rest_first(
    store: FileStore, tmp_path: Path
) -> None:
    create(store, tmp_path / "workspace", "loop-b", Rested(Outcome.PAUSED), above="loop-a")
    person = Leaves(store)
    with closing(store.open("loop-a")) as journal:
        journal.append(TurnInterrupted(Role.WORKER, 1, Interruption.PERSON))
    drive(store, tmp_path, person)
    assert (person.asked, store.load("loop-a").status) == (1, Status.PAUSED)
    assert store.load("loop-a").total_spend.iterations == 1
