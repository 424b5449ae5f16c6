"""Commits of the work of a loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.repositories import delete, files_of, git, modify, strange_names

from untildone.core.errors import UsageError
from untildone.workspace import commits
from untildone.workspace.look import Workspace


def test_commit_contains_every_file_that_is_not_ignored(repository: Path) -> None:
    strange_names(repository)
    delete(repository)
    (repository / "x.log").write_text("x")
    made = commits.commit(str(repository), "Round 1\n\n# not a comment")
    assert made == git(repository, "rev-parse", "HEAD").strip()
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "log", "-1", "--format=%B|%an <%ae>|%cn <%ce>").strip() == (
        "Round 1\n\n# not a comment|untildone <untildone@localhost>|untildone <untildone@localhost>"
    )
    assert len(files_of(repository, made)) == 5
    assert commits.commit(str(repository), "again") is None


def test_commit_is_made_by_the_person_who_is_configured_and_not_signed(repository: Path) -> None:
    for name, value in (("user.name", "Ada"), ("commit.gpgSign", "true"), ("gpg.program", "/bin/false")):
        git(repository, "config", name, value)
    modify(repository)
    commits.commit(str(repository), "")
    assert git(repository, "log", "-1", "--format=%an <%ae>|%s").strip() == "Ada <untildone@localhost>|"


def test_first_commit(empty: Path) -> None:
    assert commits.commit(str(empty), "nothing yet") is None
    (empty / "a").write_text("a")
    assert commits.commit(str(empty), "first") is not None


def test_a_commit_that_git_refuses_is_reported(repository: Path) -> None:
    modify(repository)
    (repository / ".git" / "index.lock").touch()
    with pytest.raises(UsageError, match=r"cannot be committed: Unable to create .*index\.lock"):
        commits.commit(str(repository), "locked")


def test_a_commit_of_everything_needs_no_snapshot(repository: Path) -> None:
    place = str(repository)
    looker = Workspace(place)
    before = looker.look()
    assert commits.keep(place, "Nothing new") == commits.Kept(git(repository, "rev-parse", "HEAD"), whole=True)
    (repository / "b.txt").write_text("b\n")
    kept = commits.keep(place, "More")
    assert (kept.made, kept.all_in) == (True, git(repository, "rev-parse", "HEAD"))
    assert looker.look(before, kept.all_in) == Workspace(place).look(before)
    assert looker.look(before, kept.all_in).files == 1


def test_another_repository_inside_is_not_in_the_commit_and_must_be_looked_at(repository: Path) -> None:
    git(repository, "init", "--quiet", "inner")
    (repository / "inner" / "c.txt").write_text("c\n")
    (repository / "b.txt").write_text("b\n")
    kept = commits.keep(str(repository), "More")
    assert (kept.made, kept.all_in) == (True, None)
