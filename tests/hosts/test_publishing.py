"""The work of a loop that travels: what one machine publishes, another goes on with, and a stale one cannot touch."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.cluster import git, new_remote

from untildone.core.errors import Superseded, UsageError
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, Changes, LoopSettings
from untildone.core.protection.secrets import Redactor
from untildone.core.values.value import replace
from untildone.hosts.cluster.ownership import checked_branch, checked_remote
from untildone.hosts.cluster.publishing import Published

SECRET = "s3cret-0123456789"
KNOWN = Redactor({"API_KEY": SECRET})
FIRST, SECOND, THIRD = (f"2026-01-01T00:00:0{second}.000000Z" for second in (1, 2, 3))


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return new_remote(tmp_path)


def a_loop(remote: Path | None, branch: str | None = "work", loop_id: str = "loop-1", *, seen: str = "seen") -> Loop:
    """`seen` is what an earlier runner of it found in the workspace; empty: nobody has got so far."""
    worker = AgentChoice("scripted", "scripted")
    chosen = LoopSettings("ralph", worker, "", remote=None if remote is None else str(remote), branch=branch)
    return Loop(loop_id, "A job", "A job", chosen, Budget(), 0.0, 0.0, start=Changes(seen))


class Machine:
    """One attempt on one machine."""

    def __init__(self, folder: Path, loop: Loop, token: str) -> None:
        self.loop = loop
        self.site = Published(folder, token)
        self.place = Path(self.site.enter(loop))

    def works(self, name: str = "work.txt", text: str = "work\n", title: str = "Round 1: A job") -> None:
        (self.place / name).write_text(text)
        self.site.keep(self.loop, title, lambda: False, KNOWN)


def titles(remote: Path, branch: str = "work") -> list[str]:
    return git(remote, "log", "--reverse", "--format=%s", branch).splitlines()


def marks(remote: Path) -> list[str]:
    return git(remote, "for-each-ref", "--format=%(refname)", "refs/untildone/").splitlines()


def hook(remote: Path, name: str, script: str) -> None:
    path = remote / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)


def test_a_branch_that_is_not_there_starts_from_what_the_remote_has(tmp_path: Path, remote: Path) -> None:
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    assert (machine.place / "hello.txt").read_text() == "hello\n"
    machine.works()
    assert titles(remote) == ["Start", "Round 1: A job"]
    assert titles(remote, "main") == ["Start"]


def test_a_branch_of_its_own_if_none_is_named(tmp_path: Path, remote: Path) -> None:
    Machine(tmp_path / "a", a_loop(remote, None), FIRST).works()
    assert titles(remote, "untildone/loop-1") == ["Start", "Round 1: A job"]


def test_another_machine_goes_on_from_what_was_published(tmp_path: Path, remote: Path) -> None:
    first = Machine(tmp_path / "a", a_loop(remote), FIRST)
    first.works()
    (first.place / "half-done.txt").write_text("the machine dies here\n")
    second = Machine(tmp_path / "b", a_loop(remote), SECOND)
    assert (second.place / "work.txt").read_text() == "work\n"
    assert not (second.place / "half-done.txt").exists()
    second.works("more.txt", title="Round 2: A job")
    assert titles(remote) == ["Start", "Round 1: A job", "Round 2: A job"]


def test_a_stale_machine_publishes_nothing_even_before_the_new_one_has_published(tmp_path: Path, remote: Path) -> None:
    stale = Machine(tmp_path / "a", a_loop(remote), FIRST)
    Machine(tmp_path / "b", a_loop(remote), SECOND)
    with pytest.raises(Superseded):
        stale.works()
    assert git(remote, "branch", "--list", "work") == ""


def test_the_first_runner_marks_when_it_publishes_and_the_second_at_once(tmp_path: Path, remote: Path) -> None:
    """Nobody can be in the first one's way: the push is spared, on a remote that is known to take marks."""
    Machine(tmp_path / "a", a_loop(remote, "other", "loop-0"), FIRST)
    first = Machine(tmp_path / "a", a_loop(remote, seen=""), FIRST)
    assert marks(remote) == ["refs/untildone/owner/loop-0"]
    second = Machine(tmp_path / "b", a_loop(remote), SECOND)
    assert marks(remote) == ["refs/untildone/owner/loop-0", "refs/untildone/owner/loop-1"]
    with pytest.raises(Superseded):
        first.works()
    assert git(remote, "branch", "--list", "work") == ""
    second.works()
    assert titles(remote) == ["Start", "Round 1: A job"]


