"""Ends the servers that tests start when the test process ends, even if it is killed."""

from __future__ import annotations

import socket
import subprocess
from contextlib import closing
from pathlib import Path

PATIENCE = 120.0
# Ends the server and removes its folder when the test process closes the pipe, which the kernel does if it dies.
_PROGRAM = """
read _
kill -QUIT "$1" 2>/dev/null
tries=0
while kill -0 "$1" 2>/dev/null && [ $tries -lt 300 ]; do tries=$((tries + 1)); sleep 0.1; done
kill -KILL "$1" 2>/dev/null
rm -rf "$2"
"""


class Reaper:
    """A helper process that ends a server when this process is gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, pid: int) -> None:
        """Start the helper process for a server."""
        self.release()
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _PROGRAM, "reaper", str(pid), str(self._folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def release(self) -> None:
        """Stop the helper process: the server has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process = None


def free_port() -> int:
    """A TCP port that is free now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
