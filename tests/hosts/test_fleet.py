"""Many loops in one process: slots, order, restarts, and words that others write into the journal."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import until

from untildone import settings
from untildone.core.errors import LoopBusy, StoreError
from untildone.core.events import Entry, Rested, RunnerLeased, TurnInterrupted, TurnStarted
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status, Urgency
from untildone.hosts.fleet import Fleet, Served
from untildone.operations import control, look
from untildone.operations.creating import creation
from untildone.operations.driving import runner
from untildone.store.files import FileStore
from untildone.store.memory import Memory
from untildone.system.guard import Guard

Fleets = Callable[..., Fleet]


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
    kind: type[FileStore] = getattr(request, "param", FileStore)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return kind(workspace / ".loop", memory=Memory())


@pytest.fixture
def fleets(store: FileStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Fleets]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    opened: list[Fleet] = []

    def open_fleet(slots: int = 2) -> Fleet:
        guard = Guard()
        chosen = settings.load(store.root.parent, {}, {})
        served = Served(store, lambda: runner.surroundings(os.environ, chosen, guard, Host.SERVER))
        fleet = Fleet([served], guard, slots)
        fleet.open()
        opened.append(fleet)
        return fleet

    yield open_fleet
    for fleet in opened:
        fleet.close()


def create(store: FileStore, *turns: Any, script: str | None = None, **chosen: Any) -> str:
    """A loop whose agent plays these turns."""
    folder = store.root.parent
    path = folder.parent / f"script-{time.monotonic_ns()}.json"
    path.write_text(json.dumps(turns or [{"say": "done", "claim": True}]))
    args = ("--scenario", script) if script else ("--script", str(path))
    wanted = {"agent": "scripted", "args": args, "retry_delay": 0.05, **chosen}
    loop_id: str = creation.create(store, "a job", settings.load(folder, wanted, {}), folder).loop.loop_id
    return loop_id


def started(store: FileStore, *turns: Any, **chosen: Any) -> str:
    loop_id = create(store, *turns, **chosen)
    control.start(store, loop_id, Host.SERVER)
    return loop_id


def entries(store: FileStore, loop_id: str) -> list[Entry]:
    return list(look.follow(store, loop_id, to_rest=False))


def rested(store: FileStore, *loop_ids: str) -> list[Loop]:
    def look() -> list[Loop] | None:
        loops = [store.load(loop_id) for loop_id in loop_ids]
        busy = any(loop.status in (Status.RUNNING, Status.CREATED) for loop in loops)
        return None if busy or any(store.is_driven(loop_id) for loop_id in loop_ids) else loops

    found = until(look)
    assert found is not None
    return found


def at_work(store: FileStore, loop_id: str) -> bool:
    return store.load(loop_id).turn is not None


def test_no_more_loops_at_once_than_slots(store: FileStore, fleets: Fleets) -> None:
    spans = driven(store, fleets(slots=2), [started(store, {"sleep": 0.3, "claim": True}) for _ in range(5)])
    assert max(sum(begin <= moment < end for begin, end in spans) for moment, _ in spans) == 2


def test_the_others_wait_in_order(store: FileStore, fleets: Fleets) -> None:
    loop_ids = [started(store) for _ in range(4)]
    spans = driven(store, fleets(slots=1), loop_ids)
    assert spans == sorted(spans)


def driven(store: FileStore, fleet: Fleet, loop_ids: list[str]) -> list[tuple[float, float]]:
    """From when to when each was driven."""
    for loop_id in loop_ids:
        fleet.want(loop_id)
    assert {loop.outcome for loop in rested(store, *loop_ids)} == {Outcome.CLAIMED}
    return [_span(entries(store, loop_id)) for loop_id in loop_ids]


def _span(journal: list[Entry]) -> tuple[float, float]:
    leases = [entry.at for entry in journal if isinstance(entry.event, RunnerLeased)]
    rests = [entry.at for entry in journal if isinstance(entry.event, Rested)]
    assert (len(leases), len(rests)) == (1, 1)
    return leases[0], rests[0]


def test_a_loop_that_is_wanted_many_times_is_driven_once(store: FileStore, fleets: Fleets) -> None:
    fleet = fleets(slots=4)
    loop_id = started(store, {"sleep": 0.3, "claim": True})
    threads = [threading.Thread(target=fleet.want, args=(loop_id,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rested(store, loop_id)
    kinds = [type(entry.event) for entry in entries(store, loop_id)]
    assert (kinds.count(RunnerLeased), kinds.count(TurnStarted)) == (1, 1)


def test_a_start_that_somebody_else_wrote_is_noticed(store: FileStore, fleets: Fleets) -> None:
    fleets()
    (loop,) = rested(store, started(store))
    assert loop.outcome is Outcome.CLAIMED


def test_a_loop_of_a_terminal_is_left_alone(store: FileStore, fleets: Fleets) -> None:
    loop_id = create(store)
    control.start(store, loop_id, Host.TERMINAL)
    own = started(store)
    fleets()
    rested(store, own)
    assert store.load(loop_id).status is Status.RUNNING
    assert not any(isinstance(entry.event, RunnerLeased) for entry in entries(store, loop_id))


def test_an_end_leaves_loops_running_and_the_next_fleet_goes_on(store: FileStore, fleets: Fleets) -> None:
    fleet = fleets(slots=1)
    first, second = (started(store, {"hang": True}, {"claim": True}) for _ in range(2))
    fleet.want(first)
    fleet.want(second)
    until(lambda: store.load(first).sessions)
    fleet.close()
    loop = store.load(first)
    assert (loop.status, loop.turn, loop.outcome) == (Status.RUNNING, None, None)
    assert isinstance(entries(store, first)[-1].event, TurnInterrupted)
    assert not store.is_driven(first)
    fleets(slots=2)
    until(lambda: at_work(store, second))
    control.stop(store, second, Urgency.NOW)
    assert [loop.outcome for loop in rested(store, first, second)] == [Outcome.CLAIMED, Outcome.STOPPED]


def test_a_pause_and_a_resume_by_somebody_else(store: FileStore, fleets: Fleets) -> None:
    fleets()
    loop_id = started(store, {"sleep": 0.2}, {"claim": True}, promise="never", max_iterations=100)
    until(lambda: at_work(store, loop_id))
    control.pause(store, loop_id)
    (loop,) = rested(store, loop_id)
    assert loop.outcome is Outcome.PAUSED
    control.resume(store, loop_id, host=Host.NONE)
    until(lambda: at_work(store, loop_id))
    control.stop(store, loop_id, Urgency.NOW)
    assert rested(store, loop_id)[0].outcome is Outcome.STOPPED


def test_a_message_with_rounds_makes_a_loop_that_was_out_of_them_go_on(store: FileStore, fleets: Fleets) -> None:
    fleets()
    loop_id = started(store, {"say": "more"}, {"say": "done", "claim": True}, max_iterations=1)
    assert rested(store, loop_id)[0].outcome is Outcome.BUDGET
    heard = control.say(store, loop_id, "[r+1] go on")
    assert (heard.goes_on, heard.has_driver) == (True, True)
    assert rested(store, loop_id)[0].outcome is Outcome.CLAIMED


def test_a_loop_at_its_limit_leaves_its_slot(store: FileStore, fleets: Fleets) -> None:
    fleet = fleets(slots=1)
    limit = {"fail": {"kind": "limit", "message": "come back later", "reset_in": 3600}}
    waits = started(store, limit, {"claim": True}, profiles={"own": {"agent": "scripted"}})
    fleet.want(waits)
    until(lambda: waits in fleet.load().waiting and not store.is_driven(waits))
    (loop,) = rested(store, started(store, {"claim": True}, agent="own", profiles={"own": {"agent": "scripted"}}))
    assert loop.outcome is Outcome.CLAIMED
    assert store.load(waits).status is Status.RUNNING
    leases = [entry for entry in entries(store, waits) if isinstance(entry.event, RunnerLeased)]
    assert len(leases) == 1
    control.resume(store, waits, skip_wait=True, host=Host.NONE)
    assert rested(store, waits)[0].outcome is Outcome.CLAIMED


def test_a_loop_that_cannot_be_driven_is_tried_again(store: FileStore, fleets: Fleets) -> None:
    fleet = fleets()
    loop_id = create(store)
    journal = store.progress(loop_id) / "output"
    journal.rmdir()
    journal.write_text("in the way")
    control.start(store, loop_id, Host.SERVER)
    until(lambda: fleet.problems.get(loop_id))
    assert store.load(loop_id).status is Status.RUNNING
    journal.unlink()
    journal.mkdir()
    assert rested(store, loop_id)[0].outcome is Outcome.CLAIMED
    until(lambda: loop_id not in fleet.problems)


def test_a_loop_whose_files_vanish_gives_its_slot_back(store: FileStore, fleets: Fleets) -> None:
    fleet = fleets(slots=1)
    removed = started(store, {"sleep": 300, "claim": True})
    fleet.want(removed)
    until(lambda: at_work(store, removed))
    shutil.rmtree(store.root.rename(store.root.parent / "removed"))
    until(lambda: not fleet.load().driving)
    driven(store, fleet, [started(store)])
    assert removed not in store.ids()


class Troubled(FileStore):
    """Fails a slot that asks for a loop's signature, a few times."""

    failures = 0

    def signature(self, loop_id: str) -> object:
        if threading.current_thread().name.startswith("slot") and self.failures < 4:
            self.failures += 1
            raise StoreError("The disk is away.")
        return super().signature(loop_id)


@pytest.mark.parametrize("store", [Troubled], indirect=True)
def test_trouble_of_the_store_costs_no_slot(store: Troubled, fleets: Fleets) -> None:
    fleet = fleets(slots=1)
    loop_id = started(store, {"say": "1"}, {"say": "2"}, max_iterations=1)
    fleet.want(loop_id)
    assert rested(store, loop_id)[0].outcome is Outcome.BUDGET
    driven(store, fleet, [started(store)])
    assert store.failures


def test_only_one_server_serves_a_folder(store: FileStore, fleets: Fleets) -> None:
    fleet = fleets()
    assert store.is_served()
    with pytest.raises(LoopBusy, match="Another server"):
        fleets()
    fleet.close()
    assert not store.is_served()
