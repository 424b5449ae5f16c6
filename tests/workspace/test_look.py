"""Changes in a workspace, with real repositories."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.repositories import counts, create, delete, files_of, git, modify, strange_names

from untildone.core.model import Changes
from untildone.workspace.diff import patch
from untildone.workspace.look import Workspace
from untildone.workspace.person_git import commits
from untildone.workspace.person_git.worktrees import create_worktree
from untildone.workspace.shadow.reading import BIG_FILE


def test_nothing_changed(repository: Path) -> None:
    first = Workspace(str(repository)).look()
    again = Workspace(str(repository)).look(first)
    assert first == again
    assert first.head == git(repository, "rev-parse", "HEAD").strip()
    assert first.tree == git(repository, "rev-parse", "HEAD^{tree}").strip()
    assert counts(first) == (0, 0, 0)


def stage(folder: Path) -> None:
    create(folder)
    git(folder, "add", "--all")


def make_executable(folder: Path) -> None:
    (folder / "a.txt").chmod(0o755)


def dangling_link(folder: Path) -> None:
    (folder / "link").symlink_to("nowhere")


def commit_it(folder: Path) -> None:
    modify(folder)
    git(folder, "commit", "--quiet", "--all", "--message=more")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (modify, (1, 1, 1)),
        (create, (1, 1, 0)),
        (delete, (1, 0, 2)),
        (stage, (1, 1, 0)),
        (make_executable, (1, 0, 0)),
        (dangling_link, (1, 1, 0)),
        (strange_names, (4, 4, 0)),
        (commit_it, (1, 1, 1)),
    ],
)
def test_changes_are_seen_and_counted(
    repository: Path, change: Callable[[Path], None], expected: tuple[int, int, int]
) -> None:
    looker = Workspace(str(repository))
    before = looker.look()
    change(repository)
    after = looker.look(before)
    assert counts(after) == expected
    assert after.fingerprint != before.fingerprint
    assert looker.look(after) == Changes(after.fingerprint, after.head, after.tree)
    assert Workspace(str(repository)).look(after).fingerprint == after.fingerprint


def test_every_further_change_of_the_same_file_is_seen_at_once(repository: Path) -> None:
    looker, seen = Workspace(str(repository)), set()
    for number in range(10, 30):
        (repository / "a.txt").write_text(f"{number}\n")
        (repository / "untracked.txt").write_text(f"{number}\n")
        seen.add(looker.look().fingerprint)
    assert len(seen) == 20


def test_going_back_gives_the_same_fingerprint(repository: Path) -> None:
    looker = Workspace(str(repository))
    before = looker.look()
    create(repository)
    changed = looker.look(before)
    (repository / "new" / "deep" / "b.txt").unlink()
    assert looker.look(changed).fingerprint == before.fingerprint


def test_ignored_files_and_our_own_do_not_count(repository: Path) -> None:
    before = Workspace(str(repository)).look()
    for name in ("ignored/x", "x.log", ".loop/a.json", "sub/.loop/b.progress/c", ".claude/ralph-delta.local.md"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("x")
    assert Workspace(str(repository)).look(before) == before
    assert commits.commit(str(repository), "nothing") is None


def test_index_hooks_and_stash_of_the_person_are_not_changed(repository: Path, tmp_path: Path) -> None:
    for hook in ("post-index-change", "pre-commit", "commit-msg", "post-commit", "post-checkout", "fsmonitor"):
        script = repository / ".git" / "hooks" / hook
        script.write_text(f"#!/bin/sh\ntouch '{tmp_path}/hook-ran'\nexit 1\n")
        script.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(repository / ".git" / "hooks" / "fsmonitor"))
    stage(repository)
    (tmp_path / "hook-ran").unlink()
    modify(repository)
    index = repository / ".git" / "index"
    before, configuration = index.read_bytes(), (repository / ".git" / "config").read_bytes()
    looker = Workspace(str(repository))
    first = looker.look()
    delete(repository)
    looker.look(first)
    patch(str(repository), str(first.tree))
    assert index.read_bytes() == before
    assert (repository / ".git" / "config").read_bytes() == configuration
    assert not (repository / ".git" / "refs" / "stash").exists()
    assert commits.commit(str(repository), "with hooks") is not None
    create_worktree(str(repository), "L1", tmp_path / "tree")
    assert not (tmp_path / "hook-ran").exists()


def test_repository_without_a_commit(empty: Path) -> None:
    looker = Workspace(str(empty))
    before = looker.look()
    (empty / "a.txt").write_text("a\nb\n")
    after = looker.look(before)
    assert (before.head, after.head) == (None, None)
    assert counts(after) == (1, 2, 0)
    assert before.fingerprint != after.fingerprint


def test_repository_with_sha256_names(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "r")
    looker = Workspace(str(tmp_path / "r"))
    before = looker.look()
    (tmp_path / "r" / "a").write_text("a\n")
    assert counts(looker.look(before)) == (1, 1, 0)


def test_unmerged_files(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "other")
    commit_it(repository)
    git(repository, "checkout", "--quiet", "main")
    (repository / "a.txt").write_text("one\nzwei\n")
    git(repository, "commit", "--quiet", "--all", "--message=zwei")
    looker = Workspace(str(repository))
    before = looker.look()
    with pytest.raises(AssertionError):
        git(repository, "merge", "--quiet", "other")
    assert (repository / ".git" / "MERGE_HEAD").exists()
    assert looker.look(before).files == 1
    assert commits.commit(str(repository), "half a merge") is None


def test_changes_inside_submodules_and_foreign_repositories_are_seen(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "repository", "library")
    git(repository, "submodule", "--quiet", "add", str(tmp_path / "library"), "library")
    git(repository, "commit", "--quiet", "--message=library")
    looker = Workspace(str(repository))
    git(repository, "init", "--quiet", "foreign")
    seen = [looker.look()]
    for name, text in (("library/a.txt", "1"), ("library/a.txt", "22"), ("foreign/x", "1"), ("foreign/x", "22")):
        (repository / name).write_text(text)
        seen.append(looker.look(seen[-1]))
    assert len({changes.fingerprint for changes in seen}) == 5
    assert all(changes.tree for changes in seen)
    modify(repository)
    assert commits.commit(str(repository), "not the foreign one") is not None
    assert "foreign" not in git(repository, "ls-files")


def test_a_folder_inside_a_repository_sees_the_whole_work_tree(repository: Path) -> None:
    (repository / "package").mkdir()
    looker = Workspace(str(repository / "package"))
    before = looker.look()
    modify(repository)
    assert counts(looker.look(before)) == (1, 1, 1)


def test_a_folder_that_its_repository_ignores_is_looked_at_by_itself(repository: Path) -> None:
    (repository / "ignored").mkdir()
    looker = Workspace(str(repository / "ignored"))
    before = looker.look()
    (repository / "ignored" / "x").write_text("x")
    after = looker.look(before)
    assert (before.fingerprint != after.fingerprint, after.files) == (True, 1)
    assert files_of(repository / "ignored", after.tree) == ["x"]


def test_started_from_a_git_hook_it_still_looks_at_its_own_folder(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = Workspace(str(repository)).look()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere" / "index"))
    assert Workspace(str(repository)).look() == expected


def test_a_very_big_file_is_not_copied_but_detected(repository: Path) -> None:
    with (repository / "big").open("wb") as big:
        big.truncate(BIG_FILE)
    looker = Workspace(str(repository))
    before = looker.look()
    assert "big" not in files_of(repository, before.tree)
    with (repository / "big").open("ab") as big:
        big.write(b"more")
    assert looker.look(before).fingerprint != before.fingerprint


@pytest.fixture
def as_ordinary_user() -> Iterator[Path]:
    """A folder that an unprivileged user cannot read completely."""
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() != 0:
            yield Path(folder)
            return
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            os.seteuid(0)


def test_a_file_that_may_not_be_read_does_not_hide_the_others(
    as_ordinary_user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("XDG_STATE_HOME", str(as_ordinary_user / "state"))
    place = as_ordinary_user / "place"
    place.mkdir()
    secret = place / "secret.txt"
    secret.write_text("x\n")
    secret.chmod(0)
    (place / "good.txt").write_text("x\n")
    looker = Workspace(str(place))
    before = looker.look()
    assert files_of(place, before.tree) == ["good.txt"]
    assert looker.look(before).fingerprint == before.fingerprint
    os.utime(secret, (1, 1))
    assert looker.look(before).fingerprint != before.fingerprint


def test_thousands_of_new_files(repository: Path) -> None:
    for number in range(1200):
        (repository / f"{number}.txt").write_text(f"{number}\n")
    looker = Workspace(str(repository))
    before = looker.look()
    for number in range(1200):
        (repository / f"{number}.txt").write_text(f"{number} more\n")
    assert counts(looker.look(before)) == (1200, 1200, 1200)


def break_head(folder: Path) -> None:
    (folder / ".git" / "HEAD").write_text("garbage\n")


def make_bare(folder: Path) -> None:
    git(folder, "config", "core.bare", "true")


def break_index(folder: Path) -> None:
    (folder / ".git" / "index").write_bytes(b"garbage")


def lose_the_repository(folder: Path) -> None:
    (folder / ".git").rename(folder / "was-git")
    (folder / ".git").write_text("gitdir: ../gone\n")


def drop_the_repository(folder: Path) -> None:
    (folder / ".git").rename(folder.parent / "was-git")


def break_a_filter(folder: Path) -> None:
    (folder / ".gitattributes").write_text("*.bad filter=broken\n")
    git(folder, "config", "filter.broken.clean", "false")
    git(folder, "config", "filter.broken.required", "true")
    (folder / "x.bad").write_text("x\n")


def belong_to_another(folder: Path) -> None:
    os.chown(folder / ".git", 12345, 12345)
    os.chown(folder, 12345, 12345)


@pytest.mark.parametrize(
    "break_it",
    [
        break_head,
        make_bare,
        break_index,
        lose_the_repository,
        drop_the_repository,
        break_a_filter,
        pytest.param(
            belong_to_another, marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
        ),
    ],
)
@pytest.mark.parametrize("when", ["before the start", "later"])
def test_a_broken_repository_of_the_person_does_not_matter(
    repository: Path, break_it: Callable[[Path], None], when: str
) -> None:
    looker = Workspace(str(repository), "loop-1")
    first = looker.look() if when == "later" else None
    break_it(repository)
    before = looker.look(first)
    assert (before.tree is not None, looker.problem) == (True, "")
    modify(repository)
    assert counts(looker.look(before)) == (1, 1, 1)


def test_without_a_snapshot_the_timestamps_of_files_are_used(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    looker = Workspace(str(repository))
    before = looker.look()
    assert (before.head, before.tree) == (None, None)
    assert "No snapshot of" in looker.problem
    assert looker.look(before) == before
    modify(repository)
    after = looker.look(before)
    assert after.fingerprint != before.fingerprint
    assert after.files == 1


def test_a_plain_folder(tmp_path: Path) -> None:
    tmp_path = tmp_path / "folder"
    tmp_path.mkdir()
    looker = Workspace(str(tmp_path))
    (tmp_path / "a").write_text("a")
    before = looker.look()
    for name in (".loop/x", "node_modules/x", ".venv/x", "__pycache__/x"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "loop").unlink()
    assert looker.look(before) == before
    strange_names(tmp_path)
    (tmp_path / "a").unlink()
    assert looker.look(before).files == 5


def test_a_missing_folder(tmp_path: Path) -> None:
    place = Workspace(str(tmp_path / "gone"))
    gone = place.look(None)
    assert gone == place.look(gone)


def test_a_folder_that_becomes_a_repository(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    place = Workspace(str(folder), "loop-1")
    before = place.look()
    git(folder, "init", "--quiet")
    (folder / "a").write_text("a\n")
    after = place.look(before)
    assert counts(after) == (1, 1, 0)


def test_threads_may_look_at_the_same_time(repository: Path) -> None:
    modify(repository)
    looker = Workspace(str(repository))
    seen: list[Changes] = []
    threads = [threading.Thread(target=lambda: seen.append(looker.look())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(seen) == 6
    assert len(set(seen)) == 1


def test_a_snapshot_that_is_gone_counts_no_changes(repository: Path) -> None:
    assert counts(Workspace(str(repository)).look(Changes("x", tree="1" * 40))) == (0, 0, 0)
