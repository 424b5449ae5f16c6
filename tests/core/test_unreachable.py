"""What a failed check says when it could not reach a service, and what a person is told then."""

from __future__ import annotations

import pytest

from untildone.core.answers import unreachable
from untildone.core.model import RoomKind


@pytest.mark.parametrize(
    ("output", "address"),
    [
        ('psycopg.OperationalError: connection to server at "127.0.0.1", port 5432 failed: Connection refused', "127.0.0.1:5432"),
        ('connection to server at "localhost" (::1), port 5432 failed: Connection refused', "localhost:5432"),
        ("redis.exceptions.ConnectionError: Error 111 connecting to localhost:6379. Connection refused.", "localhost:6379"),
        ("Error: connect ECONNREFUSED 127.0.0.1:5432", "127.0.0.1:5432"),
        ("dial tcp [::1]:5432: connect: connection refused", "[::1]:5432"),
        ("curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server", "localhost:8080"),
        ("HTTPConnectionPool(host='127.0.0.1', port=8000): Max retries exceeded: [Errno 111] Connection refused", "127.0.0.1:8000"),
        ("org.postgresql.util.PSQLException: Connection to localhost:5432 refused.", "localhost:5432"),
        ("at = ('127.0.0.1', 5432)\n>    sock.connect(at)\nE   ConnectionRefusedError: [Errno 111] Connection refused", "127.0.0.1:5432"),
    ],
)  # fmt: skip
def test_a_refused_connection_in_a_room_without_network_names_address_and_way_out(output: str, address: str) -> None:
    said = unreachable.why(f"1 failed\n{output}\n", RoomKind.SEALED, has_network=False)
    assert said.startswith(f"Connection refused to {address} in a room without network: start the loop with --room-net")
    assert "--room plain" in said


def test_a_refused_connection_without_an_address() -> None:
    said = unreachable.why("thread panicked: Connection refused (os error 111)", RoomKind.SEALED, has_network=False)
    assert said.startswith("Connection refused in a room without network")


@pytest.mark.parametrize("room", [RoomKind.SEALED, RoomKind.RESTORED, RoomKind.PLAIN])
def test_with_the_network_a_service_that_was_ended_is_the_reason(room: RoomKind) -> None:
    said = unreachable.why("Error: connect ECONNREFUSED 127.0.0.1:6379", room, has_network=room is RoomKind.SEALED)
    assert said.startswith("Connection refused to 127.0.0.1:6379: what an agent starts is ended")
    assert "--keep-running" in said


@pytest.mark.parametrize(
    "output",
    [
        "curl: (6) Could not resolve host: example.com",
        "getaddrinfo EAI_AGAIN registry.example.com",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "OSError: [Errno 101] Network is unreachable",
        "dial tcp: lookup example.com: no such host",
    ],
)
def test_a_check_that_needs_the_network(output: str) -> None:
    said = unreachable.why(output, RoomKind.SEALED, has_network=False)
    assert said.startswith("The check needs the network (")
    assert "--room-net" in said
    assert unreachable.why(output, RoomKind.RESTORED, has_network=False) == ""


@pytest.mark.parametrize(
    ("output", "path"),
    [
        ('connection to server on socket "/run/postgresql/.s.PGSQL.5432" failed: No such file', "/run/postgresql/.s.PGSQL.5432"),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", "/var/run/docker.sock"),
        ("Error: connect ENOENT /tmp/redis.sock", "/tmp/redis.sock"),
        ("Can't connect to local MySQL server through socket '/run/mysqld/mysqld.sock' (2)", "/run/mysqld/mysqld.sock"),
    ],
)  # fmt: skip
def test_a_socket_of_a_program_outside(output: str, path: str) -> None:
    said = unreachable.why(output, RoomKind.SEALED, has_network=True)
    assert said.startswith(f"The socket {path} cannot be reached from a sealed room")
    assert "--room restored" in said
    assert unreachable.why("all went well", RoomKind.SEALED, has_network=False) == ""


@pytest.mark.parametrize(
    "output",
    [
        "",
        "ModuleNotFoundError: No module named 'x'",
        "E   assert 1 == 2",
        "FAILED tests/test_a.py::test_port_5432",
        "12:34:56 1 failed",
    ],
)
def test_an_ordinary_failure_says_nothing(output: str) -> None:
    assert unreachable.why(output, RoomKind.SEALED, has_network=False) == ""
