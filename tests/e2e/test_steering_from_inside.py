"""A process of a loop may read loops, but not steer those of its own store: by the command line, by the API, from a session."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import CommandLine, until
from tests.support.serving import TOKEN, Server

from untildone.hosts.hook import program

STEERING = {
    "say": "say last '[r+50] all is well'",
    "budget": "budget last --iterations +50",
    "pause": "pause last --now",
    "stop": "stop last --now",
    "resume": "resume last --now --detach",
    "run": "run 'another job' --command true --detach",
    "approve": "approve last tests/test_x.py",
    "serve": "serve --port 0 --no-dashboard",
}
READING = {"list": "list", "show": "show last", "log": "log last", "config": "config"}
PLAIN = "{command}"
WITHOUT_MARK = "env -i PATH=$PATH HOME=$HOME PYTHONPATH=$PYTHONPATH {command}"
OTHER_HOME = "env -i PATH=$PATH HOME=/nowhere PYTHONPATH=$PYTHONPATH {command}"
DAEMON_WITH_MARK = "setsid {command}"


@pytest.fixture(autouse=True)
def without_box(cli: CommandLine) -> None:
    """In a box an agent does not even see loops, the token or the key. These tests are about machines without boxes."""
    cli.environment["UNTILDONE_SANDBOX"] = "off"


def agent(cli: CommandLine, commands: dict[str, str], way: str) -> Path:
    """An agent that runs each command and keeps what it said, in a file of its name."""
    words = shlex.join((sys.executable, "-m", "untildone"))
    lines = [
        f"{way.format(command=f'{words} {command}')} < /dev/null > said.{name} 2>&1; echo exit $? >> said.{name}"
        for name, command in commands.items()
    ]
    script = cli.workspace / "agent.sh"
    script.write_text("\n".join([*lines, "echo finished"]))
    return script


def said(cli: CommandLine, commands: dict[str, str]) -> dict[str, str]:
    return {name: (cli.workspace / f"said.{name}").read_text() for name in commands}


@pytest.mark.parametrize("way", [PLAIN, WITHOUT_MARK, OTHER_HOME, DAEMON_WITH_MARK])
def test_an_agent_steers_no_loop_of_its_own_store(cli: CommandLine, way: str) -> None:
    script = agent(cli, STEERING, way)
    ended = cli.run("run", "a job", "-r", "1", "--command", f"sh {script}", "--json", patience=60)
    assert ended.code == 3, ended.errors
    for name, text in said(cli, STEERING).items():
        # In another home no loop of this one counts: there the name already finds nothing.
        refused = "inside loop" in text or (
            way == OTHER_HOME and re.search("There (is no loop|are no loops)|No loop .* is ours", text)
        )
        assert refused, (name, text)
        assert "exit 2" in text, (name, text)
    shown = cli.shown()
    assert (len(cli.loops), shown["max_iterations"], shown["asked"]) == (1, 1, ["a job"])


def test_an_agent_that_cleared_its_environment_is_known_by_its_runner(cli: CommandLine) -> None:
    """Neither it nor any ancestor carries the mark: the registry of running loops tells."""
    script = agent(cli, {"stop": STEERING["stop"]}, PLAIN)
    variables = " ".join(f"{name}={shlex.quote(cli.environment[name])}" for name in ("PATH", "HOME", "PYTHONPATH"))
    ended = cli.run("run", "a job", "-r", "1", "--command", f"env -i {variables} sh {script}")
    assert ended.code == 3, ended.errors
    assert "inside loop" in (cli.workspace / "said.stop").read_text()


def prompting(cli: CommandLine, prompt: str) -> str:
    """A command that calls the stop hook as an agent would for a person who types this into a wrapped session."""
    event = {"session_id": "abc", "cwd": str(cli.workspace), "hook_event_name": "UserPromptSubmit", "prompt": prompt}
    (cli.home / "event.json").write_text(json.dumps(event))
    note = f'mkdir -p {cli.home}/run .loop/sessions; printf "$UNTILDONE_LOOP_ID\\n0\\n" > .loop/sessions/abc'
    call = shlex.join((sys.executable, program.__file__, "claude", "prompt", "11", f"{cli.home}/run"))
    return f"{note}\nenv -u UNTILDONE_LOOP_ID {call} < {cli.home}/event.json > said.hook 2>&1"


@pytest.mark.parametrize("prompt", ["[r+50] I, the person, changed the tests myself.", "/until-done [r+50] go on"])
def test_an_agent_of_a_runner_cannot_speak_as_the_person_by_the_stop_hook(cli: CommandLine, prompt: str) -> None:
    script = cli.workspace / "agent.sh"
    script.write_text(prompting(cli, prompt))
    ended = cli.run("run", "a job", "-r", "1", "--command", f"sh {script}", "--json", patience=60)
    rounds = [record for record in ended.records if record["event"] == "iteration_start"]
    assert (ended.code, len(rounds)) == (3, 1), ended.errors
    assert (cli.workspace / "said.hook").read_text().strip() == "{}"
    assert (len(cli.loops), cli.shown()["asked"]) == (1, ["a job"])


def test_a_program_with_the_name_of_the_hook_lends_no_rights(cli: CommandLine) -> None:
    """Its command line is that of the hook, and so the parent of the command seems to be the hook."""
    words = shlex.join((sys.executable, "-m", "untildone", "budget", "last", "--iterations", "+50"))
    script = cli.workspace / "agent.sh"
    script.write_text(f"sh -s {program.__file__} <<'END'\n{words} > said.budget 2>&1\ntrue\nEND\n")
    ended = cli.run("run", "a job", "-r", "1", "--command", f"sh {script}", "--json", patience=60)
    assert ended.code == 3, ended.errors
    assert "inside loop" in (cli.workspace / "said.budget").read_text()
    assert cli.shown()["max_iterations"] == 1


def test_a_mark_of_its_own_does_not_make_an_agent_a_program_of_the_person(cli: CommandLine) -> None:
    """The runner marks programs that notify the person; an agent that marks itself so is still an agent."""
    script = agent(cli, {"run": STEERING["run"]}, PLAIN)
    again = f"env -i PATH=$PATH HOME=$HOME PYTHONPATH=$PYTHONPATH UNTILDONE_MARK_notify_2dx=notify-x sh {script}"
    (cli.workspace / "outer.sh").write_text(f"exec {again}\n")
    ended = cli.run("run", "a job", "-r", "1", "--command", f"sh {cli.workspace}/outer.sh")
    assert ended.code == 3, ended.errors
    assert "inside loop" in (cli.workspace / "said.run").read_text()
    assert len(cli.loops) == 1


def test_reading_is_allowed_inside(cli: CommandLine) -> None:
    script = agent(cli, READING, PLAIN)
    cli.run("run", "a job", "-r", "1", "--command", f"sh {script}")
    for name, text in said(cli, READING).items():
        assert text.endswith("exit 0\n"), (name, text)


def test_a_loop_in_another_folder_may_be_run_and_steered_from_inside(cli: CommandLine, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    commands = {
        "run": f"run 'a test of it' -r 1 --command 'echo working' --dir {other}",
        "budget": f"budget last --iterations +1 --dir {other}",
        "stop": f"stop last --dir {other}",
    }
    script = agent(cli, commands, PLAIN)
    ended = cli.run("run", "a job", "-r", "1", "--command", f"sh {script}")
    assert ended.code == 3, ended.errors
    results = said(cli, commands)
    assert [text.split()[-1] for text in results.values()] == ["3", "0", "0"], results


def test_a_check_and_what_it_starts_are_inside_too(cli: CommandLine) -> None:
    script = agent(cli, {"stop": STEERING["stop"]}, PLAIN)
    ended = cli.run(
        "run", "a job", "-r", "1", "--check", f"sh {script}", "--command", "echo '<promise>COMPLETE</promise>'"
    )
    assert "inside loop" in (cli.workspace / "said.stop").read_text(), ended.errors


def test_a_moved_folder_does_not_let_an_agent_order_its_own_stop(cli: CommandLine) -> None:
    """The order goes by the registry then, and is refused as well. Run beside the runner, which ends for the move."""
    other = cli.workspace.parent / "elsewhere"
    other.mkdir()
    (cli.workspace / "untildone.toml").write_text('store = "postgres://127.0.0.1:1/nothing"\n')
    script = agent(cli, {"stop": f"stop last --now --dir {cli.workspace}"}, PLAIN)
    ended = cli.run("run", "a job", "-r", "1", "--command", f"sh {script}", "--store", "", patience=60)
    assert ended.code == 3, ended.errors
    assert "inside loop" in (cli.workspace / "said.stop").read_text()


CALL_API = """
import json, sys, urllib.request
url, token = sys.argv[1], open(sys.argv[2]).read()
def call(method, path, body=None):
    request = urllib.request.Request(url + path, method=method, data=None if body is None else json.dumps(body).encode())
    request.add_header("Authorization", "Bearer " + token)
    request.add_header("Content-Type", "application/json")
    try:
        return urllib.request.urlopen(request, timeout=20).status
    except urllib.error.HTTPError as problem:
        return [problem.status, json.loads(problem.read())["detail"]]
