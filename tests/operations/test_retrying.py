"""Taking a loop back, while another process gives orders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from untildone.core.events import (
    AnswerRead,
    LoopCreated,
    Rested,
    StartRequested,
    StopRequested,
    TurnEnded,
    TurnStarted,
    WorkspaceSeen,
)
from untildone.core.model import AgentChoice, Answer, Budget, LoopSettings, Outcome, Role, SessionUse
from untildone.operations.history import retrying
from untildone.store.files import FileStore
from untildone.store.journal import FileJournal
from untildone.workspace.look import Workspace


class StopsMeanwhile(FileStore):
    """A store in which another process writes a stop while the first lease is held: it sees the lease, and leaves it to its holder."""

    stops = True

    @contextmanager
    def lease(self, *arguments: Any, **more: Any) -> Iterator[FileJournal]:
        with super().lease(*arguments, **more) as journal:
            yield journal
            if self.stops:
                self.stops = False
                other = self.open(journal.loop.loop_id)
                other.append(StopRequested())
                other.close()


def resting(tmp_path: Path) -> FileStore:
    """A loop that rests after two rounds, each of which wrote a line."""
    (tmp_path / "work").mkdir()
    place, store = Workspace(str(tmp_path / "work")), StopsMeanwhile(tmp_path / ".loop")
    settings = LoopSettings("ralph", AgentChoice("a", "command", command="true"), place.path)
    store.create(LoopCreated("loop-1", "t", "do it", settings, Budget(iterations=5)))
    journal = store.open("loop-1")
    journal.append(StartRequested(), WorkspaceSeen(place.look(None)))
    for number in (1, 2):
        (tmp_path / "work" / "log").write_text(f"{number}\n")
        ended = TurnEnded(Role.WORKER, number, Answer(f"did {number}"), 1.0, place.look(None))
        journal.append(TurnStarted(Role.WORKER, number, 1, "a", SessionUse.NEW, "p"), ended, AnswerRead(claimed=False))
    journal.append(Rested(Outcome.PAUSED))
    journal.close()
    return store


def test_a_stop_that_comes_during_a_rewind_is_obeyed(tmp_path: Path) -> None:
    store = resting(tmp_path)
    taken = retrying.rewind(store, "loop-1", 1)
    assert (taken.loop.outcome, (tmp_path / "work" / "log").read_text()) == (Outcome.STOPPED, "1\n")
    assert store.load("loop-1").outcome is Outcome.STOPPED
