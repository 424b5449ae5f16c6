"""A Unix socket that answers requests of programs on this machine: one JSON object in, one out, for each connection."""

from __future__ import annotations

import errno
import glob
import json
import os
import shutil
import socket
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

LARGEST = 1_000_000
"""Bytes of a request."""
READ_WITHIN = 10.0
MOST_AT_ONCE = 32
"""Connections that are answered at the same time; further ones are closed."""
PREFIX, NAME = "untildone-loops-", "loops"
"""Of the folder of a socket, and of the socket in it."""
NEW_FOR = 60.0
"""Seconds for which a folder may be one whose socket does not listen yet."""
_CREDENTIALS = struct.Struct("3i")
Fields = Mapping[str, Any]
Answer = Callable[[Fields, int], Fields]
"""Answers a request of the process with this id."""


class RequestSocket:
    """A listening socket in a folder of its own, which only this user may enter. A context manager: it answers from entry to exit."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._free = threading.Semaphore(MOST_AT_ONCE)
        # The path of a socket may have some hundred bytes only, and a temporary folder of the person's choice may be deep.
        parent = "/tmp" if os.path.isdir("/tmp") else tempfile.gettempdir()
        remove_dead(parent)
        self._folder = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
        self.path = os.path.join(self._folder, NAME)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(self.path)
        self._listening.listen(MOST_AT_ONCE)

    def __enter__(self) -> RequestSocket:
        threading.Thread(target=self._accept, name="requests", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # A plain close would leave the accepting thread where it is.
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._listening.accept()
            except OSError:
                return
            if self._free.acquire(blocking=False):
                threading.Thread(target=self._serve, args=(line,), name="request", daemon=True).start()
            else:
                line.close()

    def _serve(self, line: socket.socket) -> None:
        try:
            with line:
                line.settimeout(READ_WITHIN)
                request = _parsed(_read(line))
                answer = (
                    self._answer(request, _peer(line)) if request is not None else {"error": "That is not a request."}
                )
                line.settimeout(READ_WITHIN)
                line.sendall(json.dumps(answer).encode())
        except OSError:
            return
        finally:
            self._free.release()


def remove_dead(parent: str, new_for: float = NEW_FOR) -> None:
    """Remove the folders of sockets whose processes were killed: nothing listens there."""
    for folder in glob.glob(os.path.join(glob.escape(parent), f"{PREFIX}*")):
        with suppress(OSError):
            status = os.lstat(folder)
            is_old = stat.S_ISDIR(status.st_mode) and time.time() - status.st_mtime > new_for
            if is_old and status.st_uid == os.getuid() and not _listens(os.path.join(folder, NAME)):
                shutil.rmtree(folder, ignore_errors=True)


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(0)
        return line.connect_ex(path) not in (errno.ECONNREFUSED, errno.ENOENT)


def ask(path: str, request: Fields, within: float | None = None) -> Fields:
    """Send a request; return the answer. OSError if nothing listens there, ValueError if the answer is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(within)
        line.connect(path)
        line.sendall(json.dumps(request).encode())
        line.shutdown(socket.SHUT_WR)
        answer = _parsed(b"".join(iter(lambda: line.recv(65536), b"")))
    if answer is None:
        raise ValueError("the answer is not an object")
    return answer


def _read(line: socket.socket) -> bytes:
    """What the client sends until it closes its side; empty if that is too much."""
    content = b""
    while len(content) <= LARGEST and (part := line.recv(65536)):
        content += part
    return content if len(content) <= LARGEST else b""


def _parsed(content: bytes) -> Fields | None:
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _peer(line: socket.socket) -> int:
    """The process at the other end, of this user; 0: it is of another user, or not known."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    pid, uid, _ = _CREDENTIALS.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid if uid in (os.getuid(), 65534) else 0
