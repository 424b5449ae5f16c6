"""covers: the output of a running turn is read as that of the agent that prints it."""

from __future__ import annotations

from pathlib import Path

import pytest

from untildone.core.events import LoopCreated, TurnStarted
from untildone.core.model import AgentChoice, Budget, LoopSettings, Role, SessionUse
from untildone.core.plugins.agent_io import Said
from untildone.operations import look
from untildone.operations.showing.running_output import RunningOutput
from untildone.store.files import FileStore

OTHER = AgentChoice("other", "command", command="echo other")
TURN = TurnStarted(Role.WORKER, 1, 1, "other", SessionUse.NEW, "Go on.")


@pytest.fixture(params=["fallback", "escalate"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
    """A loop whose worker is another agent than usual, which has printed a line."""
    made = FileStore(tmp_path / ".loop")
    others = {"fallback": OTHER} if request.param == "fallback" else {"escalate": (OTHER,)}
    kept = LoopSettings("ralph", AgentChoice("worker", "claude"), str(tmp_path), **others)
    made.create(LoopCreated("loop-1", "t", "t", kept, Budget(iterations=5)))
    spool = made.spool("loop-1", "0001")
    spool.write(b"words of the other\n")
    spool.close()
    return made


def test_an_agent_that_took_over_is_read_as_itself(store: FileStore) -> None:
    output = RunningOutput(store, "loop-1")
    output.turn(TURN, store.load("loop-1"))
    assert output.fresh() == (Said("words of the other"),)


def test_the_agent_of_a_round_is_the_one_of_its_last_turn(store: FileStore) -> None:
    journal = store.open("loop-1")
    journal.append(TurnStarted(Role.WORKER, 1, 1, "worker", SessionUse.NEW, "Go on."), TURN)
    journal.close()
    assert look.profile_of(store, "loop-1", Role.WORKER, 1) == "other"
    assert look.profile_of(store, "loop-1", Role.SUPERVISOR, 1) == ""
