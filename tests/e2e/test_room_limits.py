"""Checks that a sealed room cannot serve: services, the network, links out of the tree, no room at all. Never verified, and a way out."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.boxes import boxes
from tests.support.command_line import CommandLine, Ended
from tests.support.serving import Server

__all__ = ["boxes"]
PATIENCE = 90.0


@pytest.fixture
def project(cli: CommandLine) -> CommandLine:
    cli.environment.pop("UNTILDONE_ROOM")
    (cli.workspace / "ask.py").write_text(ASK)
    subprocess.run(["git", "init", "--quiet", cli.workspace], check=True, timeout=60)
    return cli


ASK = """
import socket, sys
place = sys.argv[1]
try:
    if place.startswith("/"):
        service = socket.socket(socket.AF_UNIX)
        service.connect(place)
    else:
        service = socket.create_connection(("127.0.0.1", int(place)), 5)
    assert service.recv(9) == b"welcome"
except OSError as problem:
    sys.exit(f"cannot connect to {place if place.startswith('/') else '127.0.0.1:' + place}: {problem}")
"""


@contextmanager
def service(family: socket.AddressFamily, place: str | tuple[str, int]) -> Iterator[socket.socket]:
    """A little service that welcomes everybody."""
    with socket.socket(family) as listening:
        listening.bind(place)
        listening.listen()

        def welcome() -> None:
            while True:
                try:
                    visitor, _ = listening.accept()
                except OSError:
                    return
                with visitor:
                    visitor.sendall(b"welcome")

        threading.Thread(target=welcome, daemon=True).start()
        try:
            yield listening
        finally:
            listening.shutdown(socket.SHUT_RDWR)


def run(cli: CommandLine, check: str, *arguments: str, work: str = "open('done', 'w').write('x')") -> Ended:
    """Run a loop whose agent does this work and says that it is done."""
    program = cli.home / "agent.py"
    program.write_text(f"import os, subprocess, sys\nsys.stdin.read()\n{work}\nprint('<promise>COMPLETE</promise>')\n")
    agent = ("--command", f"{sys.executable} {program}")
    return cli.run("run", "Do it", *agent, "--check", check, "-r", "1", *arguments, patience=PATIENCE)


@pytest.mark.usefixtures("boxes")
def test_a_service_on_loopback_needs_the_network_of_the_room(project: CommandLine) -> None:
    with service(socket.AF_INET, ("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        check = f"{sys.executable} ask.py {port}"
        refused = run(project, check, "--room", "sealed")
        assert refused.code == 3, refused.errors
        assert (
            f"Connection refused to 127.0.0.1:{port} in a room without network: start the loop with --room-net"
            in refused.errors
        )
        assert run(project, check, "--room", "sealed", "--room-net").code == 0
        assert run(project, check, "--room", "restored").code == 0


@pytest.mark.usefixtures("boxes")
def test_a_service_behind_a_socket_needs_another_room(project: CommandLine) -> None:
    path = str(project.home / "service.sock")
    with service(socket.AF_UNIX, path):
        check = f"{sys.executable} ask.py {path}"
        refused = run(project, check, "--room", "sealed", "--room-net")
        assert refused.code == 3, refused.errors
        assert (
            f"The socket {path} cannot be reached from a sealed room: start the loop with --room restored"
            in refused.errors
        )
        assert run(project, check, "--room", "restored").code == 0


def test_a_service_that_the_agent_started_is_ended_and_can_be_spared(project: CommandLine) -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    listening.close()
    program = project.home / "welcomer"
    program.write_text(WELCOMER.format(python=sys.executable, port=port))
    program.chmod(0o755)
    start = f"subprocess.Popen([{str(program)!r}], stdout=subprocess.PIPE).stdout.readline()"
    check = f"{sys.executable} ask.py {port}"
    refused = run(project, check, "--room", "restored", work=f"open('done', 'w').write('x')\n{start}")
    assert refused.code == 3, refused.errors
    assert (
        f"Connection refused to 127.0.0.1:{port}: what an agent starts is ended before checks run; --keep-running"
        in refused.errors
    )


WELCOMER = """#!{python}
import socket
listening = socket.create_server(("127.0.0.1", {port}))
print("ready", flush=True)
while True:
    visitor, _ = listening.accept()
    visitor.sendall(b"welcome")
    visitor.close()
"""


@pytest.mark.usefixtures("boxes")
def test_a_check_that_needs_the_network_says_so(project: CommandLine) -> None:
    check = f"{sys.executable} -c \"import socket; socket.getaddrinfo('service.example', 80)\""
    ended = run(project, check, "--room", "sealed")
    assert ended.code == 3
    assert "The check needs the network (" in ended.errors
    assert "start the loop with --room-net" in ended.errors


@pytest.mark.usefixtures("boxes")
def test_a_judge_file_that_became_a_link_out_of_the_tree(project: CommandLine) -> None:
    (project.workspace / "tests").mkdir()
    (project.workspace / "tests" / "test_a.sh").write_text("exit 1\n")
    outside = project.home / "passing.sh"
    outside.write_text("exit 0\n")
    work = f"os.remove('tests/test_a.sh')\nos.symlink({str(outside)!r}, 'tests/test_a.sh')"
    ended = run(project, "sh tests/test_a.sh", "--room", "sealed", work=work)
    assert ended.code == 3
    assert (
        "is a link out of the workspace: tests/test_a.sh (hint: put the file itself into the workspace)" in ended.errors
    )


@pytest.mark.usefixtures("boxes")
def test_a_room_that_cannot_be_made(project: CommandLine) -> None:
    project.without_box()  # an agent in a box cannot reach the state folder
    rooms = project.home / ".local" / "state" / "untildone" / "rooms"
    work = f"open('done', 'w').write('x')\nimport shutil\nshutil.rmtree({str(rooms)!r})\nopen({str(rooms)!r}, 'w')"
    ended = run(project, "true", "--room", "sealed", work=work)
    assert ended.code == 3
    assert "could not be judged: The rooms of the loop cannot be used" in ended.errors
    assert "or start the loop with --room plain" in ended.errors


@pytest.mark.usefixtures("boxes")
@pytest.mark.parametrize("content", [None, b"", b"short"])
def test_a_key_that_is_gone_or_damaged(project: CommandLine, content: bytes | None) -> None:
    project.without_box()  # an agent in a box cannot reach the key
    key: Path = project.home / ".local" / "state" / "untildone" / "key"
    damage = f"os.remove({str(key)!r})" if content is None else f"open({str(key)!r}, 'wb').write({content!r})"
    ended = run(project, "true", "--room", "sealed", work=f"open('done', 'w').write('x')\n{damage}")
    assert ended.code == 0, (
        "a runner that has read the key before judges, and nobody believes the record without the key"
    )
    listed = project.run("list")
    assert ("not ours" in listed.output, "verified" in listed.output) == (True, False)
    again = run(project, "true")
    assert again.code == 6
    assert "no loop can be told from a forged one" in again.errors
    assert "hint: put the key back from a backup" in again.errors


@pytest.mark.usefixtures("boxes")
def test_a_deleted_loop_leaves_nothing_of_its_rooms(project: CommandLine) -> None:
    assert run(project, "true", "--room", "sealed").code == 0
    state = project.home / ".local" / "state" / "untildone"
    assert [path.name for name in ("rooms", "programs") for path in (state / name).iterdir()] != []
    loop_id = project.run("list", "--json").records[0]["loop_id"]
    with Server(project) as server:
        assert server.client.delete(f"/api/v1/loops/{loop_id}").status_code == 204
    assert [path.name for name in ("rooms", "programs") for path in (state / name).iterdir()] == []
