"""Commits of an agent's work: what the person changed, staged or did not add stays theirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.boxes import boxes
from tests.support.repositories import git, link_instead

from untildone.core.protection.secrets import Redactor
from untildone.system.box.sandbox import Access, Box, Mount, system_read_only
from untildone.workspace.person_git.commits import Kept
from untildone.workspace.person_git.turn_commits import TurnCommits
from untildone.workspace.shadow import Shadow

__all__ = ["boxes"]

LINES = "".join(f"line {number}\n" for number in range(1, 21))
SECRET = "s3cret-0123456789"


class Work:
    """A loop that begins now in a repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start = Shadow(str(folder), loop_id="loop-1").take().tree
        self.begin()

    @property
    def commits(self) -> TurnCommits:
        """As a runner that starts now would make it."""
        return TurnCommits(Shadow(str(self.folder), loop_id="loop-1"), self.start)

    def begin(self) -> None:
        self.commits.begin()

    def keep(self, title: str = "Round 1") -> Kept:
        return self.commits.keep(title)

    def committed(self) -> str:
        """The names of the files in the last commit, with how they changed."""
        return git(self.folder, "show", "--format=", "--name-status", "--no-renames", "HEAD")

    def text(self, path: str, at: str = "HEAD") -> str:
        return git(self.folder, "show", f"{at}:{path}") + "\n"

    def status(self) -> str:
        return git(self.folder, "status", "--porcelain")


@pytest.fixture
def place(repository: Path) -> Path:
    (repository / "both.txt").write_text(LINES)
    (repository / "theirs.txt").write_text("committed\n")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message=more")
    return repository


def changed(text: str, number: int, to: str) -> str:
    return text.replace(f"line {number}\n", f"{to}\n")


def test_work_of_the_person_is_not_committed_and_their_index_stays(place: Path) -> None:
    (place / "theirs.txt").write_text("changed by the person\n")
    (place / "staged.txt").write_text("staged by the person\n")
    git(place, "add", "staged.txt")
    (place / "notes.txt").write_text("untracked\n")
    before = Work(place).status()
    work = Work(place)
    (place / "made.txt").write_text("by the agent\n")
    (place / "a.txt").unlink()
    kept = work.keep()
    assert (kept.made, kept.note) == (True, "")
    assert work.committed() == "D\ta.txt\nA\tmade.txt"
    assert work.status() == before == "A  staged.txt\n M theirs.txt\n?? notes.txt"
    assert git(place, "log", "-1", "--format=%s|%an") == "Round 1|untildone"


def test_a_file_that_both_changed_is_committed_line_by_line(place: Path) -> None:
    own = changed(LINES, 2, "the person's")
    (place / "both.txt").write_text(own)
    work = Work(place)
    (place / "both.txt").write_text(changed(own, 15, "the agent's"))
    assert work.keep().made
    assert work.text("both.txt") == changed(LINES, 15, "the agent's")
    assert (place / "both.txt").read_text() == changed(own, 15, "the agent's")
    assert work.status() == " M both.txt"


def test_what_the_person_staged_stays_staged_and_nothing_else(place: Path) -> None:
    own = changed(LINES, 2, "the person's")
    (place / "both.txt").write_text(own)
    git(place, "add", "both.txt")
    work = Work(place)
    (place / "both.txt").write_text(changed(own, 15, "the agent's"))
    assert work.keep().made
    assert work.status() == "M  both.txt"
    assert "-line 2\n+the person's" in git(place, "diff", "--cached")
    assert "the agent's" not in git(place, "diff", "--cached", "-U0")


def edit_the_same_line(place: Path) -> None:
    (place / "both.txt").write_text(changed(LINES, 2, "the agent's"))


def change_an_untracked_file(place: Path) -> None:
    (place / "notes.txt").write_text("now with the agent's words\n")


def remove_a_changed_file(place: Path) -> None:
    (place / "both.txt").unlink()


