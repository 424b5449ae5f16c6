"""The proxy of a box: what programs in a box without a network reach through it, and what it refuses."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.support.boxes import boxes
from tests.support.command_line import until

from untildone.core.errors import UsageError
from untildone.core.protection import hosts
from untildone.core.protection.sandbox import MOST_HOSTS, HostAsked
from untildone.system.box import proxy, sandbox, seccomp
from untildone.system.box.proxy import Proxy
from untildone.system.box.proxy_connection import is_of_this_machine

__all__ = ["boxes"]

pytestmark = pytest.mark.usefixtures("boxes")
AT_PROXY = f"127.0.0.1:{proxy.PORT}"


class Origin:
    """A server on loopback that answers everything with what it received, and ends the connection."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.heads: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(30)
            received = b""
            while b"\r\n\r\n" not in received and (piece := client.recv(1 << 16)):
                received += piece
            self.heads.append(received)
            self.reply(client, received)

    def reply(self, client: socket.socket, received: bytes) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + received)

    def close(self) -> None:
        self._listening.close()


class OtherProxy(Origin):
    """A proxy on loopback that accepts every tunnel, and writes back what comes through."""

    def reply(self, client: socket.socket, received: bytes) -> None:
        if not received.startswith(b"CONNECT "):
            return super().reply(client, received)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while piece := client.recv(1 << 16):
            self.heads.append(piece)
            client.sendall(piece)
        return None


@contextmanager
def serving(kind: type[Origin] = Origin) -> Iterator[Origin]:
    origin = kind()
    try:
        yield origin
    finally:
        origin.close()


