"""The files of a diff, by their real names. Covers: operations/showing/patches.py, workspace/diff.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from untildone.operations.showing.patches import patches
from untildone.workspace.diff import patch
from untildone.workspace.shadow import Shadow

NAMES = ("a.md", "docs/优惠.md", 'with "quotes".md', "with\ttab", "back\\slash", "a b/c d", "\\303.md")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_names_are_shown_as_they_are(workspace: Path) -> None:
    before = Shadow(str(workspace)).take().tree
    for name in NAMES:
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("one\n")
    after = Shadow(str(workspace)).take().tree
    made = patch(str(workspace), before, after)
    assert {each.path for each in patches(made)} == set(NAMES)
    assert all((each.added, each.removed) == (1, 0) for each in patches(made))
    assert "优惠" in made
    assert "优惠" in patch(str(workspace), before, after, stat=True)


def test_names_of_another_git_are_understood() -> None:
    (found,) = patches('diff --git "a/\\344\\274\\230.md" "b/\\344\\274\\230 \\"x\\".md"\nsimilarity index 100%\n')
    assert found.path == '优 "x".md'