def replace_a_changed_file(place: Path) -> None:
    link_instead(place / "both.txt", "a.txt")


@pytest.mark.parametrize(
    ("works", "reason"),
    [
        (edit_the_same_line, "both.txt has changes of yours in the lines that the agent changed"),
        (change_an_untracked_file, "notes.txt was there before the loop began and is not in your last commit"),
        (remove_a_changed_file, "both.txt had changes of yours, and the agent removed it"),
        (replace_a_changed_file, "both.txt had changes of yours, and the agent replaced it"),
    ],
)
def test_what_cannot_be_told_apart_is_not_committed_and_said(
    place: Path, works: Callable[[Path], None], reason: str
) -> None:
    (place / "both.txt").write_text(changed(LINES, 2, "the person's"))
    (place / "notes.txt").write_text("untracked\n")
    work, head = Work(place), git(place, "rev-parse", "HEAD")
    works(place)
    (place / "made.txt").write_text("by the agent\n")
    before = work.status()
    kept = work.keep()
    assert not kept.made
    assert reason in kept.note
    assert (git(place, "rev-parse", "HEAD"), work.status()) == (head, before)


def test_what_was_not_committed_is_committed_with_the_next_round(place: Path) -> None:
    (place / "both.txt").write_text(changed(LINES, 2, "the person's"))
    work = Work(place)
    (place / "both.txt").write_text(changed(LINES, 2, "the agent's"))
    (place / "made.txt").write_text("first\n")
    assert not work.keep().made
    work.begin()
    (place / "both.txt").write_text(changed(LINES, 2, "the person's"))
    (place / "made.txt").write_text("second\n")
    assert work.keep("Round 2").made
    assert (work.committed(), work.text("made.txt")) == ("A\tmade.txt", "second\n")


def test_rounds_build_on_one_another(place: Path) -> None:
    own = changed(LINES, 2, "the person's")
    (place / "both.txt").write_text(own)
    work = Work(place)
    for text in ("first", "second", "third"):
        (place / "both.txt").write_text(changed(own, 15, text))
        assert work.keep().made
        work.begin()
        assert work.text("both.txt") == changed(LINES, 15, text)
    assert not work.keep().made
    assert git(place, "rev-list", "--count", "HEAD") == "5"


def test_an_edit_of_the_person_between_two_turns_is_theirs(place: Path) -> None:
    work = Work(place)
    (place / "both.txt").write_text(changed(LINES, 15, "the agent's"))
    assert work.keep().made
    (place / "both.txt").write_text(changed(changed(LINES, 15, "the agent's"), 2, "the person's"))
    (place / "new.txt").write_text("the person's\n")
    work.begin()
    (place / "made.txt").write_text("by the agent\n")
    assert work.keep("Round 2").made
    assert work.committed() == "A\tmade.txt"


def test_work_of_a_turn_that_was_interrupted_is_the_agents(place: Path) -> None:
    work = Work(place)
    (place / "half.txt").write_text("by the agent\n")
    work.commits.end()
    work.begin()
    (place / "rest.txt").write_text("by the agent\n")
    assert work.keep("Round 2").made
    assert work.committed() == "A\thalf.txt\nA\trest.txt"


def test_work_of_a_runner_that_died_is_the_agents(place: Path) -> None:
    work = Work(place)
    (place / "half.txt").write_text("by the agent\n")
    work.begin()
    assert work.keep("Round 2").made
    assert work.committed() == "A\thalf.txt"


def test_a_file_of_the_person_that_the_agent_moves_stays_theirs(place: Path) -> None:
    (place / "notes.txt").write_text("untracked\n")
    work = Work(place)
    (place / "docs").mkdir()
    (place / "notes.txt").rename(place / "docs" / "notes.txt")
    (place / "made.txt").write_text("by the agent\n")
    assert work.keep().made
    assert work.committed() == "A\tmade.txt"


