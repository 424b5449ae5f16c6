"""covers: loops that an agent starts inside its loop: a share of the budget, nothing else reached, pauses, stops and crashes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import CommandLine, until
from tests.support.serving import Server

from untildone.core.children import Child
from untildone.core.events import ChildReserved
from untildone.core.model import Budget

HEAD = """\
import json, os, socket, subprocess, sys, time
prompt = sys.stdin.read()
notes = {notes!r}

def child(*words):
    ended = subprocess.run([sys.executable, "-P", "-m", "untildone", "child", *words], capture_output=True, text=True)
    return ended.stdout.strip() if ended.returncode == 0 else "REFUSED " + ended.stderr.strip()

def note(name, text):
    with open(os.path.join(notes, name), "a") as file:
        file.write(text + "\\n")

def raw(path, content):
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(30)
        line.connect(path)
        line.sendall(content)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(65536), b"")).decode()

def done():
    print("<promise>COMPLETE</promise>")
"""
PARENT = """
if "PIECE" in prompt:
    other = prompt.split("socket ")[1].split()[0]
    try:
        note("child", raw(other, json.dumps({"verb": "list"}).encode()))
    except OSError as problem:
        note("child", "error " + str(problem))
    note("child", child("start", "deeper"))
    open("piece.txt", "w").write("piece\\n")
    done()
    sys.exit()
path = os.environ["UNTILDONE_LOOPS"]
for content in (b"", b"{", b"[]", b"[" * 50000, b"x" * 1100000, b'{"verb": 7}', b'{"verb": "budget", "loop": "last"}',
                b'{"verb": "start", "task": 7}', b'{"verb": "start", "task": "x", "rounds": "many"}',
                b'{"verb": "start", "task": "x", "rounds": true}', b'{"verb": "start", "task": "x", "checks": [7]}',
                b'{"verb": "start", "task": "x", "children": "a"}', b'{"verb": "show", "loop": {}}',
                b'{"verb": "start", "task": "x", "children": 1e999}', b'{"verb": "start", "task": "x", "rounds": 1%s}' % (b"0" * 400),
                b'{"verb": "start", "task": "x", "children": NaN}', b'{"verb": "start", "task": "x", "checks": ["a\\u0000b"]}',
                b'{"verb": "start", "task": "\\ud800"}', b'{"verb": "start", "task": "x", "checks": ["%s"]}' % (b"x" * 20000),
                b'{"verb": "start", "task": "x", "checks": ["curl correct-horse-battery"]}',
                b'{"verb": "start", "task": "x", "cost": NaN}', b'{"verb": "start", "task": "x", "minutes": Infinity}'):
    try:
        note("hostile", raw(path, content))
    except OSError as problem:
        note("hostile", '{"error": "closed"}')
own = os.environ["UNTILDONE_LOOP_ID"]
for verb, given in (("start", {"task": "x", "rounds": 5}), ("start", {"task": "x", "rounds": 0}), ("start", {"task": "[r+9] x"}),
                    ("start", {"task": " "}), ("start", {"task": "x", "children": 2}), ("stop", {"loop": own}),
                    ("say", {"loop": own, "text": "hello"}), ("show", {"loop": "last"}), ("diff", {"loop": own})):
    note("refused", raw(path, json.dumps({"verb": verb, **given}).encode()))
