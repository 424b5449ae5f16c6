"""The place of a reviewer: never one in which it can read tests that are kept back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from untildone.core.errors import UsageError
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, Changes, LoopSettings
from untildone.core.protection.sandbox import Sandbox
from untildone.core.receipts.proving import HELD_OUT
from untildone.core.values.value import replace
from untildone.engine.verdicts import reviewing
from untildone.workspace.look import Workspace

SUPERVISOR = AgentChoice("scripted", "scripted")
KEPT_BACK = {HELD_OUT: "50%"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"test_{name}.py").write_text(f"def test_{name}():\n    assert '{name}'\n")
    return Workspace(str(folder), "loop-1", {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")})


def loop(seen: Changes, options: Mapping[str, object], sandbox: Sandbox = Sandbox.AUTO) -> Loop:
    settings = LoopSettings("supervise", SUPERVISOR, "", options=options, sandbox=sandbox, checks=("pytest",))
    return replace(Loop("loop-1", "A job", "A job", settings, Budget(), 0.0, 0.0), start=seen, changes=seen)


@pytest.mark.parametrize("why", ["no snapshot", "no checkout", "no box"])
def test_a_reviewer_is_refused_where_it_could_read_what_is_kept_back(
    workspace: Workspace, tmp_path: Path, why: str
) -> None:
    seen = workspace.look()
    assert seen.tree
    environment = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    if why == "no checkout":
        seen = replace(seen, tree="0" * 40)
    asked = loop(seen, KEPT_BACK, Sandbox.OFF if why == "no box" else Sandbox.AUTO)
    asked = replace(asked, changes=replace(seen, tree=None)) if why == "no snapshot" else asked
    with pytest.raises(UsageError, match="kept back can be read there"):
        reviewing.place(workspace, asked, SUPERVISOR, environment)
    free = reviewing.place(
        workspace, replace(asked, settings=replace(asked.settings, options={})), SUPERVISOR, environment
    )
    assert free.box is None
