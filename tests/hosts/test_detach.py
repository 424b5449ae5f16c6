"""A runner in the background: whatever hits it as it starts, the answer is true, and nothing is left running."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.support.command_line import until

from untildone import settings
from untildone.core.errors import UntilDoneError
from untildone.core.events import Entry
from untildone.core.model import Outcome
from untildone.hosts import detach
from untildone.operations import control, look
from untildone.operations.creating import creation
from untildone.store.files import FileStore
from untildone.store.journal import FileJournal
from untildone.system import orphans

RUNNER = """
import os, signal, sys, time
from pathlib import Path
from untildone.core.events import Rested
from untildone.core.model import Outcome
from untildone.store.files import FileStore

loop_id, folder = sys.argv[1], Path(sys.argv[3])
Path(folder, "pid").write_text(f"{os.getpid()}\\n")
store = FileStore(folder / ".loop")
"""
DIES = "os.kill(os.getpid(), signal.SIGKILL)"
STAYS = "time.sleep(100)"
LEASES = "with store.lease(loop_id) as journal: "


class LooksLate(FileStore):
    """Its journals are read when the runner is gone: it was hit before anybody looked."""

    def open(self, loop_id: str) -> FileJournal:
        journal, look = super().open(loop_id), FileJournal.catch_up

        def late() -> tuple[Entry, ...]:
            pid = until(lambda: started(self), patience=60)
            until(lambda: has_ended(pid), patience=60)
            return look(journal)

        journal.catch_up = late  # type: ignore[method-assign]
        return journal


class Fails(FileStore):
    """Its journals cannot be read once the runner is there."""

    def open(self, loop_id: str) -> FileJournal:
        journal = super().open(loop_id)

        def fail() -> tuple[Entry, ...]:
            until(lambda: started(self), patience=60)
            raise OSError("away")

        journal.catch_up = fail  # type: ignore[method-assign]
        return journal


def started(store: FileStore) -> int:
    note = store.home / "pid"
    pid_line = note.read_text() if note.exists() else ""
    return int(pid_line) if pid_line.endswith("\n") else 0


def has_ended(pid: int) -> bool:
    """Whether a child of this process has, all its threads too; it is not taken note of."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:
        return True


def lives(pid: int) -> bool:
    return orphans.start_of(pid) is not None


def loop_in(folder: Path) -> str:
    script = folder / "script.json"
    script.write_text(json.dumps([{"say": "done", "claim": True}]))
    chosen = settings.load(folder, {"agent": "scripted", "args": ("--script", str(script))}, {})
    store = FileStore(folder / ".loop")
    loop_id: str = creation.create(store, "a job", chosen, folder).loop.loop_id
    control.start(store, loop_id)
    return loop_id


def runs(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """What the runner does in place of driving the loop."""
    monkeypatch.setattr(detach, "PROGRAM", ("-c", RUNNER + "\n".join(lines)))


@pytest.mark.parametrize("kind", [FileStore, LooksLate])
def test_one_that_is_killed_before_it_claims_the_loop_has_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[FileStore]
) -> None:
    runs(monkeypatch, DIES)
    with pytest.raises(UntilDoneError, match="did not start: signal 9 ended it") as raised:
        detach.start_runner(kind(tmp_path / ".loop"), loop_in(tmp_path), within=60)
    assert raised.value.exit_code == 6


def test_one_that_is_killed_as_it_has_claimed_the_loop_has_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was said to go on in the background, and nothing did."""
    runs(monkeypatch, LEASES + DIES)
    loop_id = loop_in(tmp_path)
    with pytest.raises(UntilDoneError, match="did not start: signal 9 ended it") as raised:
        detach.start_runner(LooksLate(tmp_path / ".loop"), loop_id, within=60)
    assert raised.value.exit_code == 6
    assert not FileStore(tmp_path / ".loop").is_driven(loop_id)


def test_one_that_fails_as_it_has_claimed_the_loop_tells_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, LEASES + "sys.exit(print('untildone: The disk is full.', flush=True) or 1)")
    with pytest.raises(UntilDoneError, match=r"did not start: The disk is full\.$") as raised:
        detach.start_runner(LooksLate(tmp_path / ".loop"), loop_in(tmp_path), within=60)
    assert raised.value.exit_code == 1


def test_one_that_was_quick_did_its_work(tmp_path: Path) -> None:
    loop_id = loop_in(tmp_path)
    pid = detach.start_runner(FileStore(tmp_path / ".loop"), loop_id, within=60)
    loop = look.wait(FileStore(tmp_path / ".loop"), loop_id, timeout=60)
    assert (loop.outcome, pid > 0) == (Outcome.CLAIMED, True)


def test_one_that_was_through_before_anybody_looked_did_its_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(monkeypatch, LEASES + "journal.append(Rested(Outcome.PAUSED, ''))")
    store = LooksLate(tmp_path / ".loop")
    assert detach.start_runner(store, loop_in(tmp_path), within=60) == started(store)


def test_one_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, "signal.signal(signal.SIGTERM, signal.SIG_IGN)", "Path(folder, 'deaf').touch()", STAYS)
    monkeypatch.setattr(detach, "END_WITHIN", 0.5)
    store = FileStore(tmp_path / ".loop")
    with pytest.raises(UntilDoneError, match="did not lease the loop within 3 s") as raised:
        detach.start_runner(store, loop_in(tmp_path), within=3)
    assert raised.value.exit_code == 6
    assert not lives(started(store))


def test_one_that_cannot_be_waited_for_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, STAYS)
    store = Fails(tmp_path / ".loop")
    with pytest.raises(OSError, match="away"):
        detach.start_runner(store, loop_in(tmp_path), within=60)
    assert not lives(started(store))


def test_where_somebody_else_was_quicker_theirs_is_told(tmp_path: Path) -> None:
    loop_id = loop_in(tmp_path)
    with FileStore(tmp_path / ".loop").lease(loop_id):
        assert detach.start_runner(FileStore(tmp_path / ".loop"), loop_id, within=60) == os.getpid()
