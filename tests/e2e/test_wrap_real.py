"""The real Claude Code inside wrap, in a real terminal: it looks and behaves as without it, and a supervisor decides."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.real_agents import Desk, open_desk, running, shell, trust_workspace, until
from tests.support.tmux import Tmux

from untildone.testing.modelapi import Step

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(400)]
WRAP = (sys.executable, "-m", "untildone", "wrap")
ASKED = "What the person asked"
READY = "shift+tab"
PATIENCE = 200.0


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_desk("claude", tmp_path) as desk:
        prepare(desk)
        yield desk


def prepare(desk: Desk) -> None:
    trust_workspace(desk)
    (desk.workspace / "SUPERVISOR.md").write_text("Look closely.\n")


def wrapped(desk: Desk, *words: str, columns: int = 160) -> Tmux:
    """Its exit code is shown when it has ended."""
    tells = ("/bin/sh", "-c", '"$@"; echo code $?; exec cat', "sh")
    return Tmux([*tells, *WRAP, *words], desk.workspace, desk.env, columns=columns)


def in_shell(desk: Desk) -> Tmux:
    return Tmux(["/bin/bash", "--norc"], desk.workspace, {**desk.env, "PS1": "shell> "}, columns=160)


def say(terminal: Tmux, words: str) -> None:
    terminal.type(words)
    terminal.shows(words, PATIENCE)
    terminal.press("Enter")


def agrees(**more: object) -> Step:
    return Step(text="[TASK_COMPLETED {word}]", match=ASKED, repeat="forever")


def look(desk: Desk, pane: str) -> list[str]:
    """What is seen, without what differs by nature: the folder, hints that come and go, how long it took, what untildone says."""
    pane = pane.replace(str(desk.folder), "FOLDER").replace(" · ← for agents", "")
    lines = [line.rstrip() for line in pane.splitlines()]
    return [line for line in lines if line and not re.search("untildone|/effort|✻", line)]


def test_it_looks_the_same_with_and_without(tmp_path: Path) -> None:
    with ExitStack() as stack:
        desks = [stack.enter_context(open_desk("claude", _made(tmp_path / name))) for name in ("a", "b")]
        for desk in desks:
            prepare(desk)
            desk.api.load(
                [agrees(), Step(text="Here is **bold**, `code` and a list:\n\n- one\n- two", repeat="forever")]
            )
        bare = stack.enter_context(Tmux(["claude"], desks[0].workspace, desks[0].env, columns=160))
        inside = stack.enter_context(wrapped(desks[1], "claude"))

        def same(words: str) -> None:
            for terminal in (bare, inside):
                terminal.shows(words, PATIENCE)
            until(lambda: look(desks[0], bare.styled_pane) == look(desks[1], inside.styled_pane), words, PATIENCE)

        def both(*keys: str, text: str = "") -> None:
            for terminal in (bare, inside):
                terminal.type(text) if text else terminal.press(*keys)
                terminal.settles(patience=PATIENCE)

        same(READY)
        both(text="what is in that file?")
        same("what is in that file?")
        for terminal in (bare, inside):
            terminal.resize(120, 30)
            terminal.settles(patience=PATIENCE)
        same("what is in that file?")
        both("Enter")
        inside.shows("every gate agrees", PATIENCE)
        for terminal in (bare, inside):
            terminal.shows("✻", PATIENCE)
            terminal.hides("esc to interrupt", PATIENCE)
        assert look(desks[0], bare.settles()) == look(desks[1], inside.settles())
        known = "#{pane_title} #{alternate_on} #{mouse_any_flag} #{cursor_flag}"
        assert bare.query(known) == inside.query(known)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_the_supervisor_sends_it_back_then_agrees_then_the_person_asks_on(desk: Desk) -> None:
    desk.api.load(
        [
            Step(text="Add a test, please.", match=ASKED, delay=3.0),
            agrees(),
            Step(text="I think that is all."),
            Step(text="A test was added."),
            Step(text="The docs are written.", repeat="forever"),
        ]
    )
    with wrapped(desk, "-r", "9") as terminal:
        terminal.shows(READY, PATIENCE)
        say(terminal, "make a parser")
        terminal.shows("untildone: the supervisor reviews", PATIENCE)
        terminal.shows("Add a test, please.", PATIENCE)
        terminal.shows("A test was added.", PATIENCE)
        terminal.shows("2 rounds)", PATIENCE)
        say(terminal, "now the docs")
        terminal.shows("The docs are written.", PATIENCE)
        terminal.shows("3 rounds)", PATIENCE)
        say(terminal, "/exit")
        terminal.shows("code 0", PATIENCE)
    shown = desk.command("show", "last", "--json").events[0]
    assert (shown["outcome"], shown["current_iteration"]) == ("verified", 3), desk.journal()
    assert shown["asked"] == ["make a parser", "now the docs"]
    looks = [entry for entry in desk.journal() if entry["event"] == "consultation_start"]
    assert [entry["session"] for entry in looks] == ["fork", "fork", "fork"]
    assert all("Add a test" not in entry["prompt"] for entry in looks), "feedback is nothing that the person asked"
    worker = [turn for turn in desk.api.turns if ASKED not in turn.user_text]
    assert "Stop hook feedback" in json.dumps(worker[1].body)
    assert "Look closely." not in json.dumps(worker[-1].body), "the supervisor worked in a copy"
    assert not list(desk.home.glob("tmp/untildone-wrap-*"))
    assert sorted(path.name for path in desk.workspace.iterdir()) == [".loop", "SUPERVISOR.md"]


def test_what_was_asked_before_it_was_wrapped_is_looked_at_too(desk: Desk) -> None:
    desk.api.load(
        [
            Step(text="Broken lines are not covered.", match=ASKED),
            agrees(),
            Step(tools=(shell("claude", "echo the parser"),)),
            Step(text="The work goes on.", repeat="forever"),
        ]
    )
    with Tmux(["claude"], desk.workspace, desk.env, columns=160) as alone:
        alone.shows(READY, PATIENCE)
        say(alone, "make a parser")
        alone.shows("The work goes on.", PATIENCE)
        say(alone, "/exit")
        until(lambda: alone.query("#{pane_dead}") == "1", "its end")
    with wrapped(desk, "claude", "--continue") as terminal:
        terminal.shows("The work goes on.", PATIENCE)
        say(terminal, "go on")
        terminal.shows("Broken lines are not covered.", PATIENCE)
        terminal.shows("2 rounds)", PATIENCE)
        say(terminal, "/exit")
        terminal.shows("code 0", PATIENCE)
    looks = [turn.user_text for turn in desk.api.turns if ASKED in turn.user_text]
    assert len(looks) == 2
    for look in looks:
        told = look.partition(ASKED)[2]
        assert (told.count("make a parser"), told.count("go on"), "Broken" in told) == (1, 1, False), look
    shown = desk.command("show", "last", "--json").events[0]
    assert (shown["asked"], shown["asked_in_session"]) == (["go on"], ["make a parser", "go on"])


def test_it_is_sent_back_more_often_than_claude_allows_by_itself(desk: Desk) -> None:
    desk.api.load([Step(text=f"Not done, {number}.") for number in range(20)])
    with wrapped(desk, "-r", "12", "--no-review", "--check", "echo once more >> tries; test -f ok.txt") as terminal:
        terminal.shows(READY, PATIENCE)
        say(terminal, "make ok.txt")
        until(lambda: len(desk.happened("prompt_reinjected")) >= 10, "the tenth time")
        (desk.workspace / "ok.txt").touch()
        terminal.shows("every gate agrees", PATIENCE)


def test_ctrl_z_fg_and_ctrl_c(desk: Desk) -> None:
    desk.api.load([agrees(), Step(text="A long answer.", delay=60.0), Step(text="Hello again.", repeat="forever")])
    with in_shell(desk) as terminal:
        terminal.type("stty -g > before; " + " ".join(WRAP) + " claude")
        terminal.press("Enter")
        terminal.shows(READY, PATIENCE)
        terminal.press("C-z")
        terminal.shows("Stopped", PATIENCE)
        terminal.type("stty -g | diff before - && echo as $((6 * 7)) before")
        terminal.press("Enter")
        terminal.shows("as 42 before", PATIENCE)
        terminal.resize(130, 35)
        terminal.type("fg")
        terminal.press("Enter")
        terminal.shows(READY, PATIENCE)
        say(terminal, "take your time")
        until(lambda: desk.api.turns, "it to ask the model")
        terminal.press("C-c")
        terminal.hides("esc to interrupt", PATIENCE)
        terminal.settles(patience=PATIENCE)
        terminal.press("C-u")
        terminal.hides("take your time", PATIENCE)
        say(terminal, "hello there")
        terminal.shows("Hello again.", PATIENCE)
        terminal.shows("every gate agrees", PATIENCE)
        terminal.press("C-c")
        terminal.shows("again to exit", PATIENCE)
        terminal.press("C-c")
        terminal.shows("Resume this session", PATIENCE)
        until(lambda: terminal.pane.rstrip().endswith("shell>"), "the shell")
        terminal.type("echo code $?; stty -g | diff before - && echo still $((6 * 7))")
        terminal.press("Enter")
        terminal.shows("code 0", PATIENCE)
        terminal.shows("still 42", PATIENCE)
    shown = desk.command("show", "last", "--json").events[0]
    assert shown["asked"] == ["take your time", "hello there"]


def test_a_paste_of_100_kilobytes_arrives_whole(desk: Desk) -> None:
    pasted = "\n".join(f"line {number:05d} of what is pasted here, word for word" for number in range(2100))
    assert len(pasted) > 100_000
    desk.api.load([agrees(), Step(text="Read.", repeat="forever")])
    with wrapped(desk) as terminal:
        terminal.shows(READY, PATIENCE)
        terminal.paste(pasted)
        terminal.shows("Pasted text", PATIENCE)
        terminal.press("Enter")
        terminal.shows("every gate agrees", PATIENCE)
    assert any(pasted in turn.user_text for turn in desk.api.turns)
    assert desk.journal()[0]["task"] == pasted


def name_of(pid: int) -> str:
    """Of a process; empty if it has just ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def test_the_terminal_is_well_again_after_claude_is_killed(desk: Desk) -> None:
    desk.api.load([agrees(), Step(text="Hi.", repeat="forever")])
    with in_shell(desk) as terminal:
        terminal.type("stty -a > before; " + " ".join(WRAP) + " claude; echo code $?; stty -a > after")
        terminal.press("Enter")
        terminal.shows(READY, PATIENCE)
        (pid,) = [pid for pid in running(str(desk.home)) if "claude" in name_of(pid)]
        os.kill(pid, signal.SIGKILL)
        terminal.shows("code 137", PATIENCE)
        until((desk.workspace / "after").exists, "the shell")
        flags = "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_flag}"
        assert terminal.query(flags) == "0 1 0 0"
        terminal.type("echo alive")
        terminal.press("Enter")
        terminal.shows("alive", PATIENCE)
    until(lambda: (desk.workspace / "after").read_text() == (desk.workspace / "before").read_text(), "stty")
