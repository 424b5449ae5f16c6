"""What an agent does to git hides nothing from a snapshot, and takes no evidence away."""

from __future__ import annotations

import os
import shutil
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.checkouts import check_out
from tests.support.repositories import add_repository, git

from untildone.workspace.diff import changed_files, patch
from untildone.workspace.shadow import Shadow, Snapshot, Why
from untildone.workspace.shadow.reading import Special, read

WEAK = "def test(): assert True\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository with a test, and an ignored folder."""
    folder = tmp_path / "repository"
    for name, content in {
        "calc.py": "def add(a, b): return a - b\n",
        "tests/test_calc.py": "def test(): assert add(1, 2) == 3\n",
        ".gitignore": "build/\n*.log\n",
    }.items():
        write(folder / name, content)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=start")
    return folder


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def weaken(place: Path) -> None:
    write(place / "tests/test_calc.py", WEAK)


def index_flag(flag: str) -> Callable[[Path], None]:
    def hide(place: Path) -> None:
        git(place, "update-index", flag, "tests/test_calc.py")
        weaken(place)

    return hide


def clean_filter(place: Path) -> None:
    """What git stores is the original, whatever the file contains."""
    shutil.copy(place / "tests/test_calc.py", place / ".git" / "original")
    git(place, "config", "filter.hide.clean", f"cat {place}/.git/original")
    write(place / ".git/info/attributes", "tests/* filter=hide\n")
    weaken(place)


def replaced_object(place: Path) -> None:
    weaken(place)
    git(
        place,
        "replace",
        "-f",
        git(place, "hash-object", "-w", "tests/test_calc.py"),
        git(place, "rev-parse", "HEAD:calc.py"),
    )


def another_work_tree(place: Path) -> None:
    shutil.copytree(place, place.parent / "elsewhere", ignore=shutil.ignore_patterns(".git"))
    git(place, "config", "core.worktree", str(place.parent / "elsewhere"))
    weaken(place)


def forged_times(place: Path) -> None:
    git(place, "config", "core.checkStat", "minimal")
    git(place, "config", "core.trustctime", "false")
    path = place / "tests/test_calc.py"
    before = path.stat()
    path.write_text("def test(): assert 1 + 1 + 1 == 3\n")
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def a_repository_around_the_tests(place: Path) -> None:
    git(place / "tests", "init", "--quiet")
    weaken(place)


def modes_that_do_not_count(place: Path) -> None:
    git(place, "config", "core.fileMode", "false")
    weaken(place)


def an_index_without_the_file(place: Path) -> None:
    git(place, "rm", "--quiet", "--cached", "-r", "tests")
    weaken(place)


def a_broken_index(place: Path) -> None:
    (place / ".git/index").write_bytes(b"DIRC")
    weaken(place)


def a_sparse_checkout(place: Path) -> None:
    git(place, "sparse-checkout", "set", "nothing")
    weaken(place)


HIDDEN = [
    index_flag("--assume-unchanged"),
    index_flag("--skip-worktree"),
    clean_filter,
    replaced_object,
    another_work_tree,
    forged_times,
    a_repository_around_the_tests,
    modes_that_do_not_count,
    an_index_without_the_file,
    a_broken_index,
    a_sparse_checkout,
]


def no_repository(place: Path) -> None:
    shutil.rmtree(place / ".git")


def new_history(place: Path) -> None:
    shutil.rmtree(place / ".git")
    git(place, "init", "--quiet")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message=everything")


def a_bare_repository(place: Path) -> None:
    git(place, "config", "core.bare", "true")


def no_objects(place: Path) -> None:
    shutil.rmtree(place / ".git/objects")


def another_repository_above(place: Path) -> None:
    no_repository(place)
    git(place.parent, "init", "--quiet")


def a_file_instead_of_the_repository(place: Path) -> None:
    no_repository(place)
    write(place / ".git", "x")


def a_pipe_instead_of_the_repository(place: Path) -> None:
    no_repository(place)
    os.mkfifo(place / ".git")


def a_pipe_instead_of_head(place: Path) -> None:
    (place / ".git/HEAD").unlink()
    os.mkfifo(place / ".git/HEAD")


GONE = [
    no_repository,
    new_history,
    a_bare_repository,
    no_objects,
    another_repository_above,
    a_file_instead_of_the_repository,
    a_pipe_instead_of_the_repository,
    a_pipe_instead_of_head,
]


def changed(shadow: Shadow, before: Snapshot, after: Snapshot) -> dict[str, str]:
    """The new content of each file that changed."""
    changes = shadow.changed(before.tree, after.tree)
    contents = shadow.read(change.after.blob for change in changes if change.after)
    return {each.path: contents[each.after.blob].decode() if each.after else "gone" for each in changes}


