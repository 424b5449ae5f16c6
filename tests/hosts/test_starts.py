"""What a machine of a cluster keeps of a loop's start: each its own, and never anything that an agent left."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.cluster import git, new_remote

from untildone.core.errors import UsageError
from untildone.core.events import LoopCreated, RunnerLeased, StartKept, StartRequested, SupervisorSeen, TurnStarted
from untildone.core.kinds import Host
from untildone.core.model import AgentChoice, Budget, KnownFile, LoopSettings, Role, RoomKind, SessionUse
from untildone.core.protection.secrets import Redactor
from untildone.engine.leasing import leased
from untildone.engine.stepper import HostParts, Stepper
from untildone.hosts.cluster.publishing import Published
from untildone.store.files import FileStore

LOOP = "loop-1"
TURN = TurnStarted(Role.WORKER, 1, 1, "scripted", SessionUse.NEW, "Work.", 0, None, "")
TOKENS = iter(f"2026-01-01T00:00:{second:02}.000000Z" for second in range(60))


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return new_remote(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FileStore]:
    made = FileStore(tmp_path / "home")
    yield made
    made.close()


def created(store: FileStore, remote: Path, room: RoomKind | None = None) -> None:
    worker = AgentChoice("scripted", "scripted")
    chosen = LoopSettings("ralph", worker, "", checks=("true",), room=room, remote=str(remote), branch="work")
    store.create(LoopCreated(LOOP, "A job", "A job", chosen, Budget(iterations=9)), StartRequested(Host.CLUSTER))


@contextmanager
def on(name: str, store: FileStore, folder: Path, key: str = "key") -> Iterator[tuple[Stepper, Published]]:
    """The loop on one machine, which has taken it up."""
    site = Published(folder / name, next(TOKENS), f"{name}-{key}")
    with leased(store, LOOP, Host.CLUSTER, parts=HostParts(site.enter)) as stepper:
        stepper.take_up(site.keep_start)
        yield stepper, site


def works(stepper: Stepper, site: Published, name: str) -> None:
    """A turn in which the agent writes a file, and an ignored one."""
    Path(stepper.place, name).write_text("work\n")
    Path(stepper.place, "cache").mkdir(exist_ok=True)
    Path(stepper.place, "cache", "forged").write_text("left by the agent\n")
    stepper.write(TURN)
    site.keep(stepper.loop, "Round", lambda: False, Redactor({}))


def kept(store: FileStore) -> list[StartKept]:
    return [entry.event for entry in store.open(LOOP).entries() if isinstance(entry.event, StartKept)]


def test_each_machine_keeps_the_start_once_and_goes_back_to_its_own(
    tmp_path: Path, store: FileStore, remote: Path
) -> None:
    created(store, remote)
    known = KnownFile("/usr/bin/reviewer", "abc", "program")
    with on("one", store, tmp_path) as (stepper, site):
        stepper.write(SupervisorSeen((known,)))
        works(stepper, site, "a.txt")
    with on("two", store, tmp_path) as (stepper, site):
        assert stepper.loop.supervisor_files == (), "another machine has others"
        assert sorted(path.name for path in Path(stepper.place).iterdir()) == [
            ".git",
            ".gitignore",
            "a.txt",
            "hello.txt",
        ]
        works(stepper, site, "b.txt")
    with on("one", store, tmp_path) as (stepper, _):
        assert stepper.loop.supervisor_files == (known,)
        assert Path(stepper.place, "cache", "forged").exists(), "ignored files stay on their machine"
    one, two, again = kept(store)
    assert (one.machine, one.record, one.programs) == (again.machine, again.record, again.programs)
    assert (one.record != two.record, one.problem, two.problem) == (True, "", "")
    with on("one", store, tmp_path):
        assert len(kept(store)) == 3, "nothing new to write"


def test_a_new_state_folder_begins_from_a_new_clone(tmp_path: Path, store: FileStore, remote: Path) -> None:
    """What agents of the loop left on the machine is not taken for its start."""
    created(store, remote)
    with on("one", store, tmp_path) as (stepper, site):
        works(stepper, site, "a.txt")
    with on("one", store, tmp_path, key="another") as (stepper, _):
        assert Path(stepper.place, "a.txt").exists()
        assert not Path(stepper.place, "cache").exists()
    assert [event.problem for event in kept(store)] == ["", ""]


def test_a_machine_that_died_before_its_first_entry_leaves_no_start(
    tmp_path: Path, store: FileStore, remote: Path
) -> None:
    """It took its snapshot at another commit, with other rules about what is ignored."""
    created(store, remote)
    site = Published(tmp_path / "one", next(TOKENS), "key")
    with leased(store, LOOP, Host.CLUSTER, parts=HostParts(site.enter)) as stepper:
        before = stepper.workspace.look(None).tree
    seed = tmp_path / "seed"
    (seed / ".gitignore").write_text("")
    (seed / "cache").mkdir()
    (seed / "cache" / "tracked.txt").write_text("now it counts\n")
    git(seed, "add", "--all")
    git(seed, "commit", "--quiet", "--message", "Other rules")
    git(seed, "push", "--quiet", str(remote), "main")
    with on("one", store, tmp_path) as (stepper, _):
        start = stepper.loop.start.tree
        assert start != before
        assert stepper.workspace.shadow.start is not None
        assert stepper.workspace.shadow.start.files == {b".gitignore": b""}, "the rules are those of the new start"


def test_a_machine_that_died_before_it_kept_the_start_is_replaced(
    tmp_path: Path, store: FileStore, remote: Path
) -> None:
    """The start is in the journal, no agent has worked, and the default branch has moved since."""
    created(store, remote)
    site = Published(tmp_path / "one", next(TOKENS), "key")
    with leased(store, LOOP, Host.CLUSTER, parts=HostParts(site.enter)) as stepper:
        stepper.look_first()
    (tmp_path / "seed" / "later.txt").write_text("later\n")
    git(tmp_path / "seed", "add", "--all")
    git(tmp_path / "seed", "commit", "--quiet", "--message", "Later")
    git(tmp_path / "seed", "push", "--quiet", str(remote), "main")
    with on("two", store, tmp_path) as (stepper, _):
        assert not Path(stepper.place, "later.txt").exists(), "the loop goes on from where it started"
    [event] = kept(store)
    assert (event.problem, bool(event.record)) == ("", True)


@pytest.mark.parametrize("room", [None, RoomKind.SEALED])
def test_files_that_are_not_those_of_the_start_are_no_start(
    tmp_path: Path, store: FileStore, remote: Path, room: RoomKind | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other machine's git makes other files of the same commit."""
    created(store, remote, room)
    with on("one", store, tmp_path) as (stepper, site):
        works(stepper, site, "a.txt")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.autocrlf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    with pytest.raises(UsageError, match="gives other files here"), on("two", store, tmp_path):
        pass
    assert [bool(event.problem) for event in kept(store)] == [False, True]


