"""The stop hook in the real agent programs, against a scripted model API: the loop inside a person's own session."""

from __future__ import annotations

import html
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.real_agents import CLAIM, ROOT, Desk, claims, open_desk, trust_workspace, until, writes
from tests.support.terminal import Terminal

from untildone.testing.modelapi import Step

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(180)]
Json = dict[str, Any]


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[Desk]:
    with open_desk("claude", tmp_path) as desk:
        installed = desk.command("hook", "install")
        assert installed.code == 0, installed.errors
        yield desk


def begin(desk: Desk, prompt: str, *flags: str) -> subprocess.Popen[str]:
    """The agent itself, as a person starts it, without untildone's own variables."""
    command = {
        "claude": ("claude", "-p", prompt, "--permission-mode", "acceptEdits"),
        "codex": (
            "codex",
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-hook-trust",
            "-s",
            "danger-full-access",
            prompt,
        ),
        "gemini": ("gemini", "--yolo", "-p", prompt),
        "copilot": ("copilot", "--allow-all-tools", "-p", prompt),
    }[desk.agent]
    env = {name: value for name, value in desk.env.items() if name != "PYTHONPATH"}
    return subprocess.Popen(
        [*command, *flags],
        cwd=desk.workspace,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(desk: Desk, prompt: str, *flags: str) -> str:
    process = begin(desk, prompt, *flags)
    try:
        output, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, f"{output}\n{errors}"
    return output


def loops(desk: Desk) -> list[Json]:
    ended = subprocess.run(
        [sys.executable, "-m", "untildone", "list", "--json", "--all"],
        cwd=desk.workspace,
        env=dict(desk.env),
        capture_output=True,
        text=True,
        timeout=60,
    )
    return [json.loads(line) for line in ended.stdout.splitlines()]


def early_claim_then_work(desk: Desk) -> None:
    """It says at once that it is done; sent back, it does the work; then it says so again."""
    work = Step(tools=(writes(desk.agent, desk.workspace / "ok.txt", "there"),))
    desk.api.load([claims("Done already."), work, claims("Now it is there.")])


def assert_held_until_verified(desk: Desk) -> None:
    (loop,) = loops(desk)
    assert (loop["outcome"], loop["current_iteration"]) == ("verified", 2), desk.journal()
    names = [entry["event"] for entry in desk.journal()]
    assert names.count("stop_hook_trigger") == 2
    assert names.count("prompt_reinjected") == 1
    assert names[-1] == "task_complete" or "task_complete" in names


def test_claude_is_held_until_the_check_passes(claude: Desk) -> None:
    early_claim_then_work(claude)
    run(claude, '/until-done "make ok.txt" --check "test -f ok.txt" --max-iterations 5')
    assert_held_until_verified(claude)
    first, second = claude.api.turns[0], claude.api.turns[1]
    assert CLAIM in json.dumps(first.body), "it is told how to claim"
    assert "The check `test -f ok.txt` failed" in json.dumps(second.body)


def test_claude_is_sent_back_thirty_times_in_a_row(claude: Desk) -> None:
    claude.api.load([Step(text=f"Not done, {number}.") for number in range(40)])
    run(claude, "/until-done go on and on --max-iterations 31")
    (loop,) = loops(claude)
    assert (loop["outcome"], loop["current_iteration"]) == ("budget", 31)
    assert len(claude.happened("prompt_reinjected")) == 30
    assert len(claude.api.turns) == 31


def test_a_second_session_in_the_same_folder_stops_freely(claude: Desk) -> None:
    claude.api.load(
        [Step(text="Working.", delay=0.3, repeat="forever", match="for ever"), Step(text="Hello.", repeat="forever")]
    )
    held = begin(claude, '/until-done "work for ever" --max-iterations none --promise ""')
    try:
        until(lambda: len(claude.happened("prompt_reinjected")) >= 2, "the first session to be held")
        assert run(claude, "hi").strip() == "Hello."
        assert held.poll() is None
    finally:
        claude.command("stop", "last", "--now")
        held.communicate(timeout=60)
    assert held.returncode == 0


def test_a_loop_can_be_cancelled_from_outside(claude: Desk) -> None:
    claude.api.load([Step(text="Working.", delay=0.3, repeat="forever")])
    session = str(uuid.uuid4())
    held = begin(claude, '/until-done "work for ever" --max-iterations none --promise ""', "--session-id", session)
    try:
        until(lambda: len(claude.happened("prompt_reinjected")) >= 2, "the session to be held")
        assert claude.command("hook", "cancel", "--session", session).code == 0
        held.communicate(timeout=60)
    finally:
        held.kill()
    assert held.returncode == 0
    assert loops(claude)[0]["outcome"] == "stopped"


def test_a_paused_loop_goes_on_from_a_terminal_in_the_same_conversation(claude: Desk) -> None:
    claude.api.load([Step(text="One."), Step(text="Two."), Step(text="Three."), claims("Four.")])
    run(claude, "/until-done count to four --max-iterations 2")
    assert loops(claude)[0]["outcome"] == "budget"
    ended = claude.command("resume", "last", "-r", "+3", "--json")
    assert (ended.code, ended.end["outcome"], ended.end["iterations"]) == (0, "claimed", 4), ended.errors
    assert "One." in json.dumps(claude.api.turns[-1].body), "it is the same conversation"
    assert len(claude.happened("stop_hook_trigger")) == 2, "an agent that untildone drives is not held by the hook"


def test_a_supervisor_looks_from_a_copy_of_the_session(claude: Desk) -> None:
    (claude.workspace / "SUPERVISOR.md").write_text("Look closely.\n")
    asked = "What the person asked"
    claude.api.load(
        [
            Step(text="Add a test, please.", match=asked),
            Step(text="[TASK_COMPLETED {word}]", match=asked),
            Step(text="I think that is all."),
            Step(text="A test was added."),
        ]
    )
    run(claude, "/until-done write it --mode supervise --max-iterations 5")
    (loop,) = loops(claude)
    assert (loop["outcome"], loop["current_iteration"]) == ("verified", 2), claude.journal()
    assert any("Add a test, please." in json.dumps(turn.body) for turn in claude.api.turns)
    starts = [entry for entry in claude.journal() if entry["event"] == "consultation_start"]
    assert [start["session"] for start in starts] == ["fork", "fork"]


def test_the_plugin_does_the_same(tmp_path: Path) -> None:
    with open_desk("claude", tmp_path) as desk:
        program = tmp_path / "home" / "bin" / "untildone"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m untildone "$@"\n')
        program.chmod(0o755)
        with_it = Desk(desk.agent, desk.api, desk.folder, {**desk.env, "PATH": f"{program.parent}:{desk.env['PATH']}"})
        early_claim_then_work(with_it)
        plugin = ("--plugin-dir", str(ROOT / "plugin"))
        run(with_it, '/untildone:until-done "make ok.txt" --check "test -f ok.txt"', *plugin)
        assert_held_until_verified(with_it)


def test_claude_at_a_terminal(claude: Desk) -> None:
    trust_workspace(claude)
    claude.api.load([claims("Done already."), Step(text=f"Now it is.\n{CLAIM}", delay=4.0)])
    env = {name: value for name, value in claude.env.items() if name != "PYTHONPATH"}
    program = next(Path(place) / "claude" for place in env["PATH"].split(":") if (Path(place) / "claude").exists())
    with Terminal([str(program)], claude.workspace, env) as terminal:
        terminal.shows("shift+tab", 60)
        terminal.type('/until-done "make ok.txt" --check "test -f ok.txt"')
        terminal.shows('ok.txt"', 30)
        terminal.type("\r")
        until(lambda: claude.happened("prompt_reinjected"), "the first stop to be held")
        (claude.workspace / "ok.txt").touch()
        until(lambda: [loop for loop in loops(claude) if loop["outcome"] == "verified"], "the loop to be verified")


@pytest.mark.parametrize("agent", ["codex", "gemini", "copilot"])
def test_other_agents_are_held_until_the_check_passes(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        installed = desk.command("hook", "install", "--agent", agent, *(() if agent == "gemini" else ("--user",)))
        assert installed.code == 0, installed.errors
        early_claim_then_work(desk)
        run(desk, '/until-done "make ok.txt" --check "test -f ok.txt" --max-iterations 5')
        assert_held_until_verified(desk)
        told = html.unescape(json.dumps(desk.api.turns[0].body))
        assert CLAIM in told, "it is told how to claim"


def test_uninstalling_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    with open_desk("claude", tmp_path) as desk:
        settings = desk.workspace / ".claude" / "settings.local.json"
        settings.parent.mkdir()
        settings.write_bytes(b'{"permissions":\n   {"allow": ["Bash(ls:*)"]} }\r\n')
        before = settings.read_bytes()
        assert desk.command("hook", "install").code == 0
        desk.api.load([claims("Done.")])
        run(desk, "/until-done make it")
        assert loops(desk)[0]["outcome"] == "claimed"
        assert desk.command("hook", "uninstall").code == 0
        assert settings.read_bytes() == before
        assert sorted(path.name for path in settings.parent.iterdir()) == ["settings.local.json"]