@pytest.mark.parametrize("hide", HIDDEN)
@pytest.mark.parametrize("afresh", [True, False], ids=["another process", "the same process"])
def test_a_change_that_git_does_not_show_is_in_the_snapshot(
    place: Path, hide: Callable[[Path], None], *, afresh: bool
) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    before = shadow.take()
    hide(place)
    after = (Shadow(str(place), loop_id="loop-1") if afresh else shadow).take()
    assert changed(shadow, before, after) == {"tests/test_calc.py": (place / "tests/test_calc.py").read_text()}
    files = changed_files(str(place), before.tree, after.tree)
    assert files is not None
    assert [each.path for each in files] == ["tests/test_calc.py"]
    assert "tests/test_calc.py" in patch(str(place), before.tree, loop_id="loop-1")


@pytest.mark.parametrize("take_away", GONE)
def test_a_snapshot_needs_nothing_of_the_person_s_repository(place: Path, take_away: Callable[[Path], None]) -> None:
    before = Shadow(str(place), loop_id="loop-1").take()
    weaken(place)
    take_away(place)
    shadow = Shadow(str(place), loop_id="loop-1")
    after = shadow.take()
    assert (after.root, changed(shadow, before, after)) == (str(place), {"tests/test_calc.py": WEAK})


def ignored(place: Path) -> None:
    write(place / ".gitignore", "build/\n*.log\nplugin.py\nconftest.py\n")


def ignored_in_the_folder(place: Path) -> None:
    write(place / "tests/.gitignore", "*\n")


def excluded(place: Path) -> None:
    write(place / ".git/info/exclude", "plugin.py\nconftest.py\n")


def excluded_by_the_configuration(place: Path) -> None:
    write(place.parent / "mine", "plugin.py\nconftest.py\n")
    git(place, "config", "core.excludesFile", str(place.parent / "mine"))


@pytest.mark.parametrize("ignore", [ignored, ignored_in_the_folder, excluded, excluded_by_the_configuration])
def test_rules_that_the_agent_writes_hide_no_file(place: Path, ignore: Callable[[Path], None]) -> None:
    before = Shadow(str(place), loop_id="loop-1").take()
    ignore(place)
    write(place / "tests/conftest.py", WEAK)
    write(place / "plugin.py", WEAK)
    shadow = Shadow(str(place), loop_id="loop-1")
    seen = changed(shadow, before, shadow.take())
    assert {name: text for name, text in seen.items() if ".gitignore" not in name} == {
        "plugin.py": WEAK,
        "tests/conftest.py": WEAK,
    }


def test_files_that_the_agent_no_longer_ignores_count(place: Path) -> None:
    for folder in ("build", "build/node_modules"):
        write(place / folder / "x.txt", "x\n")
    shadow = Shadow(str(place), loop_id="loop-1")
    before = shadow.take()
    assert "build/x.txt" not in shadow.files(before.tree)
    write(place / ".gitignore", "*.log\n")
    after = shadow.take()
    assert changed(shadow, before, after) == {".gitignore": "*.log\n", "build/x.txt": "x\n"}
    write(place / ".gitignore", "build/\n*.log\n")
    git(place, "add", "--force", "build/x.txt")
    assert "build/x.txt" in shadow.files(shadow.take().tree)


def test_an_ignored_file_in_the_person_s_index_counts_from_the_start_on(place: Path) -> None:
    write(place / "kept.log", "kept\n")
    git(place, "add", "--force", "kept.log")
    shadow = Shadow(str(place), loop_id="loop-1")
    before = shadow.take()
    assert "kept.log" in shadow.files(before.tree)
    git(place, "rm", "--quiet", "--cached", "kept.log")
    (place / "kept.log").unlink()
    gone = shadow.take()
    assert changed(shadow, before, gone) == {"kept.log": "gone"}
    write(place / "kept.log", "back\n")
    assert changed(shadow, before, shadow.take()) == {"kept.log": "back\n"}


def test_repositories_in_repositories_are_files(place: Path) -> None:
    add_repository(place / "inner")
    add_repository(place / "inner/deep")
    write(place / "inner/deep/.gitignore", "*.tmp\n")
    write(place / "inner/deep/x.tmp", "x\n")
    git(place, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(place), "sub")
    shadow = Shadow(str(place), loop_id="loop-1")
    before = shadow.take()
    assert {"inner/x.txt", "inner/deep/x.txt", "sub/calc.py"} < shadow.files(before.tree).keys()
    assert "inner/deep/x.tmp" not in shadow.files(before.tree)
    write(place / "sub/calc.py", "1\n")
    write(place / "inner/deep/x.txt", "2\n")
    assert changed(shadow, before, shadow.take()) == {"sub/calc.py": "1\n", "inner/deep/x.txt": "2\n"}


