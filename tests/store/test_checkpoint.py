"""Checkpoints: written rarely, readable at any moment, of constant cost after many iterations."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from tests.support.store_conformance import iteration, loop_created

from untildone.core.events import StartRequested
from untildone.core.loop import Loop
from untildone.core.protection.secrets import Redactor
from untildone.core.values.codec import epoch
from untildone.store import checkpoint
from untildone.store.checkpoint import Checkpoint, CheckpointWriter
from untildone.store.files import FileStore

NAME = "loop-1"
NO_SECRETS = Redactor({})
COUNTED = Path("/proc/self/io")


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / ".loop")


def numbered(loop: Loop, count: int) -> list[Checkpoint]:
    return [Checkpoint(loop, offset) for offset in range(count)]


def offset_in(path: Path) -> int:
    return int(json.loads(path.read_bytes())["journal_offset"])


def test_the_file_has_the_documented_fields(store: FileStore) -> None:
    store.create(loop_created(NAME, "Mend the roof."))
    with store.lease(NAME) as journal:
        journal.append(StartRequested(), *iteration(1), *iteration(2))
        loop = journal.loop
    path = store.root / f"{NAME}.json"
    fields = json.loads(path.read_text())
    assert list(fields)[:6] == ["loop_id", "title", "description", "status", "max_iterations", "current_iteration"]
    assert (fields["loop_id"], fields["description"], fields["status"]) == (NAME, "Mend the roof.", "running")
    assert (fields["max_iterations"], fields["current_iteration"]) == (10_000, 2)
    assert (epoch(fields["created_at"]), epoch(fields["updated_at"])) == (loop.created_at, loop.updated_at)
    assert "skill_state" in fields
    digest, name = path.with_name(f"{path.name}.sha256").read_text().split()
    assert (digest, name) == (sha256(path.read_bytes()).hexdigest(), path.name)


def test_quickly_submitted_checkpoints_are_written_once(store: FileStore, tmp_path: Path) -> None:
    path = tmp_path / "loop.json"
    first, second, third = numbered(store.create(loop_created(NAME)), 3)
    writer = CheckpointWriter(lambda kept: checkpoint.write(path, kept, NO_SECRETS), pause=600)
    writer.submit(first)
    wait_for(path)
    writer.submit(second)
    writer.submit(third)
    writer.close()
    assert [offset_in(path), offset_in(checkpoint.backups(path)[0])] == [2, 0]
    assert checkpoint.read(path) == (third, "")


def test_a_writer_that_died_before_the_checksum_is_no_damage(store: FileStore, tmp_path: Path) -> None:
    """Real damage is still reported."""
    path = tmp_path / "loop.json"
    first, second = numbered(store.create(loop_created(NAME)), 2)
    checkpoint.write(path, first, NO_SECRETS)
    checksum = path.with_name(f"{path.name}.sha256")
    old = checksum.read_bytes()
    checkpoint.write(path, second, NO_SECRETS)
    new = checksum.read_bytes()
    checksum.write_bytes(old)
    assert checkpoint.read(path) == (first, "")
    for content, recorded in ((path.read_bytes(), new[::-1]), (path.read_bytes()[:-9], new)):
        path.write_bytes(content)
        checksum.write_bytes(recorded)
        assert checkpoint.read(path) == (first, "loop.json: the checksum file does not match")


def wait_for(path: Path) -> None:
    appeared = threading.Event()
    for _ in range(3000):
        if path.with_name(f"{path.name}.sha256").exists():
            return
        appeared.wait(0.01)
    raise AssertionError(f"{path} was never written")


def test_a_writer_without_a_checkpoint_writes_nothing(tmp_path: Path) -> None:
    CheckpointWriter(lambda kept: checkpoint.write(tmp_path / "loop.json", kept, NO_SECRETS)).close()
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_that_cannot_be_written_does_not_stop_the_loop(store: FileStore) -> None:
    store.create(loop_created(NAME))
    for path in store.root.glob(f"{NAME}.json*"):
        path.unlink()
    (store.root / f"{NAME}.json").mkdir()
    with store.lease(NAME) as journal:
        journal.append(StartRequested(), *iteration(1))
        loop = journal.loop
    assert store.load(NAME) == loop


def write_all(path: Path, checkpoints: list[Checkpoint]) -> None:
    for each in checkpoints:
        checkpoint.write(path, each, NO_SECRETS)


def test_a_reader_gets_a_complete_checkpoint_while_one_is_written(store: FileStore, tmp_path: Path) -> None:
    path = tmp_path / "loop.json"
    checkpoints = numbered(store.create(loop_created(NAME)), 80)
    checkpoint.write(path, checkpoints[0], NO_SECRETS)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write_all, path, checkpoints[1:])
        seen = [offset_in(path)]
        while not writing.done():
            seen.append(offset_in(path))
        writing.result()
    assert seen == sorted(seen)
    assert [offset_in(backup) for backup in checkpoint.backups(path)] == [78, 77, 76]


def counted() -> dict[str, int]:
    """Bytes that this process has read and written so far."""
    return {name: int(count) for name, count in (line.split(": ") for line in COUNTED.read_text().splitlines())}


def cost_of_iteration(store: FileStore, number: int) -> dict[str, int]:
    """Bytes read and written by one more run with one iteration, from lease to release, and a load."""
    before = counted() if COUNTED.exists() else {}
    with store.lease(NAME) as journal:
        journal.append(*iteration(number))
    assert store.load(NAME).spend.iterations == number
    after = counted() if COUNTED.exists() else {}
    return {name: after[name] - before[name] for name in before if name in ("rchar", "wchar")}


def sizes(store: FileStore) -> dict[str, int]:
    journal = store.root / f"{NAME}.progress" / "execution.log.jsonl"
    return {"checkpoint": (store.root / f"{NAME}.json").stat().st_size, "journal": journal.stat().st_size}


def test_the_cost_of_an_iteration_does_not_grow_with_those_before_it(store: FileStore) -> None:
    store.create(loop_created(NAME))
    with store.lease(NAME) as journal:
        journal.append(StartRequested(), *(event for number in range(1, 10) for event in iteration(number)))
    early_cost, early = cost_of_iteration(store, 10), sizes(store)
    with store.lease(NAME) as journal:
        for number in range(11, 5000):
            journal.append(*iteration(number), sync=False)
    before = sizes(store)
    late_cost, late = cost_of_iteration(store, 5000), sizes(store)
    digits = 40
    assert late["checkpoint"] <= early["checkpoint"] + digits
    assert late["journal"] - before["journal"] < early["journal"] / 5
    # One checkpoint more or fewer may be written, as time would have it; the journal is hundreds of times as large.
    most = 4 * late["checkpoint"] + early["journal"]
    assert all(cost < most for cost in (*early_cost.values(), *late_cost.values())), (early_cost, late_cost)
    assert late["journal"] > 100 * most


def test_only_entries_after_the_last_checkpoint_are_folded(store: FileStore) -> None:
    """A runner that died left some entries after its last checkpoint."""
    store.create(loop_created(NAME))
    with store.lease(NAME) as journal:
        for number in range(1, 200):
            journal.append(*iteration(number), sync=False)
    older = {path: path.read_bytes() for path in store.root.glob(f"{NAME}.json*")}
    with store.lease(NAME) as journal:
        journal.append(*iteration(200), *iteration(201))
        truth = journal.loop
    for path, content in older.items():
        path.write_bytes(content)
    assert store.load(NAME) == truth
