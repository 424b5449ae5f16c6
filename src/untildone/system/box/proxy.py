"""The proxy of a box without a network: passes on connections to the hosts that rules allow by name, and counts all that were asked for.

It runs in threads of the runner, so it ends with it. `box_listeners` opens its ports inside the box and hands the sockets over. Paths,
headers and contents are not recorded.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Self

from untildone.core.protection.hosts import Hosts
from untildone.core.protection.sandbox import MOST_HOSTS, OTHERS, HostAsked, together
from untildone.system.box.proxy_connection import Connection, Refused, ready_of, upstream

PORT = 28128
"""The proxy's port in the box, unless a rule names this very port of the machine. Outside of the range for outgoing connections."""
MOST_CONNECTIONS = 256
LEAST_DESCRIPTOR = 10
_DIRECT = "localhost,127.0.0.1,::1"
"""What programs in the box reach without the proxy: each other."""

Target = tuple[str, int] | None
"""Where a listening socket leads: to a port of this machine; None: to the proxy."""


@dataclass(slots=True)
class _Log:
    """What programs asked for."""

    counts: dict[tuple[bool, str], list[int]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, host: str, connections: int, sent: int = 0, received: int = 0, *, allowed: bool) -> None:
        with self.lock:
            known = (allowed, host) in self.counts or len(self.counts) < MOST_HOSTS
            counts = self.counts.setdefault((allowed, host if known else OTHERS), [0, 0, 0])
            for place, count in enumerate((connections, sent, received)):
                counts[place] += count

    def asked(self) -> tuple[HostAsked, ...]:
        with self.lock:
            counted, self.counts = self.counts, {}
        return together(HostAsked(host, allowed, *counts) for (allowed, host), counts in counted.items())


class Proxy:
    """The proxy of one box: a context, outside of which no connection is open."""

    def __init__(self, allowed: Hosts, environment: Mapping[str, str]) -> None:
        """`environment` is that of the runner: it names the machine's own proxy, if there is one. Raises UsageError."""
        self._allowed = allowed
        self._upstream = upstream(environment)
        self._log = _Log()
        self._forwards = allowed.on_this_machine
        taken = {port for _, port in self._forwards}
        self._port = next(port for port in range(PORT, PORT + len(taken) + 1) if port not in taken)
        self._lock = threading.Lock()
        self._connections: dict[Connection, threading.Thread] = {}
        self._counted: dict[Connection, tuple[int, int]] = {}
        """What open connections had sent and received when they were counted last."""
        self._control, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Shells, which start boxes, use the numbers below ten themselves.
        self._inner = socket.socket(fileno=fcntl.fcntl(inner, fcntl.F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR))
        inner.close()
        self._stop, self._stopper = socket.socketpair()
        self._acceptor = threading.Thread(target=self._accept_all, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopper.close()
        self._acceptor.join()
        with self._lock:
            connections = dict(self._connections)
        for connection in connections:
            connection.shut()
        for thread in connections.values():
            # One that waits for the name service cannot be interrupted. It ends without a connection.
            thread.join(0.5)
        for line in (self._control, self._inner, self._stop):
            line.close()

    @property
    def descriptor(self) -> int:
        """The descriptor that the launcher must inherit."""
        return self._inner.fileno()

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables by which programs in the box find the proxy."""
        address = f"http://127.0.0.1:{self._port}"
        proxies = (
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
            "GLOBAL_AGENT_HTTP_PROXY",
        )
        direct = ("NO_PROXY", "no_proxy", "GLOBAL_AGENT_NO_PROXY")
        # Node's own clients use a proxy only with this variable.
        return {**dict.fromkeys(proxies, address), **dict.fromkeys(direct, _DIRECT), "NODE_USE_ENV_PROXY": "1"}

    @property
    def launcher(self) -> tuple[str, ...]:
        """A program for the box, with its arguments, that opens the proxy's ports there and then becomes the command that follows."""
        ports = [f"{address}:{port}" for address, port in (("127.0.0.1", self._port), *self._forwards)]
        return launcher(str(self.descriptor), *ports)

    def asked(self) -> tuple[HostAsked, ...]:
        """What programs have asked for since the last call: refused hosts first. A connection is counted once, its bytes as they flow."""
        with self._lock:
            for connection in self._connections:
                self._count(connection)
        return self._log.asked()

    def _count(self, connection: Connection) -> None:
        """Note what has flowed since the connection was counted last. Call it with the lock."""
        before = self._counted.get(connection)
        sent, received = connection.sent, connection.received
        if connection.host and before != (sent, received):
            new = (sent, received) if before is None else (sent - before[0], received - before[1])
            self._counted[connection] = (sent, received)
            self._log.add(connection.host, 1 if before is None else 0, *new, allowed=True)

    def _accept_all(self) -> None:
        listeners = self._received()
        try:
            while True:
                ready = ready_of((self._stop, *listeners))
                if self._stop in ready:
                    return
                for listener in ready:
                    with contextlib.suppress(OSError):
                        self._begin(listener.accept()[0], listeners[listener])
        finally:
            for listener in listeners:
                listener.close()

    def _received(self) -> dict[socket.socket, Target]:
        """The listening sockets of the box, each with where it leads. Empty if the proxy was closed before they came."""
        ready = ready_of((self._control, self._stop))
        if self._stop in ready:
            return {}
        targets = (None, *self._forwards)
        _, descriptors, _, _ = socket.recv_fds(self._control, 16, len(targets))
        return dict(zip((socket.socket(fileno=each) for each in descriptors), targets, strict=False))

    def _begin(self, client: socket.socket, target: Target) -> None:
        """Serve a client in a thread of its own."""
        connection = Connection(client, self._allowed, self._upstream)
        with self._lock:
            if len(self._connections) >= MOST_CONNECTIONS:
                connection.answer("503 Service Unavailable", f"there are {MOST_CONNECTIONS} connections already")
                client.close()
                return
            thread = threading.Thread(target=self._serve, args=(connection, target), name="proxied", daemon=True)
            self._connections[connection] = thread
            thread.start()

    def _serve(self, connection: Connection, target: Target) -> None:
        try:
            connection.serve() if target is None else connection.forward(*target)
        except Refused as refusal:
            self._log.add(refusal.host, 1, allowed=False)
        except (OSError, ValueError):
            # The client, the host or the name service failed. The client has its answer.
            pass
        finally:
            with self._lock:
                self._count(connection)
                self._counted.pop(connection, None)
                self._connections.pop(connection)


def launcher(*words: str) -> tuple[str, ...]:
    """The command line of `box_listeners` in a box, without the command that follows."""
    source = files("untildone.system.box").joinpath("box_listeners.py").read_text(encoding="utf-8")
    return (interpreter(), "-I", "-S", "-c", source, *words, "--")


def interpreter() -> str:
    """The Python that runs in boxes: not that of a virtual environment, which an agent may be able to change."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
