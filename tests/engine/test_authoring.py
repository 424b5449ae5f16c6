"""What is kept of an author of acceptance tests: its tests and its renewed login, whatever it put in the place of these."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from untildone.core.model import AgentChoice, Budget, LoopSettings
from untildone.core.values.value import replace
from untildone.engine.verdicts import authoring
from untildone.testing.driver import Driver
from untildone.workspace.look import Workspace

AUTHOR = AgentChoice("codex", "codex")


def renews(file: Path, _outside: Path) -> None:
    file.write_text("new")


def links(file: Path, outside: Path) -> None:
    file.symlink_to(outside / "auth.json")


def links_the_folder(file: Path, outside: Path) -> None:
    file.parent.rmdir()
    file.parent.symlink_to(outside)


def fills(file: Path, _outside: Path) -> None:
    file.touch()
    os.truncate(file, 1 << 40)


@pytest.mark.parametrize(("act", "left"), [(renews, "new"), (links, "old"), (links_the_folder, "old"), (fills, "old")])
def test_only_a_login_that_was_renewed_is_put_back_and_nobody_else_may_read_it(
    tmp_path: Path, act: Callable[[Path, Path], None], left: str
) -> None:
    work, home, outside, state = (tmp_path / name for name in ("work", "home", "outside", "state"))
    for folder, name in ((home / ".codex", "old"), (outside, "secret")):
        folder.mkdir(parents=True)
        (folder / "auth.json").write_text(name)
    work.mkdir()
    environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(state)}
    loop = Driver(lambda *_: "").create(LoopSettings("continue", AUTHOR, str(work)), Budget()).loop
    layer = state / "untildone/boxes" / loop.loop_id / authoring.NAME / "layers/0"
    (layer / "above/.codex").mkdir(parents=True)
    (layer / "below").symlink_to(home)
    act(layer / "above/.codex/auth.json", outside)
    authoring.taken(Workspace(str(work), "", environment), loop, AUTHOR, environment, lambda *_: None, failed=True)
    login = home / ".codex/auth.json"
    assert (login.read_text(), layer.exists()) == (left, False)
    assert left == "old" or stat.S_IMODE(login.stat().st_mode) == 0o600


def test_new_tests_are_kept_whatever_else_lies_beside_them(tmp_path: Path) -> None:
    work, state = tmp_path / "work", tmp_path / "state"
    work.mkdir()
    (work / "test_known.py").write_text("known = 1\n")
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    workspace = Workspace(str(work), "loop-1", environment)
    loop = Driver(lambda *_: "").create(LoopSettings("continue", AUTHOR, str(work)), Budget()).loop
    loop = replace(loop, start=workspace.look())
    made = state / "untildone/rooms" / loop.loop_id / authoring.NAME / "tree"
    made.mkdir(parents=True)
    for name in ("test_known.py", "test_new.py", "notes.txt"):
        (made / name).write_text("new = 1\n")
    for name in ("test_big.py", "big.txt"):
        (made / name).touch()
        os.truncate(made / name, 1 << 40)
    (made / "test_link.py").symlink_to(made / "test_new.py")
    os.mkfifo(made / "test_pipe.py")
    tests = authoring.taken(workspace, loop, AUTHOR, environment, lambda *_: None, failed=False)
    assert tests is not None
    assert (tests.paths, made.exists()) == (("test_new.py",), False)
    reasons = {"big.txt": "no test by its name", "notes.txt": "no test by its name", "test_big.py": "too large"}
    assert tests.notes == tuple(f"{name} does not count: it is {why}." for name, why in reasons.items())
