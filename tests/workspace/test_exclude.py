"""The live state files of loops stay out of git while they are there; then the exclude file is as it was."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from tests.support.repositories import git

from untildone.core.live_file import FOLDER, NAME, own_name
from untildone.workspace.person_git import exclude
from untildone.workspace.shadow import Shadow


def begin(workspace: Path, name: str = NAME) -> None:
    exclude.hold(str(workspace))
    (workspace / FOLDER).mkdir(exist_ok=True)
    (workspace / FOLDER / name).write_text("state\n")


def end(workspace: Path, name: str = NAME) -> None:
    (workspace / FOLDER / name).unlink()
    exclude.release(str(workspace))


@pytest.mark.parametrize("before", [None, b"", b"# a comment\n*.log\n", b"*.log", b"*.log\r\n\n\n"])
def test_the_exclude_file_is_byte_for_byte_as_before(repository: Path, before: bytes | None) -> None:
    path = repository / ".git" / "info" / "exclude"
    path.unlink()
    if before is not None:
        path.write_bytes(before)
        path.chmod(0o640)
    begin(repository)
    begin(repository)
    assert git(repository, "status", "--porcelain") == ""
    assert (before or b"").splitlines() == path.read_bytes().splitlines()[:-2]
    end(repository)
    assert (path.read_bytes() if path.exists() else None) == before
    assert before is None or stat.S_IMODE(path.stat().st_mode) == 0o640


def test_rules_that_the_person_adds_meanwhile_stay(repository: Path) -> None:
    path = repository / ".git" / "info" / "exclude"
    path.write_text("*.log\n")
    begin(repository)
    path.write_bytes(path.read_bytes() + b"*.tmp\n")
    end(repository)
    assert path.read_text() == "*.log\n*.tmp\n"


def test_the_lines_stay_until_the_last_live_file_of_all_work_trees_is_gone(repository: Path, tmp_path: Path) -> None:
    path = repository / ".git" / "info" / "exclude"
    before, other = path.read_bytes(), tmp_path / "other"
    git(repository, "worktree", "add", "--quiet", str(other))
    begin(repository)
    begin(repository, own_name("loop-1-abc"))
    begin(other)
    assert git(other, "status", "--porcelain") == ""
    end(repository)
    end(repository, own_name("loop-1-abc"))
    assert exclude.LINES in path.read_bytes()
    end(other)
    assert path.read_bytes() == before


def test_a_loop_that_died_with_its_workspace_does_not_keep_the_lines(repository: Path, tmp_path: Path) -> None:
    path = repository / ".git" / "info" / "exclude"
    before, other = path.read_bytes(), tmp_path / "other"
    git(repository, "worktree", "add", "--quiet", str(other))
    begin(other)
    git(repository, "worktree", "remove", "--force", str(other))
    begin(repository)
    end(repository)
    assert path.read_bytes() == before


def test_a_workspace_without_a_repository_needs_nothing(tmp_path: Path) -> None:
    begin(tmp_path)
    end(tmp_path)


def test_the_lines_are_not_reported_as_a_change_of_the_agent(repository: Path) -> None:
    shadow = Shadow(str(repository), loop_id="loop-1")
    shadow.take()
    begin(repository)
    assert shadow.git_changes() == ()
    path = repository / ".git" / "info" / "exclude"
    path.write_bytes(path.read_bytes().replace(b"Of untildone", b"Of untildone\nconftest.py\n#"))
    assert [change.sentence for change in shadow.git_changes()] == [".git/info/exclude has changed"]


def test_a_link_in_the_place_of_the_exclude_file_is_not_followed(repository: Path, tmp_path: Path) -> None:
    path, target = repository / ".git" / "info" / "exclude", tmp_path / "target"
    target.write_text("mine\n")
    path.unlink()
    path.symlink_to(target)
    begin(repository)
    end(repository)
    assert target.read_text() == "mine\n"


@pytest.mark.parametrize("how", ["file", "link"])
def test_the_repository_of_another_project_that_an_agent_names_is_not_written(
    repository: Path, tmp_path: Path, how: str
) -> None:
    path, work = repository / ".git" / "info" / "exclude", tmp_path / "work"
    before = path.read_bytes()
    work.mkdir()
    if how == "link":
        (work / ".git").symlink_to(repository / ".git")
    else:
        (work / ".git").write_text(f"gitdir: {repository}/.git\n")
    begin(work)
    assert path.read_bytes() == before
    end(work)
