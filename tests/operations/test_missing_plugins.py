"""covers: a loop whose mode, agent and gate came from a plugin that is not installed any more can be looked at, stopped and deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.command_line import CommandLine

from untildone import modes
from untildone.core.errors import UsageError
from untildone.core.events import LoopCreated, StartRequested
from untildone.core.model import AgentChoice, Budget, LoopSettings

GONE = "gone_plugin:"


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    made = CommandLine(tmp_path)
    kept = LoopSettings(
        f"{GONE}MODE",
        AgentChoice("gone", f"{GONE}AGENT"),
        str(made.workspace),
        checks=("true",),
        gates={f"{GONE}GATE": "word"},
    )
    store = made.store()
    store.seals.prepare()
    store.create(LoopCreated("loop-1", "t", "do it", kept, Budget(iterations=3)), StartRequested())
    return made


def test_it_is_shown_stopped_and_deleted(cli: CommandLine) -> None:
    refused = cli.run("resume", "loop-1")
    assert refused.code == 2
    assert "gone_plugin" in refused.errors
    for words in (("show", "loop-1"), ("log", "loop-1"), ("list",), ("stop", "loop-1")):
        ended = cli.run(*words)
        assert ended.code in (0, 5), ended
        assert "cannot be loaded" not in ended.errors
    assert cli.shown("loop-1")["outcome"] == "stopped"
    assert cli.run("delete", "loop-1").code == 0


def test_a_mode_that_is_not_there_asks_for_nothing(cli: CommandLine) -> None:
    loop = cli.store().load("loop-1")
    mode = modes.of(loop.settings.mode)
    assert (mode.name, mode.standing(loop), mode.live_state(loop)) == (f"{GONE}MODE", (), None)
    with pytest.raises(UsageError, match="cannot be loaded"):
        mode.next(loop)
