"""Checkpoint, backups and journal are lost: the loop is rebuilt from the remaining files, and the damage is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.store_conformance import iteration, loop_created

from untildone.core.errors import DamagedState
from untildone.core.events import BudgetChanged, StartRequested
from untildone.core.limits import Limit
from untildone.core.model import Outcome, Status
from untildone.modes.workflow.mode import MODE
from untildone.store.files import FileStore


def a_loop_that_worked(root: Path) -> FileStore:
    store = FileStore(root)
    store.create(loop_created("loop-1", "write the docs"))
    with store.lease("loop-1") as journal:
        for number in (1, 2, 3):
            journal.append(*iteration(number))
            store.spool("loop-1", f"{number:04d}").write(b"{}\n")
    for path in (*root.glob("loop-1.json*"), store.seals.head(root, "loop-1").spare):
        path.unlink()
    return store


def test_a_copy_of_the_checkpoint_in_the_state_folder_is_enough(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.create(loop_created("loop-1", "write the docs"))
    with store.lease("loop-1") as journal:
        journal.append(StartRequested(), *iteration(1), BudgetChanged(Limit.ITERATIONS, 2), *iteration(2))
        true = journal.loop
    for path in (*tmp_path.glob("loop-1.json*"), *store.progress("loop-1").glob("*.json*")):
        path.unlink()
    assert store.load("loop-1") == true
    with store.lease("loop-1") as journal:
        assert any("are missing" in detail or "is missing" in detail for detail in journal.repairs)


def test_the_whole_state_is_lost(tmp_path: Path) -> None:
    store = a_loop_that_worked(tmp_path)
    (store.progress("loop-1") / "execution.log.jsonl").unlink()
    loop = store.load("loop-1")
    assert (loop.description, loop.spend.iterations) == ("write the docs", 3)
    assert (loop.status, loop.outcome) == (Status.PAUSED, Outcome.INTERRUPTED)
    with store.lease("loop-1") as journal:
        assert any("rebuilt" in detail for detail in journal.repairs)


def test_the_first_line_is_lost(tmp_path: Path) -> None:
    store = a_loop_that_worked(tmp_path)
    path = store.progress("loop-1") / "execution.log.jsonl"
    path.write_bytes(b"#" + path.read_bytes()[1:])
    loop = store.load("loop-1")
    assert (loop.description, loop.spend.iterations) == ("write the docs", 3)


def test_the_copy_of_the_first_entry_is_lost_too(tmp_path: Path) -> None:
    store = a_loop_that_worked(tmp_path)
    (store.progress("loop-1") / "execution.log.jsonl").unlink()
    (store.progress("loop-1") / "created.json").write_text("{")
    with pytest.raises(DamagedState):
        store.load("loop-1")


def test_the_subtasks_of_a_workflow_come_from_its_progress(tmp_path: Path) -> None:
    store = a_loop_that_worked(tmp_path)
    boxes = "\n## Round 1: init\n\n- [ ] t1: parser\n- [ ] t2: docs\n\n## Round 2: develop\n\n- [x] t1: parser\n- [!] t2: docs\n"
    store.add_to_document("loop-1", "progress.md", boxes)
    found = MODE.recover(store.load("loop-1"), store.documents("loop-1"))
    assert found is not None
    assert [(change.task_id, change.status) for change in found.tasks][-2:] == [("t1", "completed"), ("t2", "failed")]
    assert found.skill_state == {"initialised": True, "last_action": "develop"}
