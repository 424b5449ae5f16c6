"""What git keeps in files: read as git reads it, however it is kept, and written so that git takes it for its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.support.cluster import git

from untildone.core.errors import StoreError
from untildone.workspace import commits
from untildone.workspace.git import GitFailed
from untildone.workspace.git_objects import (
    Drafts,
    empty_tree,
    head_of,
    object_name,
    tree_of,
    write_object,
)
from untildone.workspace.workspace import Workspace


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
def test_head_and_tree_are_what_git_says(repository: Path, kept: object) -> None:
    assert callable(kept)
    place = kept(repository)
    head = git(place, "rev-parse", "HEAD")
    assert head_of(str(place)) == head
    assert tree_of(str(place), head) == git(place, "rev-parse", "HEAD^{tree}")


def test_a_repository_without_a_commit_has_no_head(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    with pytest.raises(GitFailed):
        head_of(str(tmp_path))


def test_what_is_written_is_a_commit_to_git(repository: Path) -> None:
    head = head_of(str(repository))
    who = "untildone <untildone@localhost> 1700000000 +0000"
    assert write_object(str(repository / ".git"), "tree", b"", head) == empty_tree(head)
    text = f"tree {empty_tree(head)}\nauthor {who}\ncommitter {who}\n\nSaid by ünïcode\n"
    name = write_object(str(repository / ".git"), "commit", text.encode(), head)
    assert write_object(str(repository / ".git"), "commit", text.encode(), head) == name
    assert git(repository, "log", "-1", "--format=%s|%an|%T", name) == f"Said by ünïcode|untildone|{empty_tree(head)}"
    assert "missing" not in git(repository, "fsck", "--strict", name)
    bare = repository.parent / "bare.git"
    kind = git(repository, "rev-parse", "--show-object-format")
    git(repository.parent, "init", "--quiet", "--bare", f"--object-format={kind}", str(bare))
    git(repository, "push", "--quiet", str(bare), f"{name}:refs/marks/one")
    assert git(bare, "cat-file", "-p", "refs/marks/one").endswith("Said by ünïcode")
    subprocess.run(["git", "fsck", "--strict"], cwd=bare, check=True, capture_output=True, timeout=60)


def test_of_an_object_that_cannot_be_written_nothing_is_left(repository: Path) -> None:
    objects, head = repository / ".git" / "objects", head_of(str(repository))
    places = {
        body: objects / object_name("blob", body, head)[:2] for body in (b"%d\n" % number for number in range(100))
    }
    body, place = next((body, place) for body, place in places.items() if not place.exists())
    place.write_text("in the way of the folder\n")
    before = sorted(objects.iterdir())
    with pytest.raises(StoreError, match="Cannot use"):
        write_object(str(repository / ".git"), "blob", body, head)
    assert sorted(objects.iterdir()) == before


HALF_WAY = """
import os, sys
from untildone.workspace import git_objects
os.replace = lambda *_: (print("half way", flush=True), sys.stdin.read())
git_objects.write_object(sys.argv[1], "blob", b"never finished", sys.argv[2])
"""


@contextmanager
def writing_half_an_object(repository: Path) -> Iterator[Path]:
    """What another process has written of it so far; in the end, that process is killed."""
    command = (sys.executable, "-c", HALF_WAY, str(repository / ".git"), head_of(str(repository)))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"half way\n"
            [draft] = (repository / ".git" / "objects").glob("tmp_*")
            yield draft
        finally:
            other.kill()


def test_what_a_crash_leaves_of_an_object_git_removes(repository: Path) -> None:
    with writing_half_an_object(repository) as draft:
        pass
    assert draft.exists()
    git(repository, "prune", "--expire=now")
    assert not draft.exists()


def test_what_a_crash_leaves_of_an_object_the_next_one_who_looks_removes(repository: Path) -> None:
    with writing_half_an_object(repository) as draft:
        Workspace(str(repository)).look()
        assert draft.exists()
    Workspace(str(repository)).look()
    assert not draft.exists()


def drafts_in(place: Path) -> list[Path]:
    return sorted((place / ".git" / "objects").glob("tmp_*"))


def test_objects_are_written_into_files_that_were_made_before(repository: Path) -> None:
    drafts, head = Drafts(str(repository / ".git")), head_of(str(repository))
    written = partial(write_object, drafts.folder, "blob", like=head, drafts=drafts)
    first = written(body=b"first\n")
    drafts.make_ready()
    [ready] = drafts_in(repository)
    made = ready.stat().st_ino
    second = written(body=b"second\n")
    assert (repository / ".git" / "objects" / second[:2] / second[2:]).stat().st_ino == made
    assert [git(repository, "cat-file", "-p", name) for name in (first, second)] == ["first", "second"]
    drafts.make_ready()
    git(repository, "prune", "--expire=now")
    assert git(repository, "cat-file", "-p", written(body=b"third\n")) == "third"
    drafts.make_ready()
    drafts.close()
    assert drafts_in(repository) == []


def test_a_clone_shares_no_file_that_is_yet_to_be_written(repository: Path) -> None:
    drafts, head = Drafts(str(repository / ".git")), head_of(str(repository))
    write_object(drafts.folder, "blob", b"first\n", head, drafts)
    drafts.make_ready()
    git(repository.parent, "clone", "--quiet", str(repository), "clone")
    clone = repository.parent / "clone"
    write_object(drafts.folder, "blob", b"second\n", head, drafts)
    assert [draft.read_bytes() for draft in drafts_in(clone)] == [b""] * len(drafts_in(clone))
    assert drafts_in(repository) == []
    git(clone, "fsck", "--strict")
    git(clone, "prune", "--expire=now")
    assert drafts_in(clone) == []


def test_a_commit_that_holds_everything_spares_a_look(repository: Path) -> None:
    place = str(repository)
    looker = Workspace(place)
    before = looker.look()
    assert commits.keep(place, "Nothing new") == commits.Kept(head_of(place), whole=True)
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
