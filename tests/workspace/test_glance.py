"""An untouched small repository needs no git process; every change to it is detected."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.repositories import CountedGit, add_repository, git, link_instead, settled, without_configuration

from untildone.workspace import glance
from untildone.workspace.look import Workspace


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountedGit:
    without_configuration(monkeypatch, tmp_path)
    return CountedGit(tmp_path / "bin", monkeypatch)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / ".github" / "logs").mkdir(parents=True)
    (folder / ".github" / "logs" / "kept.txt").write_text("one\n")
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("two\n")
    (folder / ".gitignore").write_text("*.log\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=start")
    git(folder, "branch", "other")
    return folder


def in_place(path: Path) -> None:
    """Write as many bytes as before, and restore the timestamps, as some programs do."""
    before = path.stat()
    path.write_text("eno\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def commit(folder: Path) -> None:
    git(folder, "commit", "--allow-empty", "--quiet", "--message=next")


def commit_and_pack(folder: Path) -> None:
    commit(folder)
    git(folder, "pack-refs", "--all")


CHANGES: dict[str, Callable[[Path], object]] = {
    "an edit": lambda folder: (folder / "a.txt").write_text("more\n"),
    "an edit that hides itself": lambda folder: in_place(folder / "a.txt"),
    "a new file": lambda folder: (folder / "new.txt").write_text("new\n"),
    "a file that is gone": lambda folder: (folder / "a.txt").unlink(),
    "another name": lambda folder: (folder / "a.txt").rename(folder / "c.txt"),
    "a file made a program": lambda folder: (folder / "a.txt").chmod(0o755),
    "a link instead of a file": lambda folder: link_instead(folder / "a.txt", "b.txt"),
    "an edit in a folder that is named like git's own": lambda folder: in_place(folder / ".github/logs/kept.txt"),
    "a commit": commit,
    "a commit, packed away": commit_and_pack,
    "a file that is no longer ignored": lambda folder: (
        (folder / "kept.log").write_text("log\n"),
        (folder / ".gitignore").write_text("*.tmp\n"),
    ),
    "a repository inside": lambda folder: add_repository(folder / "inner"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_every_change_is_detected(counted: CountedGit, repository: Path, change: Callable[[Path], object]) -> None:
    place = settled(counted, repository)
    before = place.look().fingerprint
    change(repository)
    assert place.look().fingerprint == Workspace(str(repository)).look().fingerprint != before


def test_a_linked_worktree_works_in_the_same_way(counted: CountedGit, repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "tree"), "other")
    place = settled(counted, tmp_path / "tree")
    before = place.look().fingerprint
    git(repository, "branch", "third")
    assert place.look().fingerprint == before
    git(tmp_path / "tree", "commit", "--allow-empty", "--quiet", "--message=next")
    assert place.look().fingerprint == Workspace(str(tmp_path / "tree")).look().fingerprint != before


@pytest.mark.parametrize("name", ["hooks", "logs", "objects"])
def test_a_branch_may_be_named_like_a_folder_of_git(counted: CountedGit, repository: Path, name: str) -> None:
    git(repository, "checkout", "--quiet", "-b", f"{name}/mine")
    git(repository, "commit", "--allow-empty", "--quiet", "--message=next")
    place = settled(counted, repository)
    before = place.look().fingerprint
    git(repository, "update-ref", f"refs/heads/{name}/mine", "main")
    assert place.look().fingerprint == Workspace(str(repository)).look().fingerprint != before


def test_files_of_untildone_need_no_git_process(counted: CountedGit, repository: Path) -> None:
    (repository / ".loop").mkdir()
    (repository / ".claude").mkdir()
    place = settled(counted, repository)
    (repository / ".loop" / "loop-1.json").write_text("{}")
    (repository / ".claude" / "ralph-delta.local.md").write_text("# state\n")
    assert counted.is_spared_by(place)


SECOND = 1_000_000_000
NOW = 1_800_000_001 * SECOND


@pytest.mark.parametrize(
    ("changed_at", "sure"),
    [
        (NOW - 10 * SECOND, True),
        (NOW - 10 * SECOND + 7, True),
        (NOW - SECOND // 10 + 7, True),
        (NOW - SECOND // 100 + 7, False),
        (NOW - SECOND, False),
        (NOW - 2 * SECOND, False),
        (NOW - 3 * SECOND, True),
        (NOW + SECOND, False),
    ],
)
def test_a_file_no_older_than_the_look_is_racy(changed_at: int, *, sure: bool) -> None:
    """Whole seconds mean that the file system may store whole or every second second only."""
    for times in ((changed_at, changed_at), (changed_at, 7), (7, changed_at)):
        seen = {b"/it/a.txt": (4, times[0], 0o100644, times[1], 1)}
        assert glance.touched(seen, NOW, seen) == (set() if sure else {b"/it/a.txt"})


def test_a_large_repository_is_left_to_git(counted: CountedGit, repository: Path) -> None:
    for number in range(glance.MOST_ENTRIES):
        (repository / f"{number}.log").write_text("")
    assert glance.look(str(repository)) is None
    place = Workspace(str(repository))
    assert not any(counted.is_spared_by(place) for _ in range(3))
    (repository / "a.txt").write_text("more\n")
    assert place.look().fingerprint == Workspace(str(repository)).look().fingerprint
