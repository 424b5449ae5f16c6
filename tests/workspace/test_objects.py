"""Objects of a repository, however git stores them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.repositories import git

from untildone.workspace.objects import tree_of


@pytest.fixture(params=["sha1", "sha256"])
def repository(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    place = tmp_path / "it"
    place.mkdir()
    git(place, "init", "--quiet", "--initial-branch=main", f"--object-format={request.param}")
    (place / "a.txt").write_text("a\n")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", "First")
    return place


def detached(place: Path) -> Path:
    git(place, "checkout", "--quiet", "--detach")
    return place


def packed(place: Path) -> Path:
    git(place, "gc", "--quiet")
    return place


def on_a_branch_with_folders(place: Path) -> Path:
    git(place, "checkout", "--quiet", "-b", "a/b/c")
    return place


def in_a_worktree(place: Path) -> Path:
    git(place, "worktree", "add", "--quiet", "-b", "beside", str(place.parent / "beside"))
    return place.parent / "beside"


@pytest.mark.parametrize("kept", [lambda place: place, detached, packed, on_a_branch_with_folders, in_a_worktree])
def test_the_tree_of_a_commit_is_what_git_says(repository: Path, kept: object) -> None:
    assert callable(kept)
    place = kept(repository)
    head = git(place, "rev-parse", "HEAD")
    assert tree_of(str(place), head) == git(place, "rev-parse", "HEAD^{tree}")