started = json.loads(child("start", "PIECE with socket " + path, "--check", "test -e piece.txt", "--rounds", "2", "--json"))
name = started["loop_id"]
note("refused", raw(path, json.dumps({"verb": "say", "loop": name, "text": "[r+9] go on"}).encode()))
rested = json.loads(child("wait", name, "--seconds", "60", "--json"))
note("rested", json.dumps(rested))
subprocess.run(["git", "apply"], input=child("diff", name) + "\\n", text=True, check=True)
note("verified", child("verify", name))
done()
"""


@pytest.fixture
def project(cli: CommandLine) -> CommandLine:
    for words in (("init", "-q"), ("config", "user.email", "a@b"), ("config", "user.name", "a")):
        subprocess.run(("git", *words), cwd=cli.workspace, check=True)
    (cli.workspace / "a.txt").write_text("a\n")
    subprocess.run(("git", "add", "."), cwd=cli.workspace, check=True)
    subprocess.run(("git", "commit", "-qm", "one"), cwd=cli.workspace, check=True)
    return cli


def arguments(cli: CommandLine, body: str) -> tuple[str, ...]:
    """The arguments of `run` for an agent that is this Python program."""
    program = cli.home / "agent.py"
    program.write_text(HEAD.format(notes=str(cli.home)) + body)
    return ("--command", f"{sys.executable} {program}", "--check", "test -e piece.txt", "-r", "4", "Do it")


def tree(cli: CommandLine, loop_id: str) -> list[dict[str, Any]]:
    return cli.run("tree", loop_id, "--json").records


def parent_of(cli: CommandLine) -> str:
    return str(min(loop["loop_id"] for loop in cli.loops))


@pytest.mark.parametrize("box", ["off", "auto"])
def test_an_agent_hands_a_part_over_and_reaches_nothing_else(project: CommandLine, box: str) -> None:
    cli = project
    cli.environment["MY_API_KEY"] = "correct-horse-battery"
    ended = cli.run("run", "--sandbox", box, "--children", "2", *arguments(cli, PARENT))
    assert ended.code == 0, ended.errors + ended.output
    parent, child = tree(cli, parent_of(cli))
    assert (parent["outcome"], child["outcome"], child["parent"]) == ("verified", "verified", parent["loop_id"])
    assert child["budget"]["iterations"] == 2
    assert parent["total_spend"]["iterations"] == parent["spend"]["iterations"] + child["spend"]["iterations"]
    notes = {name: (cli.home / name).read_text().splitlines() for name in ("hostile", "refused", "child", "verified")}
    assert len(notes["refused"]) == 10
    for line in (*notes["refused"], *filter(None, notes["hostile"])):
        assert "error" in json.loads(line), line
    reached, deeper, *_ = notes["child"]
    assert "may reach its loops" in reached or reached.startswith("error"), "a child reaches no sibling and no parent"
    assert deeper.startswith("REFUSED")
    assert notes["verified"] == ["test -e piece.txt: passes"]
    assert len(cli.loops) == 2


def test_without_the_setting_an_agent_starts_no_loop(project: CommandLine) -> None:
    body = 'note("said", child("start", "x") + str("UNTILDONE_LOOPS" in os.environ))\nopen("piece.txt", "w")\ndone()\n'
    assert project.run("run", *arguments(project, body)).code == 0
    said = (project.home / "said").read_text()
    assert "works only inside of a loop whose agent may start loops" in said
    assert said.strip().endswith("False")


def test_what_the_running_turn_has_used_is_not_left_for_a_child(project: CommandLine) -> None:
    """The turn has taken more than a second of the minute when its agent asks for nearly all of it."""
    body = (
        'time.sleep(1.2)\nnote("said", child("start", "x", "--minutes", "0.985"))\n'
        'open("piece.txt", "w").write("x")\ndone()\n'
    )
    assert project.run("run", "--children", "1", "--max-minutes", "1", *arguments(project, body)).code == 0
    assert "Too little is left for another loop" in (project.home / "said").read_text()
    assert len(project.loops) == 1


SLOW = """
if "PIECE" in prompt:
    note("turns", "child")
    time.sleep(0 if os.path.exists(os.path.join(notes, "go")) else 60)
    open("piece.txt", "w").write("piece\\n")
    done()
    sys.exit()
if not json.loads("[" + ",".join(child("list", "--json").splitlines()) + "]"):
    note("started", child("start", "PIECE", "--rounds", "2"))
name = json.loads(child("list", "--json").splitlines()[0])["loop_id"]
while json.loads(child("wait", name, "--seconds", "30", "--json"))["status"] == "running":
    pass