def test_the_first_runner_publishes_before_the_second_claims(tmp_path: Path, remote: Path) -> None:
    Machine(tmp_path / "a", a_loop(remote, "other", "loop-0"), FIRST)
    first = Machine(tmp_path / "a", a_loop(remote, seen=""), FIRST)
    first.works()
    second = Machine(tmp_path / "b", a_loop(remote), SECOND)
    with pytest.raises(Superseded):
        first.works("late.txt")
    second.works("more.txt", title="Round 2: A job")
    assert titles(remote) == ["Start", "Round 1: A job", "Round 2: A job"]


def test_a_remote_that_takes_no_marks_is_found_out_before_the_first_turn(tmp_path: Path, remote: Path) -> None:
    hook(remote, "pre-receive", "exit 1\n")
    with pytest.raises(UsageError, match="refuses the push"):
        Machine(tmp_path / "a", a_loop(remote, seen=""), FIRST)


def test_what_was_cut_short_is_secured_and_refused_in_the_same_way(tmp_path: Path, remote: Path) -> None:
    stale = Machine(tmp_path / "a", a_loop(remote), FIRST)
    (stale.place / "part.txt").write_text("part\n")
    stale.site.secure(stale.loop, "Round 1: A job", KNOWN)
    new = Machine(tmp_path / "b", a_loop(remote), SECOND)
    assert (new.place / "part.txt").read_text() == "part\n"
    (stale.place / "late.txt").write_text("late\n")
    with pytest.raises(Superseded):
        stale.site.secure(stale.loop, "Round 2: A job", KNOWN)
    assert titles(remote) == ["Start", "Round 1: A job"]


def test_an_older_token_cannot_take_the_loop_back(tmp_path: Path, remote: Path) -> None:
    Machine(tmp_path / "b", a_loop(remote), SECOND)
    with pytest.raises(Superseded):
        Machine(tmp_path / "a", a_loop(remote), FIRST)


def test_a_secret_is_not_published(tmp_path: Path, remote: Path) -> None:
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    machine.works()
    (machine.place / "notes").mkdir()
    with pytest.raises(
        UsageError, match=r"not published: notes/key\.txt holds the value of API_KEY, a secret"
    ) as refused:
        machine.works("notes/key.txt", f"the key is {SECRET}\n", "Round 2: A job")
    assert SECRET not in f"{refused.value.sentence}{refused.value.hint}"
    assert titles(remote) == ["Start", "Round 1: A job"]
    assert git(machine.place, "log", "-1", "--format=%s", "unpublished").strip() == "Round 2: A job"


@pytest.mark.parametrize("how", ["deleted again", "message", "name"])
def test_a_secret_in_a_commit_of_the_agent_is_not_published(tmp_path: Path, remote: Path, how: str) -> None:
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    name = SECRET if how == "name" else "a.txt"
    (machine.place / name).write_text(SECRET if how == "deleted again" else "a")
    git(machine.place, "add", ".")
    git(machine.place, "commit", "-qm", f"with {SECRET}" if how == "message" else "add")
    if how == "deleted again":
        git(machine.place, "rm", "-q", name)
        git(machine.place, "commit", "-qm", "remove")
    with pytest.raises(UsageError, match=r"not published: .* holds the value of API_KEY, a secret"):
        machine.works()
    assert "work" not in git(remote, "branch", "--list")


def test_nothing_changed_is_not_published(tmp_path: Path, remote: Path) -> None:
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    before = git(remote, "for-each-ref")
    machine.site.keep(machine.loop, "Round 1: A job", lambda: False, KNOWN)
    machine.site.secure(machine.loop, "Round 1: A job", KNOWN)
    assert git(remote, "for-each-ref") == before


def test_the_agents_own_commits_and_branches_are_published(tmp_path: Path, remote: Path) -> None:
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    git(machine.place, "checkout", "--quiet", "-b", "an-idea")
    git(machine.place, "commit", "--quiet", "--allow-empty", "--message", "The agent's own")
    machine.works()
    assert titles(remote) == ["Start", "The agent's own", "Round 1: A job"]


def test_a_rewritten_history_is_published_by_its_owner(tmp_path: Path, remote: Path) -> None:
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    machine.works()
    git(machine.place, "commit", "--quiet", "--amend", "--message", "Said better")
    machine.works("more.txt", title="Round 2: A job")
    assert titles(remote) == ["Start", "Said better", "Round 2: A job"]


def test_on_the_same_machine_what_git_ignores_stays_and_the_rest_is_as_published(tmp_path: Path, remote: Path) -> None:
    first = Machine(tmp_path / "a", a_loop(remote), FIRST)
    first.works()
    (first.place / "cache").mkdir()
    (first.place / "cache" / "built").write_text("took an hour\n")
    (first.place / "half-done.txt").write_text("not published\n")
    (first.place / ".git" / "index.lock").touch()
    (first.place / ".git" / "MERGE_HEAD").write_text(f"{git(first.place, 'rev-parse', 'HEAD')}\n")
    again = Machine(tmp_path / "a", a_loop(remote), SECOND)
    assert again.place == first.place
    assert (again.place / "cache" / "built").exists()
    assert not (again.place / "half-done.txt").exists()
    again.works("more.txt", title="Round 2: A job")
    assert titles(remote) == ["Start", "Round 1: A job", "Round 2: A job"]


