"""Patches between snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.repositories import create, modify

from untildone.core.errors import UsageError
from untildone.workspace.diff import patch, patch_of_new
from untildone.workspace.look import Workspace


def test_diff_from_a_snapshot_to_another_and_to_the_present(repository: Path) -> None:
    looker = Workspace(str(repository), "loop-1")
    start = looker.look()
    modify(repository)
    middle = looker.look(start)
    create(repository)
    assert start.tree
    assert middle.tree
    to_middle = patch(str(repository), start.tree, middle.tree)
    assert "-two\n+2\n" in to_middle
    assert "b.txt" not in to_middle
    to_now = patch(str(repository), start.tree)
    assert "-two\n+2\n" in to_now
    assert "+++ b/new/deep/b.txt" in to_now
    assert "2 files changed, 2 insertions(+), 1 deletion(-)" in patch(str(repository), start.tree, stat=True)
    assert "\x1b[" not in to_now


@pytest.mark.parametrize("start", ["1" * 40, "--output=stolen", ""])
def test_diff_from_an_invalid_snapshot(repository: Path, start: str) -> None:
    with pytest.raises(UsageError):
        patch(str(repository), start)
    assert not (repository / "stolen").exists()


def test_a_patch_that_adds_files_on_a_machine_without_snapshots() -> None:
    assert "+++ b/tests/test_a.py" in patch_of_new({"tests/test_a.py": b"one\n"})
    assert "1 file changed, 1 insertion(+)" in patch_of_new({"a b,c": b"one\n"}, stat=True)
    with pytest.raises(UsageError, match="cannot be shown"):
        patch_of_new({"../outside": b"one\n"})