subprocess.run(["git", "apply"], input=child("diff", name) + "\\n", text=True, check=True)
done()
"""


def begun(cli: CommandLine) -> tuple[subprocess.Popen[str], str]:
    """A loop whose child is at work, and its id."""
    running = cli.start("run", "--children", "1", *arguments(cli, SLOW))
    until((cli.home / "turns").exists)
    return running, parent_of(cli)


def test_a_killed_runner_loses_neither_the_child_nor_what_it_used(project: CommandLine) -> None:
    cli = project
    running, loop_id = begun(cli)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    (cli.home / "go").touch()
    assert cli.run("resume", loop_id).code == 0
    parent, child = tree(cli, loop_id)
    assert (parent["outcome"], child["outcome"]) == ("verified", "verified")
    assert len(cli.loops) == 2
    assert len((cli.home / "started").read_text().splitlines()) == 1
    assert parent["total_spend"]["iterations"] == parent["spend"]["iterations"] + child["spend"]["iterations"]


def test_a_pause_and_a_stop_go_down(project: CommandLine) -> None:
    cli = project
    running, loop_id = begun(cli)
    cli.run("pause", "--now", loop_id)
    running.communicate(timeout=60)
    assert [loop["outcome"] for loop in tree(cli, loop_id)] == ["paused", "interrupted"]
    (_, child) = tree(cli, loop_id)
    assert cli.run("stop", loop_id).code == 0
    parent, child = tree(cli, loop_id)
    assert [parent["outcome"], child["outcome"]] == ["stopped", "stopped"]
    assert parent["total_spend"]["iterations"] == parent["spend"]["iterations"] + child["spend"]["iterations"]


STUBBORN = """
if "PIECE" in prompt:
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note("turns", "child")
    time.sleep(60)
open("piece.txt", "w").write("piece")
if not os.path.exists(os.path.join(notes, "turns")):
    note("started", child("start", "PIECE", "--rounds", "2"))
while not os.path.exists(os.path.join(notes, "turns")):
    time.sleep(0.02)
done()
"""


@pytest.mark.slow
def test_a_runner_killed_while_it_ends_its_children_leaves_no_child_of_an_ended_loop(project: CommandLine) -> None:
    """The child's agent ignores SIGTERM, so its stop takes a second and a half: the runner is killed within that."""
    cli = project
    cli.without_box()
    running = cli.start("run", "--children", "1", *arguments(cli, STUBBORN))
    journals = cli.workspace / ".loop"
    told = '"event":"stop_request'
    until(lambda: any(told in path.read_text() for path in journals.glob("*.progress/execution.log.jsonl")))
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    parent, child = tree(cli, loop_id := parent_of(cli))
    assert child["status"] == "failed" or parent["status"] == "running"
    if parent["status"] == "running":
        assert cli.run("resume", loop_id).code == 0
    parent, child = tree(cli, loop_id)
    assert (parent["outcome"], child["outcome"]) == ("verified", "stopped")
    assert parent["total_spend"]["iterations"] == parent["spend"]["iterations"] + child["spend"]["iterations"]
    assert json.loads(cli.run("show", loop_id, "--json").output)["children"][0]["ended"]


def test_a_slow_filter_of_git_does_not_hold_up_the_end_of_a_loop(project: CommandLine) -> None:
    """The agent claims that it is done while git makes the folder of a child, with a filter that takes minutes."""
    cli = project
    cli.without_box()
    (cli.workspace / ".gitattributes").write_text("a.txt filter=slow\n")
    subprocess.run(("git", "add", "."), cwd=cli.workspace, check=True)
    subprocess.run(("git", "commit", "-qm", "two"), cwd=cli.workspace, check=True)
    smudge = f"touch {cli.home}/smudging; sleep 300; cat"
    subprocess.run(("git", "config", "filter.slow.smudge", smudge), cwd=cli.workspace, check=True)
    body = (
        'subprocess.Popen([sys.executable, "-P", "-m", "untildone", "child", "start", "PIECE"])\n'
        'while not os.path.exists(os.path.join(notes, "smudging")):\n    time.sleep(0.02)\n'
        'open("piece.txt", "w").write("piece")\ndone()\n'
    )
    ended = cli.run("run", "--children", "1", *arguments(cli, body))
    assert ended.code == 0, ended.errors + ended.output
    shown = json.loads(cli.run("show", parent_of(cli), "--json").output)
    assert [(each["ended"], each["spend"]["iterations"]) for each in shown["children"]] == [(True, 0)]
    assert len(cli.loops) == 1


