"""covers: events that other threads of a runner want written: each is written once or refused, and the caller knows which."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from untildone.core.errors import LoopBusy
from untildone.core.events import BudgetWarned, Event, LoopCreated, StartRequested
from untildone.core.kinds import Host
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, LoopSettings
from untildone.engine.leasing import leased
from untildone.engine.stepper import Stepper
from untildone.engine.submissions import Submissions
from untildone.store.files import FileStore

WARNED = BudgetWarned(Limit.ITERATIONS, 4, 5)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    made = FileStore(tmp_path / ".loop")
    kept = LoopSettings("ralph", AgentChoice("worker", "scripted"), str(tmp_path))
    made.create(LoopCreated("loop-1", "t", "t", kept, Budget(iterations=5)))
    with closing(made.open("loop-1")) as journal:
        journal.append(StartRequested())
    return made


def warnings(store: FileStore) -> int:
    with closing(store.open("loop-1")) as journal:
        return sum(entry.event == WARNED for entry in journal.entries())


def test_an_event_that_is_being_written_when_the_time_is_over_counts(store: FileStore) -> None:
    submissions, is_begun, is_late = Submissions(), threading.Event(), threading.Event()

    def slow(_loop: Loop) -> Event:
        is_begun.set()
        assert is_late.wait(10)
        return WARNED

    def write(stepper: Stepper) -> None:
        while not is_begun.is_set():
            submissions.write(stepper)

    with ThreadPoolExecutor() as pool, leased(store, "loop-1", Host.TERMINAL) as stepper:
        writer = pool.submit(write, stepper)
        timer = threading.Timer(0.8, is_late.set)
        timer.start()
        assert Limit.ITERATIONS in submissions.submit(slow, within=0.5).warned
        writer.result(10)
    assert warnings(store) == 1


def test_an_event_whose_caller_gave_up_is_not_written(store: FileStore) -> None:
    submissions = Submissions()
    with leased(store, "loop-1", Host.TERMINAL) as stepper:
        with pytest.raises(LoopBusy):
            submissions.submit(lambda _: WARNED, 0.01)
        submissions.write(stepper)
    assert warnings(store) == 0
