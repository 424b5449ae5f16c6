"""Repeated looks at a workspace give the same snapshot as a first look."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.command_line import until
from tests.support.repositories import CountedGit, add_repository, git, link_instead, settled, without_configuration

from untildone.core.model import Changes
from untildone.workspace.look import Workspace

NAMES = ("a.txt", "b.bin", "deep/er/c.txt", "deep/d.txt", "new.txt", "deep/new/e.txt", "x.log", "ig/f.txt", ":(x) é\n")
LINES = st.lists(st.sampled_from([b"one\n", b"two\n", b"three\r\n", b"\n", b"end", b"\0"]), max_size=8).map(b"".join)


def repository_in(folder: Path, *options: str) -> Path:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "a.txt").write_text("one\ntwo\n")
    (folder / "b.bin").write_bytes(b"\0one\n")
    (folder / "deep" / "er" / "c.txt").write_text("one\ntwo\nthree")
    (folder / "deep" / "d.txt").write_text("")
    (folder / "deep.txt").write_text("sorted before the folder `deep/`\n")
    (folder / ".gitignore").write_text("*.log\nig/\n")
    git(folder, "init", "--quiet", "--initial-branch=main", *options)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=start")
    return folder


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountedGit:
    without_configuration(monkeypatch, tmp_path)
    return CountedGit(tmp_path / "bin", monkeypatch)


@pytest.fixture(params=["sha1", "sha256", "worktree"])
def repository(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    if request.param != "worktree":
        return repository_in(tmp_path / "repository", f"--object-format={request.param}")
    git(repository_in(tmp_path / "main"), "worktree", "add", "--quiet", str(tmp_path / "repository"), "-b", "other")
    return tmp_path / "repository"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return repository_in(tmp_path / "repository")


def as_git_says(folder: Path, before: Changes) -> Changes:
    """The first look of another `Workspace`, which remembers nothing."""
    return Workspace(str(folder)).look(before)


PLAIN: dict[str, Callable[[Path], object]] = {
    "an edit": lambda it: (it / "a.txt").write_text("one\nzwei\n"),
    "more of it": lambda it: (it / "a.txt").open("a").write("three\n"),
    "an edit far below": lambda it: (it / "deep/er/c.txt").write_text("one\ntwo\nthree\n"),
    "a file that becomes empty": lambda it: (it / "a.txt").write_text(""),
    "a file that is gone, and its folder with it": lambda it: (it / "deep/er/c.txt").unlink(),
    "a program": lambda it: (it / "a.txt").chmod(0o755),
    "an edit of what is no text": lambda it: (it / "b.bin").write_bytes(b"\0two\n"),
}


def test_plain_changes_are_seen_and_counted_as_git_does(counted: CountedGit, repository: Path) -> None:
    place = settled(counted, repository)
    before = place.look()
    for what, change in PLAIN.items():
        change(repository)
        after = place.look(before)
        assert after == as_git_says(repository, before) != before, what
        before = after
    git(repository, "fsck", "--strict")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def add_submodule(folder: Path) -> None:
    sub = str(repository_in(folder.parent / "sub"))
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "sub")


def folder_instead(path: Path) -> None:
    path.unlink()
    write(path / "b", "b\n")


FILTERS_AND_FLAGS: dict[str, Callable[[Path], object]] = {
    "attributes": lambda it: (it / ".gitattributes").write_text("*.txt text eol=crlf\n"),
    "attributes below": lambda it: (it / "deep/.gitattributes").write_text("*.txt text=auto\n"),
    "attributes that are ignored": lambda it: write(it / "ig/.gitattributes", "* text\n"),
    "attributes of the repository": lambda it: (it / ".git/info/attributes").write_text("*.txt text=auto\n"),
    "attributes of the person": lambda it: write(it.parent / ".config/git/attributes", "*.txt text=auto\n"),
    "line ends": lambda it: git(it, "config", "core.autocrlf", "input"),
    "line ends, as the person has them": lambda it: (it.parent / ".gitconfig").write_text("[core]\nautocrlf = true\n"),
    "line ends, included": lambda it: (
        (it.parent / "more").write_text("[core]\nautocrlf = true\n"),
        (it.parent / ".gitconfig").write_text("[include]\npath = more\n"),
    ),
    "no modes": lambda it: git(it, "config", "core.fileMode", "false"),
    "a file that is taken for unchanged": lambda it: git(it, "update-index", "--assume-unchanged", "a.txt"),
    "a file that is not to be looked at": lambda it: git(it, "update-index", "--skip-worktree", "a.txt"),
    "another repository inside": lambda it: git(it, "init", "--quiet", "inner"),
    "a submodule": add_submodule,
}


@pytest.mark.parametrize("prepare", FILTERS_AND_FLAGS.values(), ids=FILTERS_AND_FLAGS.keys())
def test_filters_flags_and_nested_repositories_are_seen_as_git_sees_them(
    counted: CountedGit, plain: Path, prepare: Callable[[Path], object]
) -> None:
    prepare(plain)
    place = Workspace(str(plain))
    before = place.look()
    for number in range(3):
        (plain / "a.txt").write_bytes(b"one\r\n%d\r\n" % number)
        (plain / "a.txt").chmod(0o755 if number else 0o644)
        after = place.look(before)
        assert after == as_git_says(plain, before)
        before = after


@pytest.mark.parametrize(
    "change",
    [
        lambda it: (it / ".gitignore").write_text("*.tmp\n"),
        lambda it: (it / "deep" / ".gitattributes").write_text("*.txt text eol=crlf\n"),
        lambda it: link_instead(it / "a.txt", "b.bin"),
        lambda it: folder_instead(it / "a.txt"),
        lambda it: (it / "a.txt").write_bytes(b"much\n" * 512 * 1024),
        lambda it: [(it / f"{number}.txt").write_text("x\n") for number in range(101)],
        lambda it: (it / "git~1").write_text("refused by git\n"),
        lambda it: git(it, "add", "--all"),
        lambda it: git(it, "commit", "--quiet", "--all", "--message=next"),
        lambda it: add_repository(it / "inner"),
        lambda it: write(it.joinpath(*["d"] * 120, "x"), "x\n"),
    ],
)
def test_unusual_changes_are_seen_as_git_sees_them(
    counted: CountedGit, plain: Path, change: Callable[[Path], object]
) -> None:
    place = settled(counted, plain)
    (plain / "x.log").write_text("ignored\n")
    (plain / "a.txt").write_text("one\r\ntwo\r\n")
    before = place.look()
    (plain / "a.txt").write_text("one\r\ntwo\r\nthree\r\n")
    before = place.look(before)
    change(plain)
    after = place.look(before)
    assert after == as_git_says(plain, before)
    (plain / "deep" / "d.txt").write_text("one\r\n")
    assert place.look(after) == as_git_says(plain, after)


def test_a_setting_of_the_person_counts_from_when_it_is_there(counted: CountedGit, plain: Path) -> None:
    place = settled(counted, plain)
    (plain / "a.txt").write_text("more\n")
    before = place.look()
    (plain.parent / ".gitconfig").write_text("[core]\nautocrlf = input\n")
    (plain / "a.txt").write_bytes(b"and more\r\n")
    after = place.look(before)
    assert after == as_git_says(plain, before)
    assert after.tree is not None
    shown = subprocess.run(["git", "show", f"{after.tree}:a.txt"], cwd=plain, capture_output=True, timeout=60)
    assert shown.stdout == b"and more\n"


def test_a_file_that_becomes_a_pipe_is_not_read(counted: CountedGit, plain: Path) -> None:
    place = settled(counted, plain)
    (plain / "a.txt").write_text("more\n")
    before = place.look()
    (plain / "a.txt").unlink()
    os.mkfifo(plain / "a.txt")
    assert place.look(before).fingerprint != before.fingerprint


def test_a_change_is_detected_when_git_cannot_write(counted: CountedGit, plain: Path) -> None:
    place = settled(counted, plain)
    (plain / "a.txt").write_text("more\n")
    before = place.look()
    (plain / ".git" / "objects").rename(plain / ".git" / "elsewhere")
    (plain / "a.txt").write_text("and more\n")
    assert place.look(before).fingerprint != before.fingerprint


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(NAMES), st.none() | LINES, st.booleans()), min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    )
)
def test_every_snapshot_is_the_one_of_git(rounds: list[list[tuple[str, bytes | None, bool]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = repository_in(Path(folder, "repository"))
        looker = Workspace(str(place))
        before = looker.look()
        for changes in rounds:
            for name, content, program in changes:
                path = place / name
                path.unlink(missing_ok=True)
                if content is not None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                    path.chmod(0o755 if program else 0o644)
            after = looker.look(before)
            assert after == as_git_says(place, before)
            before = after


CLEANING = {
    "prune": ("prune", "--expire=now"),
    "gc": ("gc", "--quiet", "--prune=now"),
    "gc, packed by itself": ("-c", "gc.cruftPacks=true", "gc", "--quiet", "--prune=1.hour.ago"),
    "repack": ("repack", "-q", "-a", "-d"),
}
NEXT: dict[str, Callable[[Path], object]] = {
    "nothing": lambda it: it.stat(),
    "an edit": lambda it: (it / "a.txt").write_text("again\n"),
    "an edit elsewhere": lambda it: (it / "deep/er/c.txt").write_text("elsewhere\n"),
    "a new file": lambda it: (it / "deep/new.txt").write_text("new\n"),
    "a file that is gone": lambda it: (it / "b.bin").unlink(),
}


def is_whole(folder: Path, tree: str | None) -> bool:
    """Whether git has every object of a snapshot."""
    command = ("git", "archive", "--format=tar", "--output=/dev/null", str(tree))
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=60).returncode == 0


@pytest.mark.parametrize("cleaning", CLEANING.values(), ids=CLEANING.keys())
def test_a_snapshot_is_complete_after_git_deleted_objects(
    counted: CountedGit, plain: Path, cleaning: tuple[str, ...]
) -> None:
    place = settled(counted, plain)
    before = place.look()
    (plain / "deep/er/c.txt").write_text("changed\n")
    (plain / "deep/d.txt").write_text("changed too\n")
    before = place.look(before)
    (plain / "deep/d.txt").write_text("changed again\n")
    before = place.look(before)
    assert is_whole(plain, before.tree)
    for what, change in NEXT.items():
        git(plain, *cleaning)
        change(plain)
        after = place.look(before)
        assert is_whole(plain, after.tree), what
        assert after == as_git_says(plain, before), what
        before = after


def test_a_snapshot_that_lost_one_object_is_written_again(counted: CountedGit, plain: Path) -> None:
    """As if git was ended while it deleted objects."""
    place = settled(counted, plain)
    (plain / "deep/er/c.txt").write_text("changed\n")
    before = place.look()
    (plain / "deep/er/c.txt").write_text("changed again\n")
    before = place.look(before)
    listed = subprocess.run(["git", "ls-tree", "-rt", str(before.tree)], cwd=plain, capture_output=True, timeout=60)
    names = [row.split()[2] for row in listed.stdout.decode().splitlines() if row.endswith(("deep", "er", "c.txt"))]
    for name in [*names, str(before.tree)]:
        (plain / ".git" / "objects" / name[:2] / name[2:]).unlink()
        (plain / "a.txt").write_text(f"after {name}\n")
        before = place.look(before)
        assert is_whole(plain, before.tree)


RULES: dict[str, Callable[[Path], object]] = {
    "the rules at the top": lambda it: (it / ".gitignore").write_text("*.log\nig/\nnew*\nb.bin\n"),
    "rules below": lambda it: (it / "deep/.gitignore").write_text("new*\nd.txt\n"),
    "rules of the repository": lambda it: (it / ".git/info/exclude").write_text("new*\nb.bin\n"),
    "rules of the person": lambda it: write(it.parent / ".config/git/ignore", "new*\nb.bin\n"),
    "rules that the person names": lambda it: (
        (it.parent / "rules").write_text("new*\nb.bin\n"),
        (it.parent / ".gitconfig").write_text("[core]\nexcludesFile = ~/rules\n"),
    ),
    "other rules in a file that the person names": lambda it: (it.parent / "named").write_text("new*\nb.bin\n"),
    "no rules": lambda it: (it / ".gitignore").unlink(),
}


@pytest.mark.parametrize("change", RULES.values(), ids=RULES.keys())
def test_what_is_ignored_from_now_on_is_in_no_snapshot_unless_git_has_it(
    counted: CountedGit, plain: Path, change: Callable[[Path], object]
) -> None:
    if change is RULES["other rules in a file that the person names"]:
        (plain.parent / "named").write_text("")
        git(plain, "config", "core.excludesFile", str(plain.parent / "named"))
    place = settled(counted, plain)
    for name in ("new.txt", "deep/new.txt", "x.log", "b.bin", "deep/d.txt"):
        (plain / name).write_text("changed\n")
    before = place.look()
    (plain / "new.txt").write_text("changed again\n")
    before = place.look(before)
    until(lambda: counted.is_spared_by(place, before))
    change(plain)
    after = place.look(before)
    assert after == as_git_says(plain, before)
    assert after.tree == added_tree(plain) != before.tree
    (plain / "b.bin").write_text("and again\n")
    assert place.look(after).tree == added_tree(plain)


def added_tree(folder: Path) -> str:
    """The tree that git itself writes from a copy of the index."""
    index = folder.parent / "index"
    # With its time, as git needs it to know what to read again.
    shutil.copy2(folder / ".git" / "index", index)
    env = {**os.environ, "GIT_INDEX_FILE": str(index)}
    for command in (("add", "--all"), ("write-tree",)):
        ended = subprocess.run(["git", *command], cwd=folder, env=env, check=True, capture_output=True, timeout=60)
    return ended.stdout.decode().strip()


def test_a_file_that_is_ignored_but_in_the_index_may_go_and_come_back(counted: CountedGit, plain: Path) -> None:
    (plain / "kept.log").write_text("kept\n")
    git(plain, "add", "--force", "kept.log")
    git(plain, "commit", "--quiet", "--message=kept")
    place = settled(counted, plain)
    (plain / "kept.log").unlink()
    before = place.look()
    assert before.tree == added_tree(plain)
    (plain / "kept.log").write_text("back again\n")
    assert place.look(before).tree == added_tree(plain)
