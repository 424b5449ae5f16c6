"""The stop hook in the real Claude Code at a real terminal: a claim that comes too early is held, and can be cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.real_agents import CLAIM, Desk, claims, open_desk, trust_workspace, until
from tests.support.tmux import Tmux

from untildone.testing.modelapi import Step

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(400)]
PATIENCE = 200.0


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_desk("claude", tmp_path) as desk:
        trust_workspace(desk)
        assert desk.command("hook", "install").code == 0
        yield desk


@pytest.fixture
def claude(desk: Desk) -> Iterator[Tmux]:
    env = {name: value for name, value in desk.env.items() if name != "PYTHONPATH"}
    with Tmux(["claude"], desk.workspace, env, columns=160) as terminal:
        terminal.shows("shift+tab", PATIENCE)
        yield terminal


def say(terminal: Tmux, words: str) -> None:
    terminal.type(words)
    terminal.shows(words, PATIENCE)
    terminal.press("Enter")


def test_an_early_claim_is_held_until_the_check_passes(desk: Desk, claude: Tmux) -> None:
    desk.api.load([claims("Done already."), Step(text=f"Now it is.\n{CLAIM}", delay=3.0), claims("Truly.")])
    say(claude, '/until-done "make ok.txt" --check "test -f ok.txt"')
    until(lambda: desk.happened("prompt_reinjected"), "the first stop to be held")
    claude.shows("The check `test -f ok.txt` failed", PATIENCE)
    (desk.workspace / "ok.txt").touch()
    claude.shows("every gate agrees", PATIENCE)
    assert [event["event"] for event in desk.journal()].count("task_complete") == 1
    assert desk.command("show", "last", "--json").events[0]["outcome"] == "verified"


def test_a_loop_is_cancelled_where_it_was_begun(desk: Desk, claude: Tmux) -> None:
    desk.api.load(
        [
            Step(text="Hello to you.", match="greet me now", repeat="forever"),
            Step(text="Working.", delay=1.0, repeat="forever"),
        ]
    )
    say(claude, '/until-done "work for ever" --max-iterations none --promise ""')
    until(lambda: len(desk.happened("prompt_reinjected")) >= 2, "the session to be held")
    claude.press("Escape")
    claude.hides("esc to interrupt", PATIENCE)
    claude.settles(patience=PATIENCE)
    claude.press("C-u")
    say(claude, "/until-done-cancel")
    claude.shows("is stopped", PATIENCE)
    claude.press("C-u")
    stops = len(desk.happened("stop_hook_trigger"))
    say(claude, "greet me now")
    claude.shows("Hello to you.", PATIENCE)
    assert desk.command("show", "last", "--json").events[0]["outcome"] == "stopped"
    assert len(desk.happened("stop_hook_trigger")) == stops, "from then on it stops freely"
