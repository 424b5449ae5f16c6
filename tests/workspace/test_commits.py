"""Commits of the work of a loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.repositories import delete, git, modify, strange_names

from untildone.core.errors import UsageError
from untildone.core.protection.secrets import Redactor
from untildone.workspace.git import run
from untildone.workspace.leaks import PART, HoldsSecret
from untildone.workspace.look import Workspace
from untildone.workspace.person_git import commits


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
    assert len(git(repository, "ls-tree", "-r", "-z", "--name-only", made).split("\0")[:-1]) == 5
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


def slow_filter(repository: Path, seconds: str) -> None:
    git(repository, "config", "filter.slow.clean", f"sleep {seconds}; cat")
    (repository / ".gitattributes").write_text("*.txt filter=slow\n")
    modify(repository)


def test_a_slow_filter_of_the_person_is_waited_for(repository: Path) -> None:
    slow_filter(repository, "0.2")
    assert commits.commit(str(repository), "slow") is not None


def test_a_commit_is_given_up_when_the_caller_must_stop(repository: Path) -> None:
    slow_filter(repository, "50")
    assert commits.keep(str(repository), "never", lambda: True) == commits.Kept(None)
    assert not (repository / ".git" / "index.lock").exists()


def test_filters_of_the_person_do_not_get_the_variables_of_untildone(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNTILDONE_TOKEN", "secret")
    git(repository, "config", "filter.leak.clean", f"env > {tmp_path}/seen; cat")
    (repository / ".gitattributes").write_text("*.txt filter=leak\n")
    modify(repository)
    assert commits.commit(str(repository), "leak") is not None
    assert "UNTILDONE" not in (tmp_path / "seen").read_text()


SECRET = "s3cret-0123456789"
KNOWN = Redactor({"API_KEY": SECRET})


def test_a_secret_is_not_committed(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    (repository / "notes.txt").write_text(f"the key is {SECRET}\n")
    with pytest.raises(HoldsSecret, match=r"not committed: notes\.txt holds the value of API_KEY, a secret") as refused:
        commits.keep(str(repository), "Round 1", known=KNOWN)
    assert SECRET not in f"{refused.value.sentence}{refused.value.hint}"
    assert git(repository, "rev-parse", "HEAD") == head
    assert git(repository, "diff", "--cached", "--name-only") == ""
    (repository / "notes.txt").write_text("the key is in the environment\n")
    assert commits.keep(str(repository), "Round 2", known=KNOWN).made


@pytest.mark.parametrize("place", ["far inside", "name", "link", "tracked", "encoded"])
def test_a_secret_is_found_wherever_it_would_be_committed(repository: Path, place: str) -> None:
    match place:
        case "far inside":
            (repository / "large.bin").write_bytes(bytes(PART - 5) + SECRET.encode() + bytes(100))
        case "name":
            (repository / SECRET).write_text("x")
        case "link":
            (repository / "link").symlink_to(f"/tmp/{SECRET}")
        case "tracked":
            (repository / "a.txt").write_text(f"{SECRET}\n")
        case _:
            (repository / "a.txt").write_text(f"{SECRET.encode().hex()}\n")
    with pytest.raises(HoldsSecret, match="API_KEY") as refused:
        commits.keep(str(repository), "Round 1", known=KNOWN)
    assert SECRET not in refused.value.sentence


def test_an_ignored_file_may_hold_a_secret(repository: Path) -> None:
    (repository / "x.log").write_text(SECRET)
    (repository / "b.txt").write_text("b\n")
    assert commits.keep(str(repository), "Round 1", known=KNOWN).made


def test_a_slow_program_gets_all_of_a_long_input(tmp_path: Path) -> None:
    """The first look at the program comes long before it has read everything."""
    text = b"x" * 5_000_000
    slow = ("sh", "-c", "sleep 0.3; wc -c; sleep 0.1")
    assert run(slow, str(tmp_path), {"PATH": "/usr/bin:/bin"}, text).split() == [b"5000000"]
