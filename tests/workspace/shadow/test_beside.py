"""What changes beside the snapshots is named: git's own files, and ignored files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.repositories import git

from untildone.workspace.shadow import Shadow
from untildone.workspace.shadow.ignored import IgnoredChanges, Manifest, compared


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    for name in (
        "a.txt",
        ".gitignore",
        ".venv/lib/x.py",
        "build/out.bin",
        "node_modules/.bin/jest",
        "__pycache__/a.pyc",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(".venv/\nbuild/\nnode_modules/\n__pycache__/\n*.log\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=start")
    return folder


def a_filter(place: Path) -> None:
    git(place, "config", "filter.hide.clean", "cat /dev/null")
    (place / ".git/info/attributes").write_text("*.txt filter=hide\n")


def a_hook(place: Path) -> None:
    (place / ".git/hooks").mkdir(exist_ok=True)
    (place / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")


def an_index_flag(place: Path) -> None:
    git(place, "update-index", "--assume-unchanged", "a.txt")


def a_replaced_object(place: Path) -> None:
    git(
        place,
        "replace",
        "-f",
        git(place, "rev-parse", "HEAD:a.txt"),
        git(place, "hash-object", "-w", ".gitignore", "--stdin"),
    )


def a_new_history(place: Path) -> None:
    shutil.move(place / ".git", place.parent / "old")
    git(place, "init", "--quiet")


def no_repository(place: Path) -> None:
    shutil.rmtree(place / ".git")


def a_broken_configuration(place: Path) -> None:
    (place / ".git/config").write_text("[")


def a_pipe_for_configuration(place: Path) -> None:
    (place / ".git/config").unlink()
    os.mkfifo(place / ".git/config")


def rewritten(place: Path) -> None:
    (place / "b.txt").write_text("b\n")
    git(place, "add", "b.txt")
    git(place, "commit", "--quiet", "--amend", "--message=another")


def nothing(place: Path) -> None:
    git(place, "checkout", "--quiet", "-b", "work")
    git(place, "commit", "--quiet", "--allow-empty", "--message=work")
    git(place, "tag", "v1")
    git(place, "gc", "--quiet")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (nothing, []),
        (a_filter, [".git/info/attributes is new", "the git setting filter.hide.clean is new"]),
        (a_hook, [".git/hooks/pre-commit is new"]),
        (an_index_flag, ["a.txt is marked assume-unchanged in git's index"]),
        (no_repository, ["the git repository (.git) was deleted", "the commit …, the last one when the loop began, is gone"]),
        (a_new_history, [
            "the git repository (.git) was replaced by another",
            "the commit …, the last one when the loop began, is gone",
        ]),
        (a_broken_configuration, ["git cannot read the repository (.git) any more", "the commit … is gone"]),
    ],
)  # fmt: skip
def test_changes_of_git_are_named(place: Path, change: Callable[[Path], None], expected: list[str]) -> None:
    Shadow(str(place), loop_id="loop-1").take()
    assert Shadow(str(place), loop_id="loop-1").git_changes() == ()
    head = git(place, "rev-parse", "HEAD")[:12]
    change(place)
    found = [each.sentence.replace(head, "…") for each in Shadow(str(place), loop_id="loop-1").git_changes()]
    assert [each.replace(", the last one when the loop began,", "") for each in found] == [
        each.replace(", the last one when the loop began,", "") for each in expected
    ]


def test_a_hook_behind_a_link_of_the_person_is_compared_by_content(place: Path) -> None:
    shutil.move(place / ".git/hooks", place / "githooks")
    (place / ".git/hooks").symlink_to("../githooks")
    (place / "githooks/pre-commit").write_text("one\n")
    Shadow(str(place), loop_id="loop-1").take()
    (place / "githooks/pre-commit").write_text("two\n")
    [change] = Shadow(str(place), loop_id="loop-1").git_changes()
    assert change.sentence == ".git/hooks/pre-commit has changed"


def test_ordinary_work_is_told_apart(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    git(place, "config", "user.name", "Ada")
    git(place, "remote", "add", "origin", "elsewhere")
    rewritten(place)
    changes = shadow.git_changes()
    assert all(each.usual for each in changes)
    assert "the git setting user.name is new" in [each.sentence for each in changes]
    git(place, "config", "core.worktree", "..")
    assert [each.sentence for each in shadow.git_changes() if not each.usual] == [
        "the git setting core.worktree is new"
    ]


def test_a_replaced_object_is_named(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    blob = git(place, "rev-parse", "HEAD:a.txt")
    (place / "b").write_text("b\n")
    git(place, "replace", blob, git(place, "hash-object", "-w", "b"))
    [change] = shadow.git_changes()
    assert change.sentence == f"git shows another object instead of {blob[:12]} (git replace): it is new"


def test_a_repository_that_makes_git_wait_is_broken(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    monkeypatch.setattr("untildone.workspace.shadow.facts.QUICK_SECONDS", 0.3)
    a_pipe_for_configuration(place)
    assert [each.sentence for each in shadow.git_changes()][:1] == ["git cannot read the repository (.git) any more"]


def test_a_folder_without_a_repository_may_become_one(tmp_path: Path) -> None:
    place = tmp_path / "folder"
    place.mkdir()
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    assert shadow.git_changes() == ()
    git(place, "init", "--quiet")
    assert [(each.sentence, each.usual) for each in shadow.git_changes()] == [("a git repository was made", True)]


def test_new_and_changed_ignored_files_are_named(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    assert shadow.ignored_changes() == IgnoredChanges()
    shadow.take()
    assert shadow.ignored_changes() == IgnoredChanges()
    out = place / "build/out.bin"
    times = out.stat()
    out.write_text("X" + out.read_text()[1:])
    os.utime(out, ns=(times.st_atime_ns, times.st_mtime_ns))
    (place / "x.log").write_text("x\n")
    (place / ".venv/lib/evil.pth").write_text("import evil\n")
    (place / "node_modules/.bin/jest").write_text("#!/bin/true\n")
    (place / "__pycache__/b.pyc").write_text("x\n")
    (place / "b.txt").write_text("not ignored\n")
    (place / ".loop").mkdir()
    (place / ".loop/loop-1.json").write_text("{}")
    shadow.take()
    changes = Shadow(str(place), loop_id="loop-1").ignored_changes()
    assert changes == IgnoredChanges(("x.log",), ("build/out.bin",), {".venv": 1, "node_modules": 1})
    assert "x.log is ignored, and new" in changes.sentences


def test_too_many_ignored_files_are_compared_as_far_as_they_are_known() -> None:
    stamp, other = (1, 2, 3), (1, 2, 4)
    before = Manifest({b"a": stamp, b"b": stamp}, complete=False)
    now = Manifest({b"a": other, b"c": stamp})
    assert compared(before, now) == IgnoredChanges(changed=("a",), complete=False)
