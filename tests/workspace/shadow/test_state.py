"""What an agent writes to the state folder: objects, caches and settings of the shadow repository."""

from __future__ import annotations

import json
import os
import subprocess
import zlib
from pathlib import Path

import pytest
from tests.support.checkouts import check_out

from untildone.workspace.rooms.contents import copy
from untildone.workspace.shadow import NoSnapshot, Reading, Shadow

TEST, WEAK = "def test(): assert add(2, 3) == 5\n", "def test(): assert add(2, 3) ==-1\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "workspace"
    (folder / "tests").mkdir(parents=True)
    (folder / "calc.py").write_text("def add(a, b): return a - b\n")
    (folder / "tests/test_calc.py").write_text(TEST)
    return folder


def loose(shadow: Shadow, blob: str) -> Path:
    """Where an object lies once it is in no pack."""
    folder = Path(shadow.git_dir)
    for pack in list((folder / "objects/pack").glob("*.pack")):
        content = pack.read_bytes()
        for part in pack.parent.glob(f"{pack.stem}.*"):
            part.unlink()
        subprocess.run(["git", "unpack-objects", "-q"], cwd=folder, input=content, check=True)
    path = folder / "objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    return path


def test_an_object_that_was_replaced_under_its_name_is_refused(place: Path, tmp_path: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    tree = shadow.take().tree
    blob = shadow.files(tree)["tests/test_calc.py"].blob
    loose(shadow, blob).write_bytes(zlib.compress(b"blob %d\0" % len(WEAK) + WEAK.encode()))
    again = Shadow(str(place), loop_id="loop-1")
    with pytest.raises(NoSnapshot, match="replaced by another"):
        again.read([blob])
    with pytest.raises(NoSnapshot, match="replaced by another"):
        check_out(again, tree, tmp_path / "room")


def test_a_folder_that_was_replaced_under_its_name_is_refused(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    tree = shadow.take().tree
    loose(shadow, tree).write_bytes(zlib.compress(b"tree 0\0"))
    with pytest.raises(NoSnapshot, match="replaced by another"):
        Shadow(str(place), loop_id="loop-1").files(tree)


def test_a_folder_that_is_replaced_after_another_loop_read_it_changes_no_snapshot(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    tree = shadow.take().tree
    before = shadow.files(tree)
    loose(shadow, tree).write_bytes(zlib.compress(b"tree 0\0"))
    again = Shadow(str(place), loop_id="loop-2")
    assert again.files(tree) == before
    (place / "new.py").write_text("x = 1\n")
    claimed = again.take(reading=Reading.ALL)
    assert sorted(again.files(claimed.tree)) == ["calc.py", "new.py", "tests/test_calc.py"]


def test_a_forged_cache_does_not_change_what_a_snapshot_contains(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    other = shadow.write_tree(shadow.take().tree, {"calc.py": None})
    cache = shadow.folder / "cache.json"
    cache.write_text(json.dumps({**json.loads(cache.read_text()), "tree": other}))
    claimed = Shadow(str(place), loop_id="loop-1").take(reading=Reading.ALL)
    assert "calc.py" in shadow.files(claimed.tree)


def test_a_prepared_copy_is_not_taken_over(place: Path, tmp_path: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    tree = shadow.take().tree
    prepared = tmp_path / "room/tree/tests/test_calc.py"
    prepared.parent.mkdir(parents=True)
    prepared.write_text(WEAK)
    room = check_out(shadow, tree, tmp_path / "room")
    assert (room / "tests/test_calc.py").read_text() == TEST
    (room / "tests/test_calc.py").write_text(WEAK)
    assert (check_out(shadow, tree, tmp_path / "room") / "tests/test_calc.py").read_text() == TEST


def test_a_link_in_the_place_of_a_folder_of_the_copy_leads_nowhere(place: Path, tmp_path: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    tree = shadow.take().tree
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "room/tree").mkdir(parents=True)
    (tmp_path / "room/tree/tests").symlink_to(tmp_path / "elsewhere")
    copied = copy.Copy(shadow, tmp_path / "room")
    copied.become(tree, shadow.files(tree).keys(), lambda _path, _entry: True)
    assert not list((tmp_path / "elsewhere").iterdir())
    assert (tmp_path / "room/tree/tests/test_calc.py").read_text() == TEST


def test_files_that_an_agent_names_in_our_index_or_rules_are_not_hidden(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    own = shadow.folder / "loops/loop-1"
    for path in own.iterdir():
        if len(path.name) == 32:
            path.write_text("hidden.py\n")
    (place / "hidden.py").write_text("payload\n")
    (place / "named.py").write_text("payload\n")
    variables = {
        "GIT_DIR": shadow.git_dir,
        "GIT_INDEX_FILE": str(own / "index"),
        "GIT_WORK_TREE": str(place),
        "PATH": os.environ["PATH"],
    }
    subprocess.run(["git", "add", "named.py"], cwd=place, env=variables, check=True)
    files = shadow.files(Shadow(str(place), loop_id="loop-1").take(reading=Reading.ALL).tree)
    assert {"hidden.py", "named.py"} <= files.keys()


def test_settings_that_an_agent_gives_to_the_repository_do_not_hold(place: Path) -> None:
    shadow = Shadow(str(place), loop_id="loop-1")
    shadow.take()
    folder = Path(shadow.git_dir)
    (folder / "config").write_text((folder / "config").read_text() + '[filter "weak"]\n\tclean = tr 5 6\n')
    (folder / "info/attributes").write_text("* filter=weak\n")
    shadow.take()
    assert "weak" not in (folder / "config").read_text() + (folder / "info/attributes").read_text()
