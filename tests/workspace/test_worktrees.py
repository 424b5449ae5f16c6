"""A loop's own worktree."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.boxes import boxes
from tests.support.repositories import counts, create, git, modify

from untildone.core.errors import UsageError
from untildone.core.model import AgentChoice, LoopSettings
from untildone.engine.boxes import box_of, planning
from untildone.workspace.diff import changed_files, patch
from untildone.workspace.look import Workspace
from untildone.workspace.person_git import commits
from untildone.workspace.person_git.worktrees import create_worktree, fill_submodules

__all__ = ["boxes"]


def test_worktree_has_its_own_branch_and_does_not_change_the_repository(repository: Path, tmp_path: Path) -> None:
    modify(repository)
    tree = create_worktree(str(repository), "L7", tmp_path / "tree")
    assert tree == str(tmp_path / "tree")
    assert git(Path(tree), "branch", "--show-current") == "untildone/L7"
    assert (tmp_path / "tree" / "a.txt").read_text() == "one\ntwo\n"
    looker = Workspace(tree)
    before = looker.look()
    create(tmp_path / "tree")
    assert counts(looker.look(before)) == (1, 1, 0)
    assert commits.commit(tree, "in the worktree") is not None
    assert git(repository, "branch", "--show-current") == "main"
    assert not (repository / "new").exists()


def test_worktree_of_a_folder_inside(repository: Path, tmp_path: Path) -> None:
    (repository / "package").mkdir()
    (repository / "package" / "x").write_text("x")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message=package")
    tree = create_worktree(str(repository / "package"), "L1", tmp_path / "tree")
    assert tree == str(tmp_path / "tree" / "package")


def test_worktree_again_is_the_same_and_comes_back_when_lost(repository: Path, tmp_path: Path) -> None:
    tree = create_worktree(str(repository), "L1", tmp_path / "tree")
    create(tmp_path / "tree")
    made = commits.commit(tree, "work")
    assert create_worktree(str(repository), "L1", tmp_path / "tree") == tree
    (tmp_path / "tree").rename(tmp_path / "lost")
    create_worktree(str(repository), "L1", tmp_path / "tree")
    assert git(Path(tree), "rev-parse", "HEAD") == made


def test_worktree_that_cannot_be_created(repository: Path, empty: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    with pytest.raises(UsageError, match=r"No worktree can be made in .*already exists"):
        create_worktree(str(repository), "L1", tmp_path / "full")


def test_worktree_needs_a_commit(empty: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no commit yet"):
        create_worktree(str(empty), "L1", tmp_path / "tree")


def test_outside_a_repository_every_function_reports_it(tmp_path: Path) -> None:
    attempts: tuple[Callable[[], object], ...] = (
        lambda: commits.commit(str(tmp_path), "x"),
        lambda: create_worktree(str(tmp_path), "L1", tmp_path / "tree"),
    )
    for attempt in attempts:
        with pytest.raises(UsageError, match="is not in a git repository"):
            attempt()


def with_submodule(repository: Path, folder: Path) -> None:
    """A submodule `lib`, which has a submodule `deep` of its own."""
    for name, inside in (("deep", None), ("library", "deep")):
        (folder / name).mkdir()
        git(folder / name, "init", "--quiet")
        (folder / name / "x.txt").write_text(f"{name}\n")
        if inside:
            git(folder / name, "submodule", "--quiet", "add", str(folder / inside), inside)
        git(folder / name, "add", "--all")
        git(folder / name, "commit", "--quiet", "--message=x")
    git(repository, "submodule", "--quiet", "add", str(folder / "library"), "lib")
    git(repository, "submodule", "--quiet", "update", "--init", "--recursive")
    git(repository, "commit", "--quiet", "--message=with a submodule")


def test_a_worktree_has_its_submodules(repository: Path, tmp_path: Path) -> None:
    with_submodule(repository, tmp_path)
    place = Path(create_worktree(str(repository), "loop-1", tmp_path / "worktree"))
    assert fill_submodules(str(repository), str(place)) == ()
    assert (place / "lib" / "x.txt").read_text() == "library\n"
    assert (place / "lib" / "deep" / "x.txt").read_text() == "deep\n"
    assert git(place, "status", "--porcelain") == ""
    assert git(place / "lib", "remote", "get-url", "origin") == str(tmp_path / "library")
    assert fill_submodules(str(repository), str(place)) == (), "once is enough"


@pytest.mark.usefixtures("boxes")
def test_submodules_are_copied_in_a_box_too(repository: Path, tmp_path: Path) -> None:
    with_submodule(repository, tmp_path)
    choice = AgentChoice("command", "command", command="sh")
    settings = LoopSettings("ralph", choice, str(repository))
    box = box_of(planning.plan_for(settings, str(repository), choice, os.environ, "test-worktree"))
    place = Path(create_worktree(str(repository), "loop-1", tmp_path / "worktree", box))
    assert fill_submodules(str(repository), str(place), box) == ()
    assert (place / "lib" / "deep" / "x.txt").read_text() == "deep\n"


def test_submodules_that_nobody_checked_out_are_named(repository: Path, tmp_path: Path) -> None:
    with_submodule(repository, tmp_path)
    git(repository, "submodule", "--quiet", "deinit", "--force", "lib")
    place = create_worktree(str(repository), "loop-1", tmp_path / "worktree")
    (sentence,) = fill_submodules(str(repository), place)
    assert "empty in the worktree: lib." in sentence


def test_a_change_inside_a_submodule_is_seen_and_shown(repository: Path, tmp_path: Path) -> None:
    with_submodule(repository, tmp_path)
    place = Workspace(str(repository), "loop-1")
    before = place.look()
    (repository / "lib" / "x.txt").write_text("changed\n")
    after = place.look(before)
    assert (after.files, after.insertions, after.deletions) == (1, 1, 1)
    assert "lib/x.txt" in patch(str(repository), str(before.tree), loop_id="loop-1")
    files = changed_files(str(repository), before.tree, after.tree)
    assert files is not None
    assert [file.path for file in files] == ["lib/x.txt"]