def test_what_git_ignores_is_not_carried(tmp_path: Path, remote: Path) -> None:
    first = Machine(tmp_path / "a", a_loop(remote), FIRST)
    (first.place / "cache").mkdir()
    (first.place / "cache" / "built").write_text("took an hour\n")
    first.works()
    assert not (Machine(tmp_path / "b", a_loop(remote), SECOND).place / "cache").exists()


def test_a_clone_that_is_broken_is_made_anew(tmp_path: Path, remote: Path) -> None:
    first = Machine(tmp_path / "a", a_loop(remote), FIRST)
    first.works()
    (first.place / ".git" / "HEAD").unlink()
    assert (Machine(tmp_path / "a", a_loop(remote), SECOND).place / "work.txt").exists()


def test_a_fetch_that_was_interrupted_is_made_again(tmp_path: Path, remote: Path) -> None:
    """The commit is there, and what belongs to it is not; nor is the folder that clones borrowed from in former times."""
    Machine(tmp_path / "b", a_loop(remote), FIRST).works("more.txt")
    Machine(tmp_path / "a", a_loop(remote, "other", "loop-0"), FIRST)
    (mirror,) = (tmp_path / "a" / "mirrors").glob("*.git")
    git(mirror, "fetch", "--quiet", str(remote), "work")
    tree = git(mirror, "rev-parse", "FETCH_HEAD^{tree}")
    (mirror / "objects" / tree[:2] / tree[2:]).unlink()
    (template,) = (tmp_path / "a" / "mirrors").glob("*.template")
    (template / "objects" / "info" / "alternates").write_text(f"{tmp_path}/gone\n")
    assert (Machine(tmp_path / "a", a_loop(remote), SECOND).place / "more.txt").exists()


def test_a_push_whose_answer_got_lost_is_known_to_have_arrived(tmp_path: Path, remote: Path) -> None:
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    hook(remote, "post-receive", f"touch {tmp_path}/cut\nkill -9 $PPID\n")
    machine.works()
    machine.works("more.txt", title="Round 2: A job")
    assert (tmp_path / "cut").exists()
    assert titles(remote) == ["Start", "Round 1: A job", "Round 2: A job"]


def test_a_person_who_moved_the_branch_is_not_written_over(tmp_path: Path, remote: Path) -> None:
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    machine.works()
    person = tmp_path / "person"
    git(tmp_path, "clone", "--quiet", "--branch", "work", str(remote), str(person))
    git(person, "commit", "--quiet", "--allow-empty", "--message", "By hand")
    git(person, "push", "--quiet", "origin", "work")
    with pytest.raises(UsageError, match=r"The branch work of .* was moved"):
        machine.works("more.txt", title="Round 2: A job")
    assert titles(remote) == ["Start", "Round 1: A job", "By hand"]
    assert git(machine.place, "show", "unpublished:more.txt") == "work"
    assert (
        titles(remote)
        == git(Machine(tmp_path / "b", a_loop(remote), SECOND).place, "log", "--reverse", "--format=%s").splitlines()
    )


def test_a_remote_that_refuses_says_so(tmp_path: Path, remote: Path) -> None:
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    hook(remote, "pre-receive", "exit 1\n")
    with pytest.raises(UsageError, match="refuses the push"):
        machine.works()


def test_a_remote_that_is_away_for_a_while_is_tried_again(tmp_path: Path, remote: Path) -> None:
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    away = remote.rename(tmp_path / "away.git")
    looks: list[None] = []

    def comes_back() -> bool:
        looks.append(None)
        if not remote.exists():
            away.rename(remote)
        return False

    (machine.place / "work.txt").write_text("work\n")
    machine.site.keep(machine.loop, "Round 1: A job", comes_back, KNOWN)
    assert looks
    assert titles(remote) == ["Start", "Round 1: A job"]


