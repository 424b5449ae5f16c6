"""One connection through the proxy: read what the client wants, judge it by the rules, connect, and pass bytes on."""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import select
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from untildone.core.errors import UsageError
from untildone.core.protection import hosts
from untildone.core.protection.hosts import HostRule, Hosts
from untildone.core.protection.sandbox import HostAsked
from untildone.system.box import proxy_requests
from untildone.system.box.proxy_requests import LARGEST_HEAD, BadRequest, Request

HEAD_SECONDS, CONNECT_SECONDS, IDLE_SECONDS = 20.0, 20.0, 3600.0
"""How long a client may take to say what it wants, a host to accept, and both to say nothing."""
PIECE = 1 << 16
PLAIN_PORT = 80
_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")


class Refused(Exception):
    """The rules do not allow a connection. `host` is what a person would have to allow."""

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self.host = host


@dataclass(frozen=True, slots=True)
class Upstream:
    """The proxy through which the machine itself reaches the network."""

    host: str
    port: int
    authorization: str = ""
    """User and password in base64; empty: none are needed."""
    direct: tuple[str, ...] = ()
    """Domains that are reached without it."""

    def serves(self, name: str) -> bool:
        """Whether connections to this host go through it."""
        bypassed = any(domain == "" or name == domain or name.endswith(f".{domain}") for domain in self.direct)
        return not bypassed and name != hosts.LOCAL and hosts.address_of(name) is None


def upstream(environment: Mapping[str, str]) -> Upstream | None:
    """The machine's own proxy; None: it has none. Raises UsageError for one that cannot be used."""
    variable = next((name for name in _PROXY_VARIABLES if environment.get(name)), "")
    if not variable:
        return None
    value = environment[variable]
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        place = (parts.hostname, parts.port or 80) if parts.scheme == "http" else (None, 0)
    except ValueError:
        place = (None, 0)
    host, port = place
    if not host:
        raise UsageError(
            f"The proxy in {variable} cannot be used with `--sandbox-net hosts`: it is not of the form http://host:port.",
            "name an HTTP proxy, or use `--sandbox-net all`",
        )
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    excluded = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    direct = tuple(word.strip().lower().lstrip("*.") for word in excluded.split(",") if word.strip())
    return Upstream(host, port, base64.b64encode(user.encode()).decode(), direct)


class Connection:
    """One connection of a client in the box."""

    def __init__(self, client: socket.socket, allowed: Hosts, above: Upstream | None) -> None:
        self.host = ""
        """The host that was allowed, as a rule would name it."""
        self.sent = 0
        self.received = 0
        self._client = client
        self._server: socket.socket | None = None
        self._allowed = allowed
        self._above = above
        self._shut = False

    def shut(self) -> None:
        """End the connection; another thread serves it."""
        self._shut = True
        for each in (self._client, self._server):
            if each is not None:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def forward(self, address: str, port: int) -> None:
        """Connect the client with a port of this machine."""
        with self._client:
            self.host = hosts.shown(address, port)
            with self._connected([(address, port)]) as server:
                self._pass_on(server)

    def serve(self) -> None:
        """Do what the client asks for, if the rules allow it. Raises Refused, OSError or BadRequest."""
        with self._client:
            try:
                self._serve(self._request())
            except Refused as refusal:
                self.answer("403 Forbidden", HostAsked(refusal.host, allowed=False).sentence)
                raise
            except BadRequest as problem:
                self.answer("400 Bad Request", str(problem))
                raise
            except OSError as problem:
                self.answer(
                    "502 Bad Gateway", f"{self.host or 'the host'} cannot be reached: {problem.strerror or problem}"
                )
                raise

    def answer(self, status: str, sentence: str) -> None:
        """Tell the client why it gets no connection."""
        body = f"untildone: {sentence}\n".encode(errors="replace")
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        with contextlib.suppress(OSError):
            self._client.settimeout(1.0)
            self._client.sendall(head.encode("ascii") + body)

    def _serve(self, request: Request) -> None:
        rule = self._rule(request)
        self.host = hosts.shown(request.name, request.port)
        through = self._above if self._above is not None and self._above.serves(request.name) else None
        places = [(through.host, through.port)] if through else _addresses(request, rule)
        with self._connected(places) as server:
            if through:
                _ask_upstream(server, through, request)
            first = (
                self._begin_tunnel(request, rule) if request.tunnel else _plain_head(request, through) + request.rest
            )
            server.sendall(first)
            self.sent += len(first)
            self._pass_on(server)

    def _rule(self, request: Request) -> HostRule:
        rule = self._allowed.find(request.name, request.port)
        if rule is None:
            raise Refused(hosts.shown(request.name, request.port))
        return rule

    def _request(self) -> Request:
        received, deadline = b"", time.monotonic() + HEAD_SECONDS
        while (request := proxy_requests.read(received)) is None:
            received += self._more(deadline)
        return request

    def _begin_tunnel(self, request: Request, rule: HostRule) -> bytes:
        """Tell the client that the tunnel is there. Returns its first bytes, which must be for the host of the tunnel.

        Many hosts share addresses at large providers: who reaches one of them could ask for another there. A rule with a port or an
        address is about one service, which may speak as it likes.
        """
        self._client.settimeout(CONNECT_SECONDS)
        self._client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        if rule.port is not None or rule.address is not None:
            return request.rest
        return self._plain_first(request) if request.port == PLAIN_PORT else self._tls_first(request)

    def _tls_first(self, request: Request) -> bytes:
        received, deadline = request.rest, time.monotonic() + HEAD_SECONDS
        while (name := proxy_requests.hello_name(received)) is None:
            received += self._more(deadline)
        if hosts.host_of(name) != request.name:
            raise Refused(hosts.host_of(name) or f"{request.name}:{request.port}")
        return received

    def _plain_first(self, request: Request) -> bytes:
        received, deadline = request.rest, time.monotonic() + HEAD_SECONDS
        while (inner := proxy_requests.read_inner(received, request.name)) is None:
            received += self._more(deadline)
        return inner.head + inner.rest

    def _more(self, deadline: float) -> bytes:
        self._client.settimeout(max(0.01, deadline - time.monotonic()))
        received = self._client.recv(PIECE)
        if not received:
            raise OSError("the client ended the connection")
        return received

    def _connected(self, places: list[tuple[str, int]]) -> socket.socket:
        problem = OSError("it has no address")
        for place in places:
            try:
                self._server = socket.create_connection(place, CONNECT_SECONDS)
            except OSError as error:
                problem = error
                continue
            if self._shut:
                self._server.close()
                raise OSError("the proxy is closed")
            return self._server
        raise problem

    def _pass_on(self, server: socket.socket) -> None:
        """Copy bytes both ways until both sides have ended, or neither says anything for too long."""
        for each in (self._client, server):
            each.settimeout(IDLE_SECONDS)
            with contextlib.suppress(OSError):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        others = {self._client: server, server: self._client}
        while others:
            ready = ready_of(others, IDLE_SECONDS)
            if not ready:
                return
            for each in ready:
                if not self._copy(each, others[each], server):
                    del others[each]

    def _copy(self, source: socket.socket, target: socket.socket, server: socket.socket) -> bool:
        """Copy what is there. False: this side has ended."""
        piece = source.recv(PIECE)
        if not piece:
            with contextlib.suppress(OSError):
                target.shutdown(socket.SHUT_WR)
            return False
        target.sendall(piece)
        if target is server:
            self.sent += len(piece)
        else:
            self.received += len(piece)
        return True