def test_a_share_whose_loop_was_never_created_is_given_back(project: CommandLine) -> None:
    """The runner died between the entry in its journal and the creation of the child."""
    cli = project
    body = 'note("left", child("start", "x", "--rounds", "3"))\nopen("piece.txt", "w")\ndone()\n'
    created = cli.run("run", "--children", "2", *arguments(cli, "print('not yet')"), "-r", "1")
    assert created.code == 3, created.errors
    loop_id = parent_of(cli)
    journal = cli.store().open(loop_id)
    journal.append(ChildReserved(Child("loop-never", Budget(iterations=3))))
    journal.close()
    arguments(cli, body)
    assert cli.run("resume", loop_id, "-r", "+4").code == 0
    shown = json.loads(cli.run("show", loop_id, "--json").output)
    assert [each["ended"] for each in shown["children"]] == [True, True]
    assert not (cli.home / "left").read_text().startswith("REFUSED"), "the share is free again"


def test_an_agent_with_mcp_has_the_same_as_tools(project: CommandLine) -> None:
    program = Path(project.home / "client.py")
    program.write_text(
        "import asyncio, json, os, sys\n"
        "from mcp import Client\n"
        "from mcp.client.stdio import StdioServerParameters, stdio_client\n"
        "async def play():\n"
        "    command = StdioServerParameters(command=sys.executable, args=['-P', '-m', 'untildone', 'mcp'], env=dict(os.environ))\n"
        "    async with Client(stdio_client(command)) as client:\n"
        "        print(sorted(tool.name for tool in (await client.list_tools()).tools))\n"
        "        for tool, given in (('start', {'task': 'PIECE', 'rounds': 1}), ('start', {'task': 'too many'}),\n"
        "                            ('stop', {'loop': os.environ['UNTILDONE_LOOP_ID']})):\n"
        "            result = await client.call_tool(tool, given)\n"
        "            print('refused' if result.is_error else result.structured_content['status'])\n"
        "asyncio.run(play())\n"
    )
    body = (
        'if "PIECE" not in prompt:\n'
        f"    ended = subprocess.run([sys.executable, {str(program)!r}], capture_output=True, text=True)\n"
        '    note("tools", ended.stdout + ended.stderr)\n'
        'open("piece.txt", "w").write("x")\ndone()\n'
    )
    assert project.run("run", "--children", "1", *arguments(project, body)).code == 0
    tools, *results = (project.home / "tools").read_text().split("\n")[:4]
    assert tools == str(sorted(("start", "list", "show", "wait", "say", "stop", "diff", "verify")))
    assert results == ["running", "refused", "refused"]


def test_a_server_with_one_slot_drives_a_parent_and_its_child_also_after_a_kill(project: CommandLine) -> None:
    cli = project
    arguments(cli, SLOW)
    command = f"{sys.executable} {cli.home / 'agent.py'}"
    chosen: dict[str, Any] = {
        "agent": "command",
        "command": command,
        "checks": ["test -e piece.txt"],
        "max_iterations": 4,
        "children": 1,
    }
    with Server(cli, "--slots", "1") as server:
        loop_id = server.create("Do it", **chosen)
        until((cli.home / "turns").exists)
        server.kill()
        (cli.home / "go").touch()
        server.start()
        shown = server.until_status(loop_id, "completed")
        (child,) = shown["children"]
        line = server.show(child["loop_id"])["line"]
        assert (line["parent"], line["outcome"], child["ended"]) == (loop_id, "verified", True)
        assert child["spend"]["iterations"] == line["current_iteration"]
        assert len((cli.home / "started").read_text().splitlines()) == 1