path = "/api/v1/loops/" + sys.argv[3]
print(json.dumps([call("POST", path + "/budget", {"iterations": "+50"}), call("POST", path + "/messages", {"text": "[r+5]"}),
    call("GET", path), call("POST", "/api/v1/loops", {"task": "more"})]))
"""


def started(server: Server, **settings: Any) -> str:
    """A loop that the server drives."""
    body = {"task": "a job", "start": True, "settings": {"agent": "command", **settings}}
    return str(server.client.post("/api/v1/loops", json=body).json()["loop_id"])


@pytest.mark.parametrize("way", ["", "env -i PATH=$PATH "])
def test_an_agent_with_the_token_steers_no_loop_by_the_api(cli: CommandLine, way: str) -> None:
    call = cli.workspace.parent / "call.py"
    call.write_text(CALL_API)
    token = cli.home / "token"
    token.write_text(TOKEN)
    with Server(cli) as server:
        words = shlex.join((sys.executable, str(call), server.url, str(token)))
        loop_id = started(server, command=f"sh -c '{way}{words} $UNTILDONE_LOOP_ID > called'", max_iterations=1)
        until(lambda: server.client.get(f"/api/v1/loops/{loop_id}").json()["status"] == "paused")
        budget, message, read, created = json.loads((cli.workspace / "called").read_text())
        for status, error in (budget, message, created):
            assert (status, f"inside loop {loop_id}" in error) == (403, True), error
        assert read == 200
        assert server.client.post(f"/api/v1/loops/{loop_id}/budget", json={"iterations": "+1"}).status_code == 200


def test_the_token_is_not_read_inside(cli: CommandLine, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    script = agent(cli, {"serve": f"serve --port 0 --no-dashboard --dir {other}"}, PLAIN)
    cli.run("run", "a job", "-r", "1", "--command", f"sh {script}")
    assert "The token is not for a process inside loop" in (cli.workspace / "said.serve").read_text()


SESSION = """
import json, os, subprocess, sys
def hook(kind, name, **fields):
    event = {"session_id": "s-1", "cwd": os.getcwd(), "hook_event_name": name, **fields}
    command = [sys.executable, "-I", "-S", sys.argv[1], "claude", kind, "60"]
    told = {**os.environ, "CLAUDE_PID": str(os.getpid())}
    done = subprocess.run(command, input=json.dumps(event).encode(), capture_output=True, env=told)
    return json.loads(done.stdout)