def lose_start(remote: Path) -> None:
    """What an agent that can push does: another history on every branch, and no mark. The remote cleans up."""
    commit = git(remote, "commit-tree", "refs/heads/work^{tree}", "-m", "No history")
    for ref in ("refs/heads/work", "refs/heads/main"):
        git(remote, "update-ref", ref, commit)
    git(remote, "update-ref", "-d", f"refs/untildone/owner/{LOOP}")


def test_a_start_that_another_machine_kept_is_never_left_out(tmp_path: Path, store: FileStore, remote: Path) -> None:
    """The loop rests, and goes on in a room once the commit is back; what the machine said meanwhile does not hold any more."""
    created(store, remote)
    with on("one", store, tmp_path) as (stepper, site):
        works(stepper, site, "a.txt")
        start = stepper.loop.start.head
    assert start is not None
    git(tmp_path / "seed", "fetch", "--quiet", str(remote), start)
    lose_start(remote)
    git(remote, "gc", "--quiet", "--prune=now")
    for _ in range(2):
        with (
            pytest.raises(
                UsageError, match=r"does not have the start.*no such commit.*this machine judges none"
            ) as refused,
            on("two", store, tmp_path),
        ):
            pass
    assert start[:12] in refused.value.hint
    assert [bool(event.problem) for event in kept(store)] == [False, True], "the same problem is written once"
    with on("one", store, tmp_path) as (stepper, _):
        assert not stepper.loop.start_problem, "the machine that has it goes on"
    git(tmp_path / "seed", "push", "--quiet", str(remote), f"{start}:refs/heads/saved")
    with on("two", store, tmp_path) as (stepper, _):
        assert (stepper.loop.start_problem, bool(stepper.loop.start_record)) == ("", True)


def test_refs_that_an_agent_deletes_take_no_start_away(tmp_path: Path, store: FileStore, remote: Path) -> None:
    created(store, remote)
    with on("one", store, tmp_path) as (stepper, site):
        works(stepper, site, "a.txt")
    lose_start(remote)
    with on("two", store, tmp_path) as (stepper, _):
        assert (stepper.loop.start_problem, bool(stepper.loop.start_record)) == ("", True)


def test_a_start_that_no_machine_kept_leaves_checks_in_place(tmp_path: Path, store: FileStore, remote: Path) -> None:
    """There never was a room: nobody can have taken the start away to get out of it."""
    created(store, remote)
    site = Published(tmp_path / "one", next(TOKENS), "one-key")
    with leased(store, LOOP, Host.CLUSTER, parts=HostParts(site.enter)) as stepper:
        stepper.look_first()
        works(stepper, site, "a.txt")
    lose_start(remote)
    git(remote, "gc", "--quiet", "--prune=now")
    for _ in range(2):
        with on("two", store, tmp_path) as (stepper, _):
            assert "no such commit" in stepper.loop.start_problem
    assert len(kept(store)) == 1


def test_the_journal_names_who_kept_it(tmp_path: Path, store: FileStore, remote: Path) -> None:
    created(store, remote)
    with on("one", store, tmp_path) as (stepper, _):
        leases = [entry.event for entry in store.open(LOOP).entries() if isinstance(entry.event, RunnerLeased)]
        assert stepper.loop.start_kept_by == f"{leases[0].machine} one-key"


class FullDisk(Published):
    """A machine on whose disk no clone can be made."""

    def show_start(self) -> bool:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_said_in_a_sentence(tmp_path: Path, store: FileStore, remote: Path) -> None:
    created(store, remote)
    with on("one", store, tmp_path) as (stepper, site):
        works(stepper, site, "a.txt")
    site = FullDisk(tmp_path / "two", next(TOKENS), "two-key")
    with (
        leased(store, LOOP, Host.CLUSTER, parts=HostParts(site.enter)) as stepper,
        pytest.raises(UsageError, match=r"cannot be checked out: .*No space left"),
    ):
        stepper.take_up(site.keep_start)