def test_a_loop_without_a_remote_cannot_travel(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no git remote"):
        Machine(tmp_path / "a", a_loop(None), FIRST)


def test_an_empty_remote_is_one_sentence(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "empty.git")
    with pytest.raises(UsageError, match="has no commit to start from"):
        Machine(tmp_path / "a", a_loop(tmp_path / "empty.git"), FIRST)


def test_an_agent_that_removes_the_repository_harms_no_other(tmp_path: Path, remote: Path) -> None:
    git(tmp_path, "init", "--quiet")
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    (machine.place / ".git").rename(machine.place / "moved")
    with pytest.raises(UsageError, match="is gone"):
        machine.works()
    assert git(tmp_path, "for-each-ref") == ""


def test_an_ended_loop_leaves_its_branch_and_nothing_else(tmp_path: Path, remote: Path) -> None:
    stale = Machine(tmp_path / "a", a_loop(remote), FIRST)
    machine = Machine(tmp_path / "b", a_loop(remote), SECOND)
    machine.works()
    assert marks(remote) == ["refs/untildone/owner/loop-1"]
    machine.site.leave(machine.loop)
    assert marks(remote) == []
    assert not machine.place.exists()
    with pytest.raises(Superseded):
        stale.works()
    assert titles(remote) == ["Start", "Round 1: A job"]


def test_a_stale_machine_without_a_mark_is_kept_out_of_an_ended_loop_in_which_nothing_was_published(
    tmp_path: Path, remote: Path
) -> None:
    Machine(tmp_path / "a", a_loop(remote, "other", "loop-0"), FIRST)
    stale = Machine(tmp_path / "a", a_loop(remote, seen=""), FIRST)
    begun = replace(a_loop(remote), start=Changes("seen", git(remote, "rev-parse", "main")))
    Machine(tmp_path / "b", begun, SECOND)
    third = Machine(tmp_path / "c", begun, THIRD)
    third.site.leave(third.loop)
    with pytest.raises(Superseded):
        stale.works()
    assert git(remote, "branch", "--list", "work") == ""


def test_a_remote_whose_refs_are_locked_for_a_moment_is_asked_again(tmp_path: Path, remote: Path) -> None:
    machine = Machine(tmp_path / "a", a_loop(remote), FIRST)
    hook(remote, "pre-receive", 'test -e refused-once || { touch refused-once; echo "cannot lock ref" >&2; exit 1; }\n')
    machine.works()
    assert (remote / "refused-once").exists()
    assert titles(remote) == ["Start", "Round 1: A job"]


def test_of_many_machines_that_publish_at_once_the_last_claim_wins(tmp_path: Path, remote: Path) -> None:
    """Every machine leases, works and publishes on its own; at any time only the work under the newest lease gets in."""
    tokens = [f"2026-01-01T00:00:{second:02d}.000000Z" for second in range(1, 9)]
    published: list[str] = []

    def race(token: str) -> None:
        try:
            machine = Machine(tmp_path / token.replace(":", ""), a_loop(remote), token)
            machine.works(f"{token[17:19]}.txt", title=f"Round {int(token[17:19])}: A job")
        except Superseded:
            return
        published.append(f"Round {int(token[17:19])}: A job")

    threads = [threading.Thread(target=race, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert "Round 8: A job" in published
    assert titles(remote)[0] == "Start"
    assert sorted(titles(remote)[1:]) == sorted(published)
    assert titles(remote)[-1] == "Round 8: A job"


def test_loops_with_one_remote_share_a_mirror_and_nothing_else(tmp_path: Path, remote: Path) -> None:
    first = Machine(tmp_path / "a", a_loop(remote, "one", "loop-1"), FIRST)
    second = Machine(tmp_path / "a", a_loop(remote, "two", "loop-2"), FIRST)
    (first.place / "hello.txt").write_text("stashed\n")
    git(first.place, "stash")
    git(first.place, "branch", "mine")
    assert git(second.place, "stash", "list") == ""
    assert git(second.place, "branch", "--list", "mine") == ""
    first.works("one.txt")
    second.works("two.txt")
    assert titles(remote, "one") == titles(remote, "two") == ["Start", "Round 1: A job"]
    assert len(list((tmp_path / "a" / "mirrors").glob("*.git"))) == 1


@pytest.mark.parametrize("address", ["", " ", "--upload-pack=touch it", "https://me:secret@example/it.git"])
def test_an_address_that_is_none_or_holds_a_secret_is_refused(address: str) -> None:
    with pytest.raises(UsageError) as problem:
        checked_remote(address)
    assert "secret" not in problem.value.sentence


@pytest.mark.parametrize(
    "address", ["git@example:it.git", "ssh://git@example:22/it.git", "https://example/it.git", "/srv/it.git", "../it"]
)
def test_other_addresses_are_gits_business(address: str) -> None:
    assert checked_remote(address) == address


@given(st.text(st.sampled_from("ab-/.@{~^:?*[\\ lock"), max_size=9))
@example("a.lock")
@example("@")
def test_what_is_a_branch_to_us_is_one_to_git(name: str) -> None:
    try:
        checked_branch(name)
    except UsageError:
        return
    subprocess.run(["git", "check-ref-format", "--branch", name], check=True, capture_output=True, timeout=60)
