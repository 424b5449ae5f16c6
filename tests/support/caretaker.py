"""Servers that tests start: none outlives the process that asked for it, however that ends."""

from __future__ import annotations

import socket
import subprocess
from contextlib import closing
from pathlib import Path

PATIENCE = 120.0
# Ends the server and removes its folder as soon as nobody holds the other end of its standard input.
_PROGRAM = """
read _
kill -QUIT "$1" 2>/dev/null
tries=0
while kill -0 "$1" 2>/dev/null && [ $tries -lt 300 ]; do tries=$((tries + 1)); sleep 0.1; done
kill -KILL "$1" 2>/dev/null
rm -rf "$2"
"""


class Caretaker:
    """A process of its own that ends a server when this process is gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def look_after(self, pid: int) -> None:
        self.release()
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _PROGRAM, "caretaker", str(pid), str(self._folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def release(self) -> None:
        """The server has ended: there is nothing to look after."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process = None


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