def test_what_the_agent_staged_or_committed_itself_is_no_obstacle(place: Path) -> None:
    (place / "theirs.txt").write_text("changed by the person\n")
    work = Work(place)
    (place / "both.txt").write_text(changed(LINES, 3, "early"))
    git(place, "add", "both.txt")
    (place / "own.txt").write_text("by the agent\n")
    git(place, "add", "own.txt")
    git(place, "commit", "--quiet", "--message=by the agent", "--", "own.txt")
    (place / "both.txt").write_text(changed(LINES, 3, "late"))
    assert work.keep().made
    assert work.committed() == "M\tboth.txt"
    assert work.status() == " M theirs.txt"


@pytest.mark.parametrize("what", ["a merge", "a rebase", "a cherry-pick", "a bisection"])
def test_nothing_is_committed_while_the_person_is_in_the_middle_of_something(place: Path, what: str) -> None:
    git(place, "checkout", "--quiet", "-b", "other")
    (place / "a.txt").write_text("theirs\n")
    git(place, "commit", "--quiet", "--all", "--message=other")
    git(place, "checkout", "--quiet", "main")
    (place / "a.txt").write_text("ours\n")
    git(place, "commit", "--quiet", "--all", "--message=main")
    command = {
        "a merge": ("merge", "other"),
        "a rebase": ("rebase", "other"),
        "a cherry-pick": ("cherry-pick", "other"),
    }
    if what == "a bisection":
        git(place, "bisect", "start")
    else:
        with pytest.raises(AssertionError):
            git(place, *command[what])
    work = Work(place)
    (place / "made.txt").write_text("by the agent\n")
    kept = work.keep()
    assert not kept.made
    assert f"not committed: {what} is unfinished" in kept.note


def test_filters_attributes_modes_and_strange_names_are_kept(place: Path) -> None:
    git(place, "config", "core.autocrlf", "true")
    (place / "run.sh").write_bytes(b"#!/bin/sh\r\n")
    (place / "both.txt").write_bytes(changed(LINES, 2, "the person's").replace("\n", "\r\n").encode())
    work = Work(place)
    (place / "new\nline é").write_bytes(b"x\r\n")
    (place / "tool").write_text("#!/bin/sh\n")
    (place / "tool").chmod(0o755)
    text = changed(changed(LINES, 2, "the person's"), 15, "the agent's").replace("\n", "\r\n")
    (place / "both.txt").write_bytes(text.encode())
    assert work.keep().made
    assert work.text("both.txt") == changed(LINES, 15, "the agent's")
    assert work.text("new\nline é") == "x\n"
    assert git(place, "ls-tree", "HEAD", "tool").startswith("100755 ")


def test_a_folder_takes_the_place_of_a_file(place: Path) -> None:
    work = Work(place)
    (place / "a.txt").unlink()
    (place / "a.txt").mkdir()
    (place / "a.txt" / "inner").write_text("x\n")
    assert work.keep().made
    assert (work.committed(), work.status()) == ("D\ta.txt\nA\ta.txt/inner", "")


def test_files_that_the_agent_lets_git_ignore_are_not_committed(place: Path) -> None:
    work = Work(place)
    (place / ".gitignore").write_text("build/\n")
    (place / "build").mkdir()
    (place / "build" / "x").write_text("x\n")
    assert work.keep().made
    assert work.committed() == "M\t.gitignore"


def test_the_first_commit_of_a_repository_contains_only_the_agents_files(empty: Path) -> None:
    (empty / "notes.txt").write_text("untracked\n")
    work = Work(empty)
    (empty / "made.txt").write_text("by the agent\n")
    assert work.keep().made
    assert (git(empty, "ls-tree", "-r", "--name-only", "HEAD"), work.status()) == ("made.txt", "?? notes.txt")