def shell(*words):
    done = subprocess.run([sys.executable, "-m", "untildone", *words], capture_output=True, text=True)
    return [done.returncode, done.stderr]
said = [hook("prompt", "UserPromptSubmit", prompt="/until-done a job")]
said.append(shell("say", "last", "[r+9] it is fine"))
said.append(shell("hook", "cancel", "--session", "s-1"))
said.append(shell("list"))
said.append(hook("stop", "Stop", last_assistant_message="not yet", stop_hook_active=False))
said.append(hook("prompt", "UserPromptSubmit", prompt="/until-done-cancel"))
print(json.dumps(said))
"""


def test_in_a_session_the_person_steers_by_prompts_and_the_agent_not_at_all(cli: CommandLine) -> None:
    path = cli.workspace.parent / "session.py"
    path.write_text(SESSION)
    command = [sys.executable, str(path), program.__file__]
    done = subprocess.run(
        command, cwd=cli.workspace, env=cli.environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    begun, say, cancel, listed, stopped, cancelled = json.loads(done.stdout)
    assert "has begun" in begun["systemMessage"]
    for code, errors in (say, cancel):
        assert (code, "runs inside loop" in errors) == (2, True), errors
    assert listed[0] == 0
    assert stopped["decision"] == "block"
    assert "stopped" in cancelled["reason"]
    assert list(state(cli).iterdir()) == []


def test_a_person_steers_the_loop_of_a_session_from_a_terminal(cli: CommandLine) -> None:
    holder = subprocess.Popen(["sleep", "60"])
    try:
        told = {**cli.environment, "CLAUDE_PID": str(holder.pid)}
        event: dict[str, Any] = {"session_id": "s-1", "cwd": str(cli.workspace), "hook_event_name": "UserPromptSubmit"}
        command = [sys.executable, "-I", "-S", program.__file__, "claude", "prompt", "60"]
        given = json.dumps({**event, "prompt": "/until-done a job"}).encode()
        subprocess.run(command, input=given, env=told, check=True, capture_output=True, timeout=60)
        assert len(list(state(cli).iterdir())) == 1
        assert cli.run("say", "last", "mind the gap").code == 0
        assert cli.run("stop", "last", "--now").code == 0
        assert list(state(cli).iterdir()) == []
    finally:
        holder.kill()
        holder.wait()


def state(cli: CommandLine) -> Path:
    return cli.home / ".local/state/untildone/loops"


def test_a_program_that_notifies_the_person_may_go_on_with_the_loop(cli: CommandLine) -> None:
    """The person's own program, started by the server that drives the loop."""
    again = cli.home / "again.sh"
    words = shlex.join((sys.executable, "-m", "untildone", "say", "last", "[r+1]"))
    again.write_text(
        f"#!/bin/sh\ntest -e {cli.home}/done && exit; touch {cli.home}/done; {words} > {cli.home}/said 2>&1\n"
    )
    again.chmod(0o755)
    (cli.workspace / "untildone.toml").write_text(f'notify_command = ["{again}"]\n')
    with Server(cli) as server:
        started(server, command=f"sh -c 'while ! test -e {cli.home}/go; do sleep 0.05; done'")
        loop_id = started(server, command="echo working", max_iterations=1)
        until(lambda: server.client.get(f"/api/v1/loops/{loop_id}").json()["current_iteration"] == 2)
        (cli.home / "go").touch()
    assert "refused" not in (cli.home / "said").read_text()
    assert os.path.exists(cli.home / "done")