def test_the_person_s_repository_is_not_touched(place: Path) -> None:
    def state() -> dict[Path, tuple[int, int]]:
        paths = (place / ".git").rglob("*")
        return {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in paths if not path.is_dir()}

    write(place / "new.py", "new\n")
    status, before = git(place, "status", "--porcelain"), state()
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    weaken(place)
    shadow.take()
    assert state() == before
    assert status == "?? new.py"


def clean_program(place: Path, program: str) -> None:
    git(place, "config", "filter.run.clean", program)
    git(place, "config", "filter.run.required", "true")
    write(place / ".gitattributes", "* filter=run\n")


def filter_process(place: Path, program: str) -> None:
    git(place, "config", "filter.run.process", program)
    write(place / ".gitattributes", "* filter=run\n")


def fsmonitor(place: Path, program: str) -> None:
    git(place, "config", "core.fsmonitor", program)


def text_conversion(place: Path, program: str) -> None:
    git(place, "config", "diff.run.textconv", program)
    git(place, "config", "diff.run.command", program)
    write(place / ".gitattributes", "* diff=run\n")


def hooks(place: Path, program: str) -> None:
    git(place, "config", "core.hooksPath", "hooks")
    for name in ("post-index-change", "reference-transaction"):
        a_program(place / "hooks" / name, program)


def git_itself(place: Path, program: str) -> None:
    a_program(place / "bin/git", program)
    os.environ["PATH"] = f"{place}/bin:{os.environ['PATH']}"


def a_program(path: Path, command: str) -> None:
    write(path, f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("prepare", [clean_program, filter_process, fsmonitor, text_conversion, hooks, git_itself])
def test_no_program_of_the_workspace_is_run(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Path, str], None]
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"])
    prepare(place, f"touch {tmp_path}/was-run")
    (tmp_path / "was-run").unlink(missing_ok=True)
    shadow = Shadow(str(place), loop_id="loop-1")
    before = shadow.take()
    weaken(place)
    after = shadow.take()
    shadow.patch(before.tree, after.tree)
    room = check_out(shadow, after.tree, tmp_path / "room")
    assert (room / "tests/test_calc.py").read_text() == WEAK
    assert not (tmp_path / "was-run").exists()


def test_pipes_in_the_workspace_are_not_waited_for(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    before = shadow.take()
    for name in (".gitattributes", ".gitignore", "tests/.gitignore", "tests/test_calc.py", "new"):
        (place / name).unlink(missing_ok=True)
        os.mkfifo(place / name)
    assert changed(shadow, before, shadow.take()) == {".gitignore": "gone", "tests/test_calc.py": "gone"}


def test_a_link_on_the_way_to_a_file_is_not_followed(place: Path, tmp_path: Path) -> None:
    """A program of the agent can put it there between the listing of the files and their reading."""
    write(tmp_path / "secrets/id_rsa", "PRIVATE\n")
    write(place / "keys/id_rsa", "of the work\n")
    path = os.fsencode(place / "keys/id_rsa")
    assert read(path, os.lstat(path)).content.data == b"of the work\n"
    shutil.rmtree(place / "keys")
    (place / "keys").symlink_to(tmp_path / "secrets")
    with pytest.raises(Special):
        read(path, os.lstat(path))


def test_files_are_kept_byte_for_byte(place: Path, tmp_path: Path) -> None:
    git(place, "config", "core.autocrlf", "true")
    write(place / ".gitattributes", "*.txt text eol=crlf ident working-tree-encoding=UTF-16\n")
    contents = {
        "a.txt": b"one\r\ntwo\n$Id$\n",
        "b.bin": bytes(range(256)),
        "empty": b"",
        os.fsdecode(b'\xff\n"\\'): b"x",
    }
    for name, content in contents.items():
        (place / name).write_bytes(content)
    (place / "program").write_bytes(b"#!/bin/sh\n")
    (place / "program").chmod(0o755)
    (place / "link").symlink_to("../outside")
    shadow = Shadow(str(place), loop_id="loop-1")
    room = check_out(shadow, shadow.take().tree, tmp_path / "room")
    assert {name: (room / name).read_bytes() for name in contents} == contents
    assert (room / "program").stat().st_mode & stat.S_IXUSR
    assert os.readlink(room / "link") == "../outside"


def test_a_file_that_is_written_all_the_time_never_looks_the_same(place: Path) -> None:
    stop = threading.Event()

    def write_on() -> None:
        while not stop.is_set():
            (place / "draft").write_text(str(time.monotonic_ns()))
            (place / "draft").rename(place / "clock")

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        shadow = Shadow(str(place), loop_id="loop-1")
        seen = [shadow.take() for _ in range(5)]
    finally:
        stop.set()
        writer.join(timeout=60)
    assert len({(snapshot.tree, snapshot.beside) for snapshot in seen}) == 5
    assert {each.why for snapshot in seen for each in snapshot.unkept} == {Why.CHANGING}
