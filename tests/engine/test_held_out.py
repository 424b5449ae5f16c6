"""Held-out tests that travel to the machines of a cluster: they arrive as they were, or the proof is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from untildone.core.errors import UsageError
from untildone.core.judging.survey import Rules, survey
from untildone.core.judging.trees import Tree
from untildone.core.loop import Loop
from untildone.core.model import AcceptanceTests, AgentChoice, Budget, LoopSettings
from untildone.core.receipts.proving import HELD_OUT, HELD_OUT_DIGEST
from untildone.engine.verdicts import authoring, proving
from untildone.store import packing
from untildone.workspace.look import Workspace
from untildone.workspace.rooms import RoomRefused
from untildone.workspace.shadow import NoSnapshot

EMPTY = Tree({}, lambda _blobs: {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "held" / "tests").mkdir(parents=True)
    (tmp_path / "held" / "tests" / "test_a.py").write_bytes(b"assert 1\n\xff\0")
    return tmp_path / "held"


def arrived(folder: Path, carried: str | None, digest: str = "") -> dict[str, bytes]:
    """The held-out files on a machine that does not have their folder."""
    options = {HELD_OUT: "/nowhere", HELD_OUT_DIGEST: digest or proving.digest(str(folder))}
    chosen = LoopSettings("ralph", AgentChoice("scripted", "scripted"), "", remote="r", options=options)
    loop = Loop("loop-1", "A job", "A job", chosen, Budget(), 0.0, 0.0)
    unseen = proving.Unseen({}, {}, lambda _name: carried)
    return dict(proving.work_of(loop, EMPTY, EMPTY, survey(EMPTY, EMPTY, Rules(())), unseen).held_out)


def test_they_arrive_as_they_were(folder: Path) -> None:
    assert arrived(folder, proving.packed(str(folder))) == {"tests/test_a.py": b"assert 1\n\xff\0"}


@pytest.mark.parametrize("carried", [None, "", "e30=", "not packed", "eJyrrgUAAXUA+Q=="])
def test_what_is_missing_or_altered_is_refused(folder: Path, carried: str | None) -> None:
    with pytest.raises(RoomRefused, match="are not those of the loop's start"):
        arrived(folder, carried)


def test_they_are_laid_over_the_workspace_and_not_over_the_repository_around_it(folder: Path) -> None:
    options = {HELD_OUT: str(folder), HELD_OUT_DIGEST: proving.digest(str(folder))}
    chosen = LoopSettings("ralph", AgentChoice("scripted", "scripted"), "", options=options)
    loop = Loop("loop-1", "A job", "A job", chosen, Budget(), 0.0, 0.0)
    unseen = proving.Unseen({}, {}, lambda _name: None, "packages/one")
    work = proving.work_of(loop, EMPTY, EMPTY, survey(EMPTY, EMPTY, Rules(())), unseen)
    assert list(work.held_out) == ["packages/one/tests/test_a.py"]


def test_a_folder_that_is_gone_is_refused_without_a_word_about_where_it_was(tmp_path: Path) -> None:
    """The agent reads why its claim was refused."""
    options = {HELD_OUT: str(tmp_path / "gone"), HELD_OUT_DIGEST: "0" * 64}
    chosen = LoopSettings("ralph", AgentChoice("scripted", "scripted"), "", options=options)
    loop = Loop("loop-1", "A job", "A job", chosen, Budget(), 0.0, 0.0)
    with pytest.raises(RoomRefused) as refused:
        proving.work_of(loop, EMPTY, EMPTY, survey(EMPTY, EMPTY, Rules(())), proving.Unseen({}, {}, lambda _name: None))
    assert str(tmp_path) not in f"{refused.value.sentence} {refused.value.hint}"


def test_what_is_too_large_is_refused_when_the_loop_is_created(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_PACKED", 10)
    with pytest.raises(UsageError, match="too large for a cluster"):
        proving.packed(str(folder))


def test_acceptance_tests_arrive_as_they_were_written_or_not_at_all() -> None:
    tests = {"tests/test_b.py": b"assert 2\n"}
    written = AcceptanceTests("writer", "", tuple(tests), packing.digest(tests.items()))
    name, other = f"acceptance-{written.sha256}", [("tests/test_b.py", b"pass\n")]
    assert authoring.carried(written, {name: packing.packed(tests.items(), "They")}.get) == tests
    for stored in ({}, {name: packing.packed(other, "They")}):
        with pytest.raises(NoSnapshot, match="are not those that the author wrote"):
            authoring.carried(written, stored.get)


def test_acceptance_tests_that_are_too_large_for_a_cluster_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "MOST_PACKED", 10)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "test_b.py").write_text("assert 2\n")
    workspace = Workspace(str(tmp_path / "work"), "loop-1")
    written = AcceptanceTests("writer", workspace.look().tree or "", ("test_b.py",), "")
    with pytest.raises(UsageError, match="The acceptance tests by writer are too large for a cluster") as refused:
        authoring.carry(workspace.shadow, written, lambda _name, _text: None)
    assert "`untildone resume` asks it again" in refused.value.hint
