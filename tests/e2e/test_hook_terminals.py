"""The stop hook at the real terminals of Codex and Copilot: what the installer says to type is accepted, and holds the agent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.e2e.real_agents import CLAIM, Desk, claims, until
from tests.e2e.test_wrap_others import desk_for, open_session
from tests.support.tmux import Tmux

from untildone.testing.modelapi import Step

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(400)]
PATIENCE = 200.0


def begin(desk: Desk, terminal: Tmux, word: str) -> None:
    if desk.agent == "codex":
        trust_hooks(terminal)
    open_session(desk, terminal)
    terminal.type(f'{word} "make ok.txt" --check "test -f ok.txt"')
    terminal.shows('"make ok.txt"', PATIENCE)
    terminal.settles(patience=PATIENCE)
    terminal.press("Enter")
    until(lambda: desk.happened("prompt_reinjected"), "the first stop to be held")


def trust_hooks(terminal: Tmux) -> None:
    """Codex asks once whether it may run hooks of its settings."""
    terminal.shows("Hooks need review", PATIENCE)
    terminal.press_until("Down", lambda pane: "› 2. Trust all and continue" in pane, PATIENCE)
    terminal.press_until("Enter", lambda pane: "Hooks need review" not in pane, PATIENCE)


def installed(desk: Desk) -> str:
    """Install the hook; return the word that the installer says to type."""
    said = desk.command("hook", "install", "--agent", desk.agent)
    assert said.code == 0, said.errors
    (word,) = re.findall(rf"In {desk.agent}: (\S+) ", said.errors)
    return str(word)


def opened(desk: Desk) -> Tmux:
    env = {name: value for name, value in desk.env.items() if name != "PYTHONPATH"}
    return Tmux([desk.agent], desk.workspace, env, columns=160)


@pytest.mark.parametrize("agent", ["codex", "copilot"])
def test_what_the_installer_says_to_type_begins_a_loop(agent: str, tmp_path: Path) -> None:
    with desk_for(agent, tmp_path) as desk:
        word = installed(desk)
        desk.api.load([claims("Done already."), Step(text=f"Now it is.\n{CLAIM}", delay=5.0), claims("Truly.")])
        with opened(desk) as terminal:
            begin(desk, terminal, word)
            (desk.workspace / "ok.txt").touch()
            until(lambda: desk.happened("task_complete"), "the second claim to be believed")
        assert desk.command("show", "last", "--json").events[0]["outcome"] == "verified"


def test_a_loop_begun_in_codexs_terminal_is_taken_over(tmp_path: Path) -> None:
    """Its server in the background keeps the conversation, so the loop goes on in a fork of it."""
    with desk_for("codex", tmp_path) as desk:
        word = installed(desk)
        desk.api.load([claims("Done already."), Step(text="Working.", delay=60.0)])
        with opened(desk) as terminal:
            begin(desk, terminal, word)
        assert desk.command("pause", "--now", "last").code == 0
        (desk.workspace / "ok.txt").touch()
        desk.api.load([Step(text=f"Now it is.\n{CLAIM}", repeat="forever")])
        resumed = desk.command("resume", "last", "--json")
        assert resumed.end["outcome"] == "verified", resumed.errors
        assert "Done already." in str(desk.api.turns[-1].body), "it remembers the conversation"
