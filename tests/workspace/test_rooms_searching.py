"""The search for changes in libraries: what counts as unchanged without a look at each file by untildone itself."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from untildone.workspace.rooms.ignored.beside import Recorded, Start
from untildone.workspace.rooms.toolchain.library_folders import Library
from untildone.workspace.rooms.toolchain.searching import Search, place_of

AGED = 0.1
"""Seconds after which the change time of a file is surely older than the start of a loop."""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for name in ("runner/__init__.py", "runner/core.py", "runner/__pycache__/core.pyc", "site-packages/other.py"):
        path = tmp_path / "lib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("HONEST = 1\n")
    time.sleep(AGED)
    return tmp_path / "lib"


def begun(library: Path, *, has_sites: bool = True, place: str | None = None) -> Callable[[], object]:
    """A loop begins. What is returned searches the library later."""
    path = str(library)
    recorded = Recorded("names", "outline", place_of(path) if place is None else place)
    start = Start(time.time_ns(), "/nowhere", libraries={path: recorded})

    def found() -> object:
        searched = Search((Library(path, has_sites=has_sites),), start)
        try:
            return searched.unchanged.get(path)
        finally:
            searched.close()

    return found


def test_a_library_that_nobody_touched_is_unchanged(library: Path) -> None:
    found = begun(library)
    assert found() == ()


def edited(library: Path) -> None:
    path = library / "runner/core.py"
    before = path.stat()
    path.write_text("HONEST = 0\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def edited_by_another_name(library: Path) -> None:
    os.link(library / "runner/core.py", library.parent / "another")
    (library.parent / "another").write_text("HONEST = 0\n")


def renamed(library: Path) -> None:
    (library / "runner/core.py").rename(library / "runner/gone.py")


def removed(library: Path) -> None:
    (library / "runner/core.py").unlink()


def added(library: Path) -> None:
    (library / "sitecustomize.py").write_text("")


def added_below(library: Path) -> None:
    (library / "runner/new").mkdir()


def linked(library: Path) -> None:
    (library / "runner/link.py").symlink_to("core.py")


def mode_changed(library: Path) -> None:
    (library / "runner/core.py").chmod(0o755)


def no_bytecode_but_beside_it(library: Path) -> None:
    (library / "runner/__pycache__/core.so").write_text("")


def a_folder_in_place_of_another(library: Path) -> None:
    other = library.parent / "other"
    (library / "runner").rename(library.parent / "away")
    other.mkdir()
    other.rename(library / "runner")


def unreadable(library: Path) -> None:
    library.rename(library.parent / "away")


@pytest.mark.parametrize(
    "change",
    [edited, edited_by_another_name, renamed, removed, added, added_below, linked, mode_changed, no_bytecode_but_beside_it,
     a_folder_in_place_of_another, unreadable],
)  # fmt: skip
def test_whatever_changes_a_library_is_noticed(library: Path, change: Callable[[Path], None]) -> None:
    found = begun(library)
    change(library)
    assert found() is None


def test_bytecode_that_was_written_since_is_named(library: Path) -> None:
    found = begun(library)
    (library / "runner/__pycache__/new.pyc").write_text("forged")
    assert found() == (b"runner/__pycache__/new.pyc",)


def test_another_library_at_the_same_path_is_noticed_although_all_its_files_are_old(library: Path) -> None:
    """Files keep their change times when a folder above them is renamed."""
    above = library.parent
    for folder in (above / "old/lib", above / "now/lib"):
        folder.mkdir(parents=True)
        (folder / "runner.py").write_text("")
    time.sleep(AGED)
    found = begun(above / "now/lib")
    assert found() == ()
    (above / "now").rename(above / "away")
    (above / "old").rename(above / "now")
    assert found() is None


def test_what_does_not_count_is_not_searched(library: Path) -> None:
    found = begun(library, has_sites=False)
    (library / "site-packages/other.py").write_text("")
    assert found() == ()


def test_a_library_of_which_the_start_knows_no_place_is_not_searched(library: Path) -> None:
    found = begun(library, place="")
    assert found() is None
