"""Links in a git folder that lead git to files of the person."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.repositories import git

from untildone.workspace.git import GitFailed
from untildone.workspace.git_links import folders_outside, refuse_outward

LINKS = ("logs/HEAD", "logs/refs/heads/main", "index", "info", "objects/00", "refs/heads/main", "worktrees", "config")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    git(tmp_path, "init", "-q", "-b", "main", str(made))
    git(made, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
    return made


def test_an_ordinary_repository_is_fine(root: Path) -> None:
    refuse_outward(str(root))


@pytest.mark.parametrize("name", LINKS)
def test_a_link_out_of_the_repository_is_refused_by_name(root: Path, tmp_path: Path, name: str) -> None:
    place = root / ".git" / name
    if os.path.lexists(place):
        place.rename(root / "kept")
    place.symlink_to(tmp_path / "outside")
    with pytest.raises(GitFailed, match=f"{name} leads out of the repository"):
        refuse_outward(str(root))


def test_a_link_inside_of_the_repository_is_fine(root: Path) -> None:
    (root / ".git/logs/HEAD").rename(root / ".git/log")
    (root / ".git/logs/HEAD").symlink_to(root / ".git/log")
    refuse_outward(str(root))


def test_the_git_folder_of_another_project_is_refused(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", str(tmp_path / "other"))
    (root / ".git").rename(root / "kept")
    (root / ".git").symlink_to(tmp_path / "other/.git")
    with pytest.raises(GitFailed, match="leads out"):
        refuse_outward(str(root))


def test_worktrees_are_fine_and_their_shared_folder_is_known(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"))
    refuse_outward(str(tmp_path / "tree"))
    assert folders_outside(str(tmp_path / "tree")) == (str(root / ".git"),)
