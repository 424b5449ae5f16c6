"""Codex, Gemini CLI and Copilot CLI inside wrap, in a real terminal: sent back once, then let go, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.e2e.real_agents import Desk, bin_folder, open_desk, running, until
from tests.support.tmux import Tmux

from untildone.testing.modelapi import Step

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(600)]
ASKED = "What the person asked"
HELD_ELSEWHERE = "This conversation is open in another app"
"""Codex's server in the background keeps what was open without wrap; it can be gone on with in a copy."""
PATIENCE = 200.0
SHELL = """stty -g > ../before; "$@"; echo "it ended with $?"; stty -g > ../after; exec cat"""


@dataclass(frozen=True, slots=True)
class Manners:
    """How one talks to an agent at its terminal."""

    ready: str
    trusts: Callable[[Desk], None]
    goes_on: tuple[str, ...]
    """What goes on with the last session."""


def trust_for_codex(desk: Desk) -> None:
    config = desk.home / ".codex" / "config.toml"
    trusted = f'\n[projects.{json.dumps(str(desk.workspace.resolve()))}]\ntrust_level = "trusted"\n'
    config.write_text(config.read_text() + trusted)


def trust_for_copilot(desk: Desk) -> None:
    trusted = {"trustedFolders": [str(desk.workspace.resolve())]}
    (desk.home / ".copilot" / "config.json").write_text(json.dumps(trusted))


MANNERS = {
    "codex": Manners("Ask Codex to do anything", trust_for_codex, ("resume", "--last")),
    "gemini": Manners("Type your message", lambda _desk: None, ("--resume", "latest")),
    "copilot": Manners("? help", trust_for_copilot, ("--continue",)),
}
agents = pytest.mark.parametrize("agent", MANNERS)


@contextmanager
def desk_for(agent: str, folder: Path) -> Iterator[Desk]:
    with open_desk(agent, folder) as desk, tempfile.TemporaryDirectory(dir=bin_folder(agent).parents[3]) as cache:
        MANNERS[agent].trusts(desk)
        (desk.workspace / "SUPERVISOR.md").write_text("Look closely.\n")
        # Gemini CLI takes no settings from below a folder that others may write to, as that of the tests is.
        try:
            yield replace(desk, env={**desk.env, "XDG_CACHE_HOME": cache})
        finally:
            # Codex leaves a server of its own in the background.
            for pid in running(f"{desk.home}/.codex"):
                # Or it is ending by itself just now.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def wrapped(desk: Desk, *words: str) -> Tmux:
    wrap = (sys.executable, "-m", "untildone", "wrap", desk.agent, *words)
    return Tmux(["/bin/sh", "-c", SHELL, "sh", *wrap], desk.workspace, desk.env, columns=160)


def open_session(desk: Desk, terminal: Tmux) -> None:
    ready = MANNERS[desk.agent].ready
    until(lambda: any(words in terminal.pane for words in (ready, HELD_ELSEWHERE)), ready, PATIENCE)
    if HELD_ELSEWHERE in terminal.settles(patience=PATIENCE):
        terminal.press("f")
    terminal.shows(ready, PATIENCE)
    terminal.settles(patience=PATIENCE)


def say(terminal: Tmux, words: str) -> None:
    terminal.type(words)
    terminal.shows(words, PATIENCE)
    terminal.settles(patience=PATIENCE)
    terminal.press("Enter")


def agreed(desk: Desk) -> bool:
    return any(result["passed"] for entry in desk.happened("gates_ran") for result in entry["results"])


def leave(desk: Desk, terminal: Tmux) -> None:
    """Ctrl-C ends Codex at once; the others want it twice, and take back what they say of that after a second or so."""
    terminal.settles(patience=PATIENCE)
    if desk.agent == "codex":
        terminal.press("C-c")
        return
    deadline = time.monotonic() + PATIENCE
    while not _has_left(terminal):
        assert time.monotonic() < deadline, terminal.pane
        terminal.press("C-c")
        if _within(1.5, lambda: "again to" in terminal.pane or _has_left(terminal)) and not _has_left(terminal):
            terminal.press("C-c")
            _within(10.0, lambda: _has_left(terminal))


def _within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return held


def _has_left(terminal: Tmux) -> bool:
    return terminal.query("#{pane_dead}") == "1" or "it ended with" in terminal.everything


def looks(desk: Desk) -> list[str]:
    """What the supervisor was told that the person asked."""
    told = [turn.user_text.rpartition(ASKED)[2] for turn in desk.api.turns if ASKED in turn.user_text]
    return [re.split("The agent's last message|Nothing changed in|What changed in", text)[0] for text in told]


@agents
def test_it_is_sent_back_then_let_go(agent: str, tmp_path: Path) -> None:
    with desk_for(agent, tmp_path) as desk:
        desk.api.load(
            [
                Step(text="Add a test, please.", match=ASKED),
                Step(text="[TASK_COMPLETED {word}]", match=ASKED, repeat="forever"),
                Step(text="I think that is all."),
                Step(text="A test was added.", repeat="forever"),
            ]
        )
        with wrapped(desk) as terminal:
            open_session(desk, terminal)
            say(terminal, "make a parser")
            terminal.shows("Add a test, please.", PATIENCE)
            terminal.shows("A test was added.", PATIENCE)
            until(lambda: agreed(desk), "the supervisor to agree", PATIENCE)
            leave(desk, terminal)
            terminal.shows("it ended with 0", PATIENCE)
            assert "every gate agrees" in terminal.everything
            until((tmp_path / "after").exists, "the shell", PATIENCE)
            assert terminal.query("#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_flag}") == "0 1 0 0"
        assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()
        shown = desk.command("show", "last", "--json").events[0]
        assert (shown["outcome"], shown["current_iteration"], shown["asked"]) == ("verified", 2, ["make a parser"])
        assert [text.strip(": \n") for text in looks(desk)] == ["make a parser", "make a parser"]
        assert not list(desk.home.glob("tmp/untildone-wrap-*"))


@agents
def test_what_was_asked_before_it_was_wrapped_is_looked_at_too(agent: str, tmp_path: Path) -> None:
    with desk_for(agent, tmp_path) as desk:
        desk.api.load(
            [
                Step(text="[TASK_COMPLETED {word}]", match=ASKED, repeat="forever"),
                Step(text="The work goes on.", repeat="forever"),
            ]
        )
        with Tmux([agent], desk.workspace, desk.env, columns=160) as alone:
            open_session(desk, alone)
            say(alone, "make a parser")
            alone.shows("The work goes on.", PATIENCE)
            leave(desk, alone)
            until(lambda: alone.query("#{pane_dead}") == "1", "its end", PATIENCE)
        with wrapped(desk, *MANNERS[agent].goes_on) as terminal:
            open_session(desk, terminal)
            say(terminal, "go on then")
            until(lambda: agreed(desk), "the supervisor to agree", PATIENCE)
            leave(desk, terminal)
            terminal.shows("it ended with 0", PATIENCE)
        (told,) = looks(desk)
        heard, recorded, before = told.strip(": \n").split("\n\n")
        assert (heard, before) == ("go on then", "make a parser")
        assert recorded.startswith("In the agent's own record of its session")