def ready_of(sockets: Iterable[socket.socket], seconds: float | None = None) -> list[socket.socket]:
    """The sockets that can be read, once there is one; none after that many seconds."""
    # `select.select` cannot wait for the many descriptors of a server.
    poll, known = select.poll(), {each.fileno(): each for each in sockets}
    for descriptor in known:
        poll.register(descriptor, select.POLLIN)
    return [known[descriptor] for descriptor, _ in poll.poll(None if seconds is None else seconds * 1000)]


def _addresses(request: Request, rule: HostRule) -> list[tuple[str, int]]:
    """The addresses of the host that the rule permits. A name is asked for once, so that it cannot lead elsewhere afterwards."""
    found = socket.getaddrinfo(request.name, request.port, type=socket.SOCK_STREAM)
    addresses = [(str(place[0]), request.port) for *_, place in found]
    named = rule.port is not None or rule.address is not None
    permitted = [place for place in addresses if rule.permits(place[0]) and (named or not is_of_this_machine(place[0]))]
    if addresses and not permitted:
        raise Refused(request.name if rule.is_domain else f"{request.name}:{request.port}")
    return permitted


def is_of_this_machine(address: str) -> bool:
    """Whether an address, such as that in the local network, is one of this machine. Nothing is sent: the kernel says from which address
    it would be, and that is the same only for its own. Of the loopback range, the kernel takes one address for all."""
    if ipaddress.ip_address(address.partition("%")[0]).is_loopback:
        return True
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((address, 9))
        except OSError:
            return False
        return bool(asking.getsockname()[0] == address.partition("%")[0])


def _ask_upstream(server: socket.socket, through: Upstream, request: Request) -> None:
    """Have the machine's own proxy open a tunnel, if one is wanted."""
    if not request.tunnel:
        return
    place = f"{request.name}:{request.port}"
    server.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{_authorization(through)}\r\n".encode("ascii"))
    reply = b""
    while b"\r\n\r\n" not in reply:
        # By the byte: what follows the head is already the tunnel's.
        byte = server.recv(1)
        if not byte or len(reply) > LARGEST_HEAD:
            raise OSError("the machine's own proxy does not answer")
        reply += byte
    status = reply.split(b" ")[1:2]
    if status != [b"200"]:
        raise OSError(f"the machine's own proxy refuses: {reply.splitlines()[0].decode('latin-1')[:80]}")


def _plain_head(request: Request, through: Upstream | None) -> bytes:
    """The head of a request that is no tunnel; for the machine's own proxy with the whole address."""
    if through is None:
        return request.head
    method, _, rest = request.head.partition(b" ")
    host = hosts.shown(request.name, request.port)
    line, _, others = rest.partition(b"\r\n")
    return (
        method + f" http://{host}".encode("ascii") + line + b"\r\n" + _authorization(through).encode("ascii") + others
    )


def _authorization(through: Upstream) -> str:
    return f"Proxy-Authorization: Basic {through.authorization}\r\n" if through.authorization else ""