def test_a_secret_of_the_agent_is_not_committed_and_one_of_the_person_is_no_obstacle(place: Path) -> None:
    (place / ".env").write_text(SECRET)
    work = Work(place)
    (place / "made.txt").write_text("by the agent\n")
    known = Redactor({"API_KEY": SECRET})
    assert work.commits.keep("Round 1", known=known).made
    work.begin()
    (place / "leak.txt").write_text(SECRET)
    kept = work.commits.keep("Round 2", known=known)
    assert not kept.made
    assert "leak.txt holds the value of API_KEY, a secret" in kept.note


def test_a_submodule_that_the_agent_moved_is_committed_and_changes_inside_are_named(
    place: Path, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "--quiet")
    (library / "x.txt").write_text("x\n")
    git(library, "add", "--all")
    git(library, "commit", "--quiet", "--message=library")
    git(place, "submodule", "--quiet", "add", str(library), "lib")
    git(place, "commit", "--quiet", "--message=with a submodule")
    work = Work(place)
    (place / "lib" / "x.txt").write_text("changed\n")
    kept = work.keep()
    assert not kept.made
    assert "Changes inside another repository are not part of the commit: lib." in kept.note
    work.begin()
    git(place / "lib", "commit", "--quiet", "--all", "--message=by the agent")
    assert work.keep("Round 2").note == ""
    assert (work.committed(), work.status()) == ("M\tlib", "")


def test_a_locked_index_is_reported_and_changes_nothing(place: Path) -> None:
    work, head = Work(place), git(place, "rev-parse", "HEAD")
    (place / "made.txt").write_text("by the agent\n")
    (place / ".git" / "index.lock").touch()
    kept = work.keep()
    assert not kept.made
    assert "index.lock" in kept.note
    (place / ".git" / "index.lock").unlink()
    assert git(place, "rev-parse", "HEAD") == head
    work.begin()
    assert work.keep().made


def test_a_slow_filter_is_given_up_when_the_caller_must_stop(place: Path) -> None:
    work = Work(place)
    git(place, "config", "filter.slow.clean", "sleep 50; cat")
    (place / ".gitattributes").write_text("*.txt filter=slow\n")
    (place / "made.txt").write_text("by the agent\n")
    assert work.commits.keep("never", lambda: True) == Kept(None)


def test_outside_a_repository_nothing_is_committed_and_that_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    work = Work(folder)
    (folder / "a.txt").write_text("b\n")
    assert "is not in a git repository" in work.keep().note


@pytest.mark.usefixtures("boxes")
def test_a_link_that_appears_while_git_commits_leads_nowhere(place: Path, tmp_path: Path) -> None:
    """A program of the agent that is still there can put it in the way after all links were looked at."""
    work, outside, link = Work(place), tmp_path / "outside", place / ".git/logs/HEAD"
    outside.write_text("of the person\n")
    (place / "made.txt").write_text("by the agent\n")

    def box() -> Box:
        if not link.is_symlink():
            link_instead(link, str(outside))
        return Box(str(place), (*system_read_only(), Mount(Access.WRITE, str(place))))

    kept = TurnCommits(Shadow(str(place), loop_id="loop-1"), work.start, box).keep("Round 1")
    assert outside.read_text() == "of the person\n"
    assert "not committed" in kept.note


@pytest.mark.usefixtures("boxes")
def test_a_commit_in_a_box_has_the_name_that_the_person_set_outside_of_it(place: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "work").write_text("[user]\nname = Grace\nemail = grace@example.com\n")
    git(place, "config", "include.path", str(hidden / "work"))
    mounts = (Mount(Access.WRITE, str(place)), Mount(Access.HIDDEN, str(hidden)))
    box = Box(str(place), (*system_read_only(), *mounts))
    work = Work(place)
    (place / "made.txt").write_text("by the agent\n")
    kept = TurnCommits(Shadow(str(place), loop_id="loop-1"), work.start, lambda: box).keep("Round 1")
    assert (kept.made, kept.note) == (True, "")
    assert git(place, "show", "-s", "--format=%an %ae %cn") == "Grace grace@example.com Grace"