class Ran:
    """A program that ran in a box with a proxy."""

    def __init__(self, rules: Sequence[str], command: Sequence[str], environment: Mapping[str, str]) -> None:
        box = sandbox.Box("/", sandbox.system_read_only())
        with Proxy(hosts.hosts(rules), environment) as beside:
            ended = subprocess.run(
                box.argv((*beside.launcher, *command)),
                pass_fds=(beside.descriptor,),
                env={"PATH": os.environ["PATH"], **beside.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=90,
            )
        self.exit_code, self.output, self.asked = ended.returncode, ended.stdout.decode(), beside.asked()


def ran(*command: str, rules: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Ran:
    return Ran(rules, command, environment or {})


SAY = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 30) as line:
    for text in sys.argv[2:]:
        line.sendall(text.encode("latin-1").decode("unicode_escape").encode("latin-1"))
    line.shutdown(socket.SHUT_WR)
    while piece := line.recv(65536):
        sys.stdout.write(piece.decode("latin-1"))
"""


def said(*texts: str, rules: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Ran:
    """What the proxy answers to these texts."""
    python = proxy.interpreter()
    return ran(python, "-I", "-c", SAY, str(proxy.PORT), *texts, rules=rules, environment=environment)


class TestTheWayOut:
    def test_a_named_host_is_reached_by_an_address_that_begins_with_http(self) -> None:
        with serving() as origin:
            request = rf"GET http://localhost:{origin.port}/path?q HTTP/1.1\r\nHost: other.example\r\nA: b\r\n\r\n"
            found = said(request, rules=[f"localhost:{origin.port}"])
        assert f"GET /path?q HTTP/1.1\r\nHost: localhost:{origin.port}\r\nA: b\r\nConnection: close" in found.output
        assert [(each.host, each.allowed, each.connections) for each in found.asked] == [
            (f"localhost:{origin.port}", True, 1)
        ]
        assert found.asked[0].sent > 0
        assert found.asked[0].received > 0

    def test_a_named_host_is_reached_through_a_tunnel(self) -> None:
        with serving() as origin:
            connect, inner = rf"CONNECT localhost:{origin.port} HTTP/1.1\r\n\r\n", r"anything\r\n\r\n"
            found = said(connect, inner, rules=[f"localhost:{origin.port}"])
        assert found.output.startswith("HTTP/1.1 200 ")
        assert found.output.endswith("anything\r\n\r\n")

    def test_a_named_port_of_this_machine_is_found_at_its_own_address(self) -> None:
        with serving() as origin:
            rules = [f"127.0.0.1:{origin.port}"]
            found = ran(proxy.interpreter(), "-I", "-c", SAY, str(origin.port), r"hello\r\n\r\n", rules=rules)
        assert found.output.endswith("hello\r\n\r\n")
        assert [(each.host, each.allowed) for each in found.asked] == [(f"127.0.0.1:{origin.port}", True)]

    def test_programs_find_the_proxy_by_their_usual_variables(self) -> None:
        program = "import urllib.request as r; print(r.urlopen('http://example.org/').read().decode())"
        with serving() as above:
            environment = {"HTTP_PROXY": f"http://127.0.0.1:{above.port}"}
            found = ran(proxy.interpreter(), "-I", "-c", program, rules=["example.org"], environment=environment)
        assert "GET http://example.org/ HTTP/1.1" in found.output

    def test_the_machines_own_proxy_is_used_with_its_password(self) -> None:
        with serving(OtherProxy) as above:
            environment = {"HTTPS_PROXY": f"http://user:pass%20word@127.0.0.1:{above.port}"}
            found = said(
                r"CONNECT inner.example:8443 HTTP/1.1\r\n\r\n",
                "x",
                rules=["inner.example:8443"],
                environment=environment,
            )
        assert found.output.startswith("HTTP/1.1 200 ")
        assert b"Proxy-Authorization: Basic dXNlcjpwYXNzIHdvcmQ=" in above.heads[0]
        assert "pass" not in found.output

    def test_a_proxy_that_cannot_be_used_is_refused_with_a_sentence(self) -> None:
        with pytest.raises(UsageError, match="HTTPS_PROXY"):
            Proxy(hosts.hosts([]), {"HTTPS_PROXY": "socks5://127.0.0.1:1080"})


class TestRefusals:
    @pytest.mark.parametrize(
        ("request_line", "refused"),
        [
            ("GET http://example.org/secret/path", "example.org"),
            ("GET http://example.org:8080/", "example.org:8080"),
            ("CONNECT example.org:443", "example.org"),
            ("CONNECT example.org:22", "example.org:22"),
            ("CONNECT 127.0.0.1:22", "127.0.0.1:22"),
            ("CONNECT [::1]:22", "[::1]:22"),
            ("CONNECT [::ffff:127.0.0.1]:22", "127.0.0.1:22"),
            ("CONNECT 169.254.169.254:80", "169.254.169.254"),
            ("GET http://169.254.169.254/latest/meta-data", "169.254.169.254"),
            ("CONNECT localhost:22", "localhost:22"),
            ("CONNECT named.example:22", "named.example:22"),
        ],
    )
    def test_what_no_rule_names_is_refused_recorded_and_explained(self, request_line: str, refused: str) -> None:
        found = said(rf"{request_line} HTTP/1.1\r\nHost: named.example\r\n\r\n", rules=["named.example"])
        assert found.output.startswith("HTTP/1.1 403 ")
        assert f"The sandbox refused a connection to {refused}: `--allow-host {refused}`" in found.output
        assert found.asked == (HostAsked(refused, allowed=False, connections=1),)

    @pytest.mark.parametrize(
        "request_text",
        [
            r"CONNECT 2130706433:22 HTTP/1.1\r\n\r\n",
            r"CONNECT 0x7f.1:22 HTTP/1.1\r\n\r\n",
            r"CONNECT 127.1:22 HTTP/1.1\r\n\r\n",
            r"CONNECT localhost%00:22 HTTP/1.1\r\n\r\n",
            r"CONNECT named.example HTTP/1.1\r\n\r\n",
            r"CONNECT named.example:443:22 HTTP/1.1\r\n\r\n",
            r"GET http://named.example@127.0.0.1/ HTTP/1.1\r\n\r\n",
            r"GET / HTTP/1.1\r\nHost: named.example\r\n\r\n",
            r"GET ftp://named.example/ HTTP/1.1\r\n\r\n",
            r"GET http://named.example/ HTTP/1.1\r\nA: b\nHost: other.example\r\n\r\n",
            r"GET http://named.example/ HTTP/1.1\r\n folded\r\n\r\n",
            r"nonsense\r\n\r\n",
            r"\x16\x03\x01\r\n\r\n",
        ],
    )
    def test_a_malformed_request_is_refused(self, request_text: str) -> None:
        found = said(request_text, rules=["named.example"])
        assert found.output.startswith("HTTP/1.1 400 ")
        assert found.asked == ()

    def test_a_head_that_is_too_long_is_refused(self) -> None:
        found = said(r"GET http://named.example/ HTTP/1.1\r\nA: " + "x" * 50_000, rules=["named.example"])
        assert "400 Bad Request" in found.output

    def test_a_name_that_leads_to_this_machine_is_refused_unless_its_port_is_named(self) -> None:
        found = said(r"CONNECT localhost:443 HTTP/1.1\r\n\r\n", rules=["localhost"])
        assert found.output.startswith("HTTP/1.1 403 ")
        assert [each.host for each in found.asked if not each.allowed] == ["localhost:443"]

    def test_very_many_hosts_are_counted_but_not_all_recorded(self) -> None:
        program = """
import socket
for number in range(150):
    with socket.create_connection(("127.0.0.1", PORT)) as line:
        line.sendall(f"CONNECT h{number}.example:443 HTTP/1.1\\r\\n\\r\\n".encode())
        line.recv(999)
""".replace("PORT", str(proxy.PORT))
        found = ran(proxy.interpreter(), "-I", "-c", program)
        assert len(found.asked) == MOST_HOSTS + 1
        assert sum(each.connections for each in found.asked) == 150


def hello(name: str | None) -> bytes:
    """The first bytes of a TLS connection to a host."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def test_the_addresses_of_this_machine_are_known() -> None:
    """A name that a rule allows may lead to the local network, but not back to this machine, whatever the address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking, suppress(OSError):
        # Nothing is sent: the kernel says from which address it would be, if it knows a way.
        asking.connect(("192.0.2.77", 9))
        assert is_of_this_machine(asking.getsockname()[0])
    assert is_of_this_machine("127.0.0.5")
    assert not is_of_this_machine("192.0.2.77")
    assert not is_of_this_machine("2001:db8::77")


class TestTunnelsToTheUsualPort:
    """The client must speak TLS for the same host: other hosts may share its addresses."""

    def through(self, first: bytes, *, pieces: int = 1, port: int = 443) -> tuple[Ran, list[bytes]]:
        size = -(-len(first) // pieces)
        parts = [first[at : at + size] for at in range(0, len(first), size)]
        texts = ["".join(f"\\x{byte:02x}" for byte in part) for part in parts]
        with serving(OtherProxy) as above:
            environment = {"HTTPS_PROXY": f"http://127.0.0.1:{above.port}"}
            command = (proxy.interpreter(), "-I", "-c", SAY, str(proxy.PORT))
            request = rf"CONNECT named.example:{port} HTTP/1.1\r\n\r\n"
            found = ran(*command, request, *texts, rules=["named.example"], environment=environment)
            return found, above.heads[1:]

    @pytest.mark.parametrize("pieces", [1, 7])
    def test_the_name_of_the_tunnel_is_passed_on(self, pieces: int) -> None:
        first = hello("named.example")
        found, came_through = self.through(first, pieces=pieces)
        assert b"".join(came_through) == first
        assert [(each.host, each.allowed) for each in found.asked] == [("named.example", True)]

    @pytest.mark.parametrize(
        "first",
        [
            hello("other.example"),
            hello(None),
            # A name of another kind is none to servers.
            hello("named.example").replace(b"\0\0\x0dnamed", b"\1\0\x0dnamed"),
            hello("named.example.other").replace(b"\x13named.example.other", b"\x0dnamed.example\0\0\3abc"),
            b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n",
            b"SSH-2.0-x\r\n",
        ],
    )
    def test_another_name_none_or_no_tls_does_not_get_through(self, first: bytes) -> None:
        _, came_through = self.through(first)
        assert came_through == []

    @pytest.mark.parametrize("pieces", [1, 5])
    def test_plain_requests_for_the_name_of_the_tunnel_get_through_one_a_connection(self, pieces: int) -> None:
        plain = b"GET /p HTTP/1.1\r\nHost: named.example\r\nConnection: keep-alive\r\n\r\n"
        _, came_through = self.through(plain, pieces=pieces, port=80)
        assert b"".join(came_through) == b"GET /p HTTP/1.1\r\nHost: named.example\r\nConnection: close\r\n\r\n"

    @pytest.mark.parametrize(
        "head",
        [b"GET / HTTP/1.1\r\nHost: other.example", b"GET / HTTP/1.1\r\nA: b", b"CONNECT named.example:80 HTTP/1.1"],
    )
    def test_plain_requests_for_another_host_do_not(self, head: bytes) -> None:
        _, came_through = self.through(head + b"\r\n\r\n", port=80)
        assert came_through == []

    def test_another_name_is_recorded_as_refused(self) -> None:
        found, _ = self.through(hello("other.example"))
        assert HostAsked("other.example", allowed=False, connections=1) in found.asked


class TestTheProgramInTheBox:
    def test_it_gets_its_own_exit_code_signals_and_environment(self) -> None:
        assert ran("sh", "-c", "exit 7").exit_code == 7
        assert ran("sh", "-c", "kill -9 $$").exit_code == 128 + 9
        assert "LC_CTYPE" not in ran("env").output
        ignored = ran("grep", "SigIgn", "/proc/self/status").output.split()[-1]
        own = next(line.split()[-1] for line in Path("/proc/self/status").read_text().splitlines() if "SigIgn" in line)
        # What these tests inherit is not the box's: nohup ignores one signal, and a shell that starts them in the background two.
        assert int(ignored, 16) & ~(int(own, 16) | 1 << 31 | 1 << 32) == 0

    def test_it_inherits_no_descriptor(self) -> None:
        names = ran("sh", "-c", "echo /proc/self/fd/*").output.split()
        assert [os.path.basename(name) for name in names if int(os.path.basename(name)) > 3] == []

    def test_a_program_that_does_not_exist_is_named(self) -> None:
        found = ran("no-such-program")
        assert found.exit_code == 127
        assert "no-such-program: No such file" in found.output

    def test_nothing_but_the_proxy_can_be_reached(self, tmp_path: Path) -> None:
        with serving() as origin:
            found = ran(proxy.interpreter(), "-I", "-c", SAY, str(origin.port), "x")
            names = ran(proxy.interpreter(), "-I", "-c", "import socket; socket.getaddrinfo('example.org', 443)")
        assert "ConnectionRefusedError" in found.output
        assert origin.heads == []
        assert "gaierror" in names.output

    def test_its_connections_end_with_the_proxy(self) -> None:
        with serving(OtherProxy) as above:
            box = sandbox.Box("/", sandbox.system_read_only())
            environment = {"HTTPS_PROXY": f"http://127.0.0.1:{above.port}"}
            with Proxy(hosts.hosts(["inner.example:8443"]), environment) as beside:
                request = r"CONNECT inner.example:8443 HTTP/1.1\r\n\r\n"
                stays = SAY.replace("line.shutdown(socket.SHUT_WR)", "")
                command = (proxy.interpreter(), "-I", "-c", stays, str(proxy.PORT), request)
                child = subprocess.Popen(
                    box.argv((*beside.launcher, *command)),
                    pass_fds=(beside.descriptor,),
                    stdout=subprocess.PIPE,
                    text=True,
                    env={"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1"},
                )
                until(lambda: above.heads)
                assert child.poll() is None
            assert child.wait(30) == 0


def test_the_interpreter_of_boxes_is_not_that_of_a_virtual_environment() -> None:
    path = Path(proxy.interpreter())
    assert path.is_absolute()
    assert not path.is_symlink()
    assert not path.is_relative_to(sys.prefix) or sys.prefix == sys.base_prefix


def test_the_way_to_the_proxy_stays_clear_of_the_filter_of_system_calls(tmp_path: Path) -> None:
    """Both are descriptors of the same process: the filter has a number of one digit."""
    path = tmp_path / "filter"
    path.write_bytes(seccomp.program())
    box = sandbox.Box("/", sandbox.system_read_only(), filter=str(path) if seccomp.program() else "")
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
    try:
        for _ in range(8):
            with Proxy(hosts.hosts([]), {}) as beside:
                assert beside.descriptor >= proxy.LEAST_DESCRIPTOR
                command = box.argv((*beside.launcher, "true"))
                assert subprocess.run(command, pass_fds=(beside.descriptor,), timeout=60).returncode == 0
            taken.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        for descriptor in taken:
            os.close(descriptor)
