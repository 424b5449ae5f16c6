"""The network of agents in boxes, through whole loops: what is refused is told to person and agent, and is in the receipt."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.boxes import boxes
from tests.support.command_line import CommandLine, Ended

__all__ = ["boxes"]
pytestmark = pytest.mark.usefixtures("boxes")


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server on loopback that says hello."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_greet, args=(listening,), daemon=True).start()
        yield listening.getsockname()[1]


def _greet(listening: socket.socket) -> None:
    with suppress(OSError):
        while True:
            client, _ = listening.accept()
            with client:
                client.recv(4096)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")


AGENT = """
import sys, urllib.request
sys.stdin.read()
for address in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(address, timeout=30).read().decode())
    except OSError as problem:
        print("failed:", problem)
"""


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def asked(line: CommandLine, *addresses: str, flags: tuple[str, ...] = ()) -> Ended:
    """A loop of two rounds with an agent that asks for these addresses, in a box whose network is by name."""
    (line.workspace / "agent.py").write_text(AGENT)
    agent = f"{sys.executable} -I agent.py {' '.join(addresses)}"
    sandbox = ("--sandbox", "on", "--sandbox-net", "hosts", *flags)
    return line.run("run", "Ask", "--command", agent, "-r", "2", *sandbox, "--promise", "NEVER", patience=90)


def test_a_refused_host_is_told_to_the_person_and_in_the_next_prompt(line: CommandLine) -> None:
    ended = asked(line, "http://example.org/private/path")
    sentence = "The sandbox refused a connection to example.org: `--allow-host example.org`"
    assert sentence in ended.errors
    started = [each for each in line.run("log", "last", "--json").records if each["event"] == "iteration_start"]
    assert sentence not in started[0]["prompt"]
    assert sentence in started[1]["prompt"]


def test_hosts_are_in_the_receipt_with_counts_and_without_paths(line: CommandLine, port: int) -> None:
    address = f"127.0.0.1:{port}"
    asked(line, f"http://{address}/private/path", "http://example.org/", flags=("--allow-host", address))
    assert line.run("stop", "last").code == 0
    (file,) = (line.workspace / ".loop" / "history").glob("*/receipt.json")
    refused, allowed = json.loads(file.read_text())["hosts"]
    assert refused == {"host": "example.org", "allowed": False, "connections": 2, "sent": 0, "received": 0}
    assert (allowed["host"], allowed["allowed"], allowed["connections"]) == (address, True, 2)
    assert min(allowed["sent"], allowed["received"]) > 0
    assert "private/path" not in file.read_text()
    report = (file.parent / "report.md").read_text()
    assert "example.org: refused 2 times" in report
    assert f"{address}: 2 connections" in report


def test_an_allowed_port_of_this_machine_is_reached_and_no_other(line: CommandLine, port: int) -> None:
    address = f"127.0.0.1:{port}"
    ended = asked(line, f"http://{address}/", flags=("--allow-host", address))
    assert "hello" in ended.errors + ended.output
    ended = asked(line, f"http://{address}/")
    assert "hello" not in ended.errors + ended.output


def test_the_hosts_of_the_agents_own_api_are_allowed(line: CommandLine, port: int) -> None:
    """A program of the person that is called like an agent, and whose API is on loopback."""
    program = line.home / "claude"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -I {line.workspace}/agent.py $ANTHROPIC_BASE_URL\n")
    program.chmod(0o755)
    (line.workspace / "agent.py").write_text(AGENT)
    line.environment |= {
        "PATH": f"{line.home}:{line.environment['PATH']}",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
    }
    line.run("run", "Ask", "--agent", "claude", "-r", "1", "--sandbox", "on", "--sandbox-net", "hosts", patience=90)
    happened = [each for each in line.run("log", "last", "--json").records if each["event"] == "hosts_asked"]
    assert [(each["host"], each["allowed"]) for each in happened[0]["hosts"]] == [(f"127.0.0.1:{port}", True)]


def test_a_host_that_is_none_is_refused_with_a_sentence(line: CommandLine) -> None:
    ended = line.run("run", "Ask", "--command", "true", "--sandbox-net", "hosts", "--allow-host", "http://example.org/")
    assert ended.code == 2
    assert "http://example.org/" in ended.errors
