"""The network of a box by host names: what the proxy adds to the start of a program, to a request, and to many bytes."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from figures import Row, figure, seconds_of, taking_turns

from untildone.core.protection import hosts
from untildone.system.box import sandbox
from untildone.system.box.proxy import Proxy, interpreter

EXTRA_MS = 30.0
"""The goal: so many milliseconds more for a start."""
BODY = 16 << 20
FORMS = ("direct", "proxied")

ASKS = """
import socket, sys, time
proxy, port, size, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
place = ("127.0.0.1", int(proxy) or port)
head = f"GET http://localhost:{port}/{size} HTTP/1.1\\r\\nHost: localhost:{port}\\r\\n\\r\\n"
for _ in range(times):
    began = time.perf_counter()
    with socket.create_connection(place) as line:
        line.sendall(head.encode())
        while line.recv(1 << 18):
            pass
    print(time.perf_counter() - began)
"""


def rows(*, quick: bool) -> Iterator[Row]:
    if problem := sandbox.problem():
        raise SystemExit(str(problem))
    times = 10 if quick else 60
    box = sandbox.Box("/", sandbox.system_read_only())
    yield _starts(box, times)
    yield from _requests(box, times)


def _starts(box: sandbox.Box, times: int) -> Row:
    def connected() -> None:
        with Proxy(hosts.hosts(["api.example"]), {}) as proxy:
            command = box.argv((*proxy.launcher, "/bin/true"))
            subprocess.run(command, pass_fds=(proxy.descriptor,), env=dict(proxy.environment), check=True)

    forms: dict[str, Callable[[], object]] = {
        "direct": partial(subprocess.run, box.argv(("/bin/true",)), check=True),
        "proxied": connected,
    }
    took: dict[str, list[float]] = {form: [] for form in FORMS}
    for form in taking_turns(FORMS, times):
        took[form].append(seconds_of(forms[form]) * 1000)
    bare = figure(took["direct"], "ms")
    goal = 1 + EXTRA_MS / bare.middle
    return Row("`true` in a box with a proxy", figure(took["proxied"], "ms"), "in a box without", bare, goal)


def _requests(box: sandbox.Box, times: int) -> Iterator[Row]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=(listening,), daemon=True).start()
        port = listening.getsockname()[1]
        for what, size, count in (("a request", 100, times), ("16 MB", BODY, max(5, times // 10))):
            direct = _seconds((interpreter(), "-I", "-c", ASKS, "0", str(port), str(size), str(count)))
            proxied = _proxied(box, port, size, count)
            yield Row(f"{what} through the proxy", figure(proxied, "ms"), f"{what}, directly", figure(direct, "ms"))


def _proxied(box: sandbox.Box, port: int, size: int, count: int) -> list[float]:
    with Proxy(hosts.hosts([f"localhost:{port}"]), {}) as proxy:
        at = proxy.environment["HTTP_PROXY"].rpartition(":")[2]
        command = (*proxy.launcher, interpreter(), "-I", "-c", ASKS, at, str(port), str(size), str(count))
        return _seconds(box.argv(command), proxy.descriptor)


def _seconds(command: Sequence[str], *descriptors: int) -> list[float]:
    done = subprocess.run(
        command, pass_fds=descriptors, capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    return [float(word) * 1000 for word in done.stdout.split()]


def _serve(listening: socket.socket) -> None:
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(client,), daemon=True).start()


def _answer(client: socket.socket) -> None:
    with client:
        size = int(client.recv(4096).split(b" ")[1].rpartition(b"/")[2])
        client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + bytes(size))


if __name__ == "__main__":
    for row in rows(quick=True):
        print(row)
