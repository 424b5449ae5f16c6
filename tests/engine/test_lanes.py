"""The trials of a proof run beside each other, within their time, and end when the runner must stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from untildone.core.actions import RunCommand, RunTrials
from untildone.core.model import RoomKind
from untildone.core.plugins.gate import CommandEnd, CommandRan
from untildone.core.receipts.proving import Base, Planned, Trial, TrialsRan
from untildone.engine.verdicts import proving
from untildone.workspace.rooms import InPlace, Room, RoomRefused

NEED = RunTrials("mutants", 60.0, 30.0)
PATIENCE = 20.0


class Rooms:
    """Rooms that note which lanes are open."""

    def __init__(self) -> None:
        self.entered: list[int] = []

    @contextmanager
    def enter(self, _trial: Trial, lane: int) -> Iterator[Room]:
        self.entered.append(lane)
        yield InPlace(RoomKind.SEALED, "/", {})


def planned(number: int, *, at_once: bool = True) -> Planned:
    return Planned(tuple(Trial(f"check {each}", Base.CLAIMED) for each in range(number)), at_once=at_once)


def passes(_need: RunCommand, _room: Room, _halted: Callable[[], bool]) -> CommandRan:
    return CommandRan(CommandEnd.EXITED, 0)


def shown(_number: int, _total: int, _about: str) -> None:
    return


def commands(found: TrialsRan | None) -> list[str]:
    assert found is not None
    return [each.trial.command for each in found.runs]


def test_as_many_run_at_once_as_there_are_lanes() -> None:
    both, rooms = threading.Barrier(2), Rooms()

    def together(need: RunCommand, room: Room, halted: Callable[[], bool]) -> CommandRan:
        both.wait(PATIENCE)
        return passes(need, room, halted)

    found = proving.run(planned(6), NEED, rooms.enter, together, shown, lambda: False, 2)
    assert commands(found) == [f"check {each}" for each in range(6)]
    assert set(rooms.entered) == {0, 1}


def test_trials_that_must_run_alone_do() -> None:
    rooms = Rooms()
    found = proving.run(planned(3, at_once=False), NEED, rooms.enter, passes, shown, lambda: False, 8)
    assert (commands(found), rooms.entered) == (["check 0", "check 1", "check 2"], [0, 0, 0])


def test_nothing_starts_once_the_time_is_over() -> None:
    found = proving.run(planned(3), RunTrials("mutants", 60.0, 0.0), Rooms().enter, passes, shown, lambda: False, 2)
    assert commands(found) == []
    assert found is not None
    assert found.is_cut


def test_no_command_gets_more_time_than_is_left() -> None:
    timeouts: list[float] = []

    def noting(need: RunCommand, room: Room, halted: Callable[[], bool]) -> CommandRan:
        timeouts.append(need.timeout)
        return passes(need, room, halted)

    proving.run(planned(4), RunTrials("mutants", 600.0, 5.0), Rooms().enter, noting, shown, lambda: False, 2)
    assert len(timeouts) == 4
    assert max(timeouts) <= 5.0


def test_a_runner_that_must_stop_ends_the_trials() -> None:
    started = threading.Event()

    def endless(need: RunCommand, room: Room, halted: Callable[[], bool]) -> CommandRan:
        started.set()
        waits = threading.Event()
        for _ in range(2000):
            if halted():
                return CommandRan(CommandEnd.INTERRUPTED)
            waits.wait(0.01)
        return passes(need, room, halted)

    assert proving.run(planned(4), NEED, Rooms().enter, endless, shown, started.is_set, 2) is None


def test_a_room_that_cannot_be_made_is_an_error_of_all() -> None:
    failed = threading.Event()

    @contextmanager
    def refused(_trial: Trial, lane: int) -> Iterator[Room]:
        if lane:
            failed.set()
            raise RoomRefused("No room.", "wait")
        failed.wait(PATIENCE)
        yield InPlace(RoomKind.SEALED, "/", {})

    with pytest.raises(RoomRefused):
        proving.run(planned(8), NEED, refused, passes, shown, lambda: False, 2)


@pytest.mark.parametrize(
    "ran",
    [
        CommandRan(CommandEnd.NOT_STARTED, problem="there was no time left for it in the stop hook"),
        CommandRan(CommandEnd.TIMED_OUT, problem="did not finish within the 3 s that the stop hook had left"),
    ],
)
def test_a_command_that_did_not_run_to_its_end_is_no_failure(ran: CommandRan) -> None:
    """A proof that wants one would hold for it: a planted test, a mutant, the files without the work."""
    found = proving.run(planned(2, at_once=False), NEED, Rooms().enter, lambda *_: ran, shown, lambda: False, 2)
    assert found is not None
    assert (found.runs, found.problem) == ((), f"could not be proved: {ran.problem}")
    found = proving.run(planned(2), NEED, Rooms().enter, lambda *_: ran, shown, lambda: False, 2)
    assert found is not None
    assert (found.runs, found.is_cut) == ((), True)
