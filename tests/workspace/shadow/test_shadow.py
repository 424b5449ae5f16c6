"""Snapshots over time: several processes, crashes, other machines, big folders, and what is kept for how long."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.checkouts import check_out
from tests.support.repositories import git, link_instead, settled, starts_no_process, without_configuration

from untildone.core.model import Changes
from untildone.workspace.look import Workspace
from untildone.workspace.shadow import PLAIN, Content, NoSnapshot, Reading, Shadow, Why, tidying
from untildone.workspace.shadow import shadow as taking
from untildone.workspace.shadow import start as starts
from untildone.workspace.shadow.glance import MOST_ENTRIES


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    for name in ("a.txt", "b.txt", "deep/er/c.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\n")
    (folder / ".gitignore").write_text("*.log\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=start")
    return folder


def in_place(path: Path) -> None:
    """Write as many bytes as before, and restore the timestamps, as some programs do."""
    before = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
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
    "a new file far below": lambda folder: (folder / "deep/er/new.txt").write_text("new\n"),
    "a file that is gone": lambda folder: (folder / "a.txt").unlink(),
    "another name": lambda folder: (folder / "a.txt").rename(folder / "c.txt"),
    "a file made a program": lambda folder: (folder / "a.txt").chmod(0o755),
    "a link instead of a file": lambda folder: link_instead(folder / "a.txt", "b.txt"),
    "a commit": commit,
    "a commit, packed away": commit_and_pack,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_an_untouched_folder_starts_no_process_and_every_change_is_seen(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    without_configuration(monkeypatch, tmp_path)
    looker = settled(place)
    before = looker.look()
    # Another process finds it out as cheaply, but for the last commit.
    assert Workspace(str(place), "loop-1").look() == before
    change(place)
    after = looker.look(before)
    assert after.fingerprint == Workspace(str(place), "loop-1").look().fingerprint != before.fingerprint


def test_files_of_untildone_start_no_process(place: Path) -> None:
    (place / ".loop").mkdir()
    (place / ".claude").mkdir()
    looker = settled(place)
    (place / ".loop" / "loop-1.json").write_text("{}")
    (place / ".claude" / "ralph-delta.local.md").write_text("# state\n")
    assert starts_no_process(looker)


def test_a_large_folder_is_listed_each_time(place: Path) -> None:
    for number in range(MOST_ENTRIES):
        (place / f"{number}.log").write_text("")
    looker = Workspace(str(place), "loop-1")
    before = looker.look()
    in_place(place / "deep/er/c.txt")
    assert looker.look(before).files == 1


def test_a_file_that_a_program_has_in_its_memory_is_seen_when_all_are_read(place: Path) -> None:
    """Writing to a page that was written before changes no timestamp, unless the kernel has stored the page meanwhile: then once more."""
    (place / "a.txt").write_bytes(b"1" * mmap.PAGESIZE)
    with (place / "a.txt").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        for attempt in range(20):
            mapped[0:4] = b"2222"
            looker = settled(place)
            before = looker.look()
            mapped[0:4] = b"%04d" % attempt
            if looker.look().tree == before.tree:
                break
        else:
            pytest.skip("this file system changes the timestamps")
        after = looker.look(before, reading=Reading.ALL)
    assert (after.files, looker.shadow.changed(str(before.tree), str(after.tree))[0].path) == (1, "a.txt")
    assert Workspace(str(place), "loop-1").look().tree == after.tree


def test_trees_are_composed_and_checked_out(place: Path, tmp_path: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    start = shadow.take().tree
    (place / "a.txt").write_text("changed\n")
    (place / "b.txt").unlink()
    (place / "new.txt").write_text("new\n")
    claimed, originals = shadow.take().tree, shadow.files(start)
    changes = {name: originals[name] for name in ("a.txt", "b.txt")}
    tree = shadow.write_tree(claimed, {**changes, "new.txt": None, "made/x": Content(PLAIN, b"made\n")})
    assert [each.path for each in shadow.changed(start, tree)] == ["made/x"]
    assert shadow.write_tree(claimed, {}) == claimed
    room = check_out(shadow, tree, tmp_path / "room")
    (room / "a.txt").write_text("spoilt by a check\n")
    (room / "left/over").mkdir(parents=True)
    (room / "left/over/x.log").write_text("x\n")
    (room / "b.txt").unlink()
    check_out(shadow, claimed, tmp_path / "room")
    files = {str(path.relative_to(room)): path.read_text() for path in room.rglob("*") if path.is_file()}
    assert files == {
        ".gitignore": "*.log\n",
        "a.txt": "changed\n",
        "deep/er/c.txt": "deep/er/c.txt\n",
        "new.txt": "new\n",
    }


def test_a_file_may_become_a_folder_and_the_reverse(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    (place / "a.txt").unlink()
    (place / "a.txt").mkdir()
    (place / "a.txt/x").write_text("x\n")
    assert "a.txt/x" in shadow.files(shadow.take().tree)
    (place / "a.txt/x").unlink()
    (place / "a.txt").rmdir()
    (place / "a.txt").write_text("back\n")
    assert sorted(shadow.files(shadow.take().tree)) == [".gitignore", "a.txt", "b.txt", "deep/er/c.txt"]


def test_names_that_git_refuses_are_left_out_and_noticed(place: Path, tmp_path: Path) -> None:
    (place / ".GIT").mkdir()
    (place / ".GIT/x").write_text("x\n")
    (place / ".gitmodules").symlink_to("a.txt")
    (place / "git~1").write_text("fine\n")
    shadow = Shadow(str(place), loop_id="loop-1")
    snapshot = shadow.take()
    assert {(each.path, each.why) for each in snapshot.unkept} == {(".GIT/x", Why.NAME), (".gitmodules", Why.NAME)}
    assert (check_out(shadow, snapshot.tree, tmp_path / "room") / "git~1").exists()
    (place / ".GIT/x").write_text("xx\n")
    assert shadow.take().beside != snapshot.beside


def test_many_processes_take_snapshots_of_one_folder(place: Path) -> None:
    script = (
        "import sys\nfrom untildone.workspace.shadow import Shadow\n"
        "for _ in range(5): print(Shadow(sys.argv[1], loop_id=sys.argv[2]).take().tree)"
    )
    for name in ("x", "y"):
        (place / name).write_text(f"{name}\n")
    command = (sys.executable, "-c", script, str(place))
    running = [
        subprocess.Popen([*command, f"loop-{number % 2}"], stdout=subprocess.PIPE, text=True) for number in range(4)
    ]
    printed = [process.communicate(timeout=120)[0].split() for process in running]
    assert {tree for trees in printed for tree in trees} == {Shadow(str(place), loop_id="loop-0").take().tree}
    assert [len(trees) for trees in printed] == [5] * 4


def test_a_process_that_is_killed_leaves_no_dead_end(place: Path) -> None:
    for number in range(300):
        (place / f"{number}.txt").write_text(f"{number}\n" * 1000)
    script = (
        "import sys\nfrom untildone.workspace.shadow import Shadow\nprint(flush=True)\n"
        "Shadow(sys.argv[1], loop_id='loop-1').take()"
    )
    for patience in (0.0, 0.03, 0.06, 0.1, 0.15):
        process = subprocess.Popen([sys.executable, "-c", script, str(place)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(patience)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    shadow = Shadow(str(place), loop_id="loop-1")
    for lock in ("index.lock", "refs/loops/loop-1.lock"):
        (shadow.folder / "loops" / "loop-1" / lock).parent.mkdir(parents=True, exist_ok=True)
    (shadow.folder / "loops/loop-1/index.lock").touch()
    (shadow.repository.folder / "refs/loops").mkdir(parents=True, exist_ok=True)
    (shadow.repository.folder / "refs/loops/loop-1.lock").touch()
    git(place, "init", "--quiet", "inner")
    (place / "inner/x").write_text("x\n")
    assert len(shadow.files(shadow.take().tree)) == 305


def test_a_snapshot_is_given_up_when_the_caller_must_stop(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    with pytest.raises(NoSnapshot, match="interrupted"):
        shadow.take(lambda: True)
    assert shadow.start is None
    assert len(shadow.files(shadow.take().tree)) == 4


def test_lost_objects_are_written_again(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    tree = shadow.take().tree
    for pack in (shadow.repository.folder / "objects/pack").iterdir():
        pack.chmod(0o600)
        pack.unlink()
    (place / "new.txt").write_text("new\n")
    after = shadow.take().tree
    assert len(shadow.read(file.blob for file in shadow.files(after).values())) == 5
    with pytest.raises(NoSnapshot):
        shadow.read(["1" * 40])
    assert tree != after


def test_a_damaged_cache_is_not_believed(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    tree = shadow.take().tree
    for content in (b"", b"{", b'{"format": 0}', b'{"format": 1, "tree": null, "files": {"a": 1}}', b"[]"):
        (shadow.folder / "cache.json").write_bytes(content)
        (shadow.folder / "loops/loop-1/last.json").write_bytes(content)
        assert Shadow(str(place), loop_id="loop-1").take().tree == tree


def test_packs_do_not_pile_up(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    trees = []
    for number in range(60):
        (place / "a.txt").write_text(f"{number}\n")
        trees.append(shadow.take().tree)
    assert len(list((shadow.repository.folder / "objects/pack").glob("*.pack"))) < 45
    assert all(shadow.files(tree) for tree in trees)


@pytest.mark.parametrize("limits", [starts.Limits(3, 1 << 30), starts.Limits(1000, 10)], ids=["files", "bytes"])
def test_a_folder_that_is_too_big_has_no_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: starts.Limits
) -> None:
    place = tmp_path / "folder"
    place.mkdir()
    for number in range(5):
        (place / f"{number}").write_text("some content\n")
    monkeypatch.setattr(starts, "FOLDER", limits)
    looker = Workspace(str(place), "loop-1")
    before = looker.look()
    assert before.tree is None
    assert "is too big for a snapshot" in looker.problem
    (place / "1").write_text("more\n")
    assert looker.look(before).files == 1


def test_a_folder_may_grow_later_but_not_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "folder"
    place.mkdir()
    monkeypatch.setattr(starts, "FOLDER", starts.Limits(3, 1 << 30))
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    for number in range(12):
        (place / f"{number}").write_text("x\n")
    assert shadow.take().files == 12
    (place / "13").write_text("x\n")
    with pytest.raises(NoSnapshot, match="too big"):
        shadow.take()


def test_the_top_of_a_repository_that_is_too_big_gives_way_to_the_folder(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starts, "REPOSITORY", starts.Limits(3, 1 << 30))
    snapshot = Shadow(str(place / "deep"), loop_id="loop-1").take()
    assert (snapshot.root, snapshot.files) == (str(place / "deep"), 1)


def test_rules_that_reveal_very_many_files_do_not_bring_them_into_a_snapshot(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "MOST_LATE", 2)
    for number in range(3):
        (place / f"{number}.log").write_text("x\n")
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    (place / ".gitignore").write_text("")
    snapshot = shadow.take()
    assert (snapshot.files, {each.why for each in snapshot.unkept}) == (4, {Why.LATE})


def test_the_start_of_a_loop_is_brought_from_another_machine(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Workspace(str(place), "loop-1").look()
    (place / "a.txt").write_text("changed\n")
    git(place, "commit", "--quiet", "--all", "--message=work")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    looker = Workspace(str(place), "loop-1", start=start)
    after = looker.look(start)
    assert after.files == 1
    assert looker.shadow.files(str(start.tree)).keys() == {".gitignore", "a.txt", "b.txt", "deep/er/c.txt"}
    strange = Changes("x", start.head, "1" * 40)
    assert Workspace(str(place), "loop-2", start=strange).look(strange).files == 0


def age(path: Path, days: int) -> None:
    os.utime(path, (time.time() - days * 86400,) * 2)


def test_snapshots_of_ended_loops_go_after_some_months(place: Path) -> None:
    content = os.urandom(300_000)
    loops = {}
    for name in ("loop-1", "loop-2", "loop-3"):
        (place / "a.txt").write_bytes(content + name.encode())
        loops[name] = Shadow(str(place), loop_id=name)
        loops[name].take()
    tidying.loop_ended(loops["loop-1"])
    tidying.loop_ended(loops["loop-2"])
    own = loops["loop-1"].folder
    age(own / "loops/loop-1/ended", tidying.KEPT_DAYS + 1)
    age(own / "loops/loop-2/ended", tidying.KEPT_DAYS - 1)
    trees = {name: shadow.take().tree for name, shadow in loops.items()}
    tidying.tidy()
    assert (own / "loops/loop-1").exists(), "it is done once a day"
    age(own.parent / "tidied", 2)
    before = size_of(own / "repository")
    tidying.tidy()
    assert sorted(each.name for each in (own / "loops").iterdir()) == ["loop-2", "loop-3"]
    assert size_of(own / "repository") < before
    assert Shadow(str(place), loop_id="loop-2").files(trees["loop-2"])
    assert Shadow(str(place), loop_id="loop-2").take().tree == trees["loop-3"]


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_deleting_a_loop_deletes_its_snapshots(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    tidying.loop_deleted(shadow)
    assert not shadow.folder.exists()
    tidying.loop_deleted(shadow)


def test_snapshots_are_readable_by_their_owner_only(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    assert shadow.folder.parent.stat().st_mode & 0o077 == 0


def test_a_state_folder_inside_the_workspace_is_in_no_snapshot(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a home folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "my [state]"))
    looker = settled(place)
    before = looker.look()
    assert starts_no_process(looker)
    assert len(looker.shadow.files(str(before.tree))) == 4
    assert looker.shadow.ignored_changes().sentences == ()
