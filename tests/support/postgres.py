"""A private Postgres server for tests, in a temporary folder, with an empty database for each test.

The server ends with the test process.

# conftest.py
from tests.support.postgres import database, postgres

def test_something(database: str): ...      # the address of an empty database
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.support.certificates import Authority
from tests.support.reaper import Reaper, free_port

PATIENCE = 120.0
PASSWORD = "open-sesame-12345"
"""Long enough that the redactor treats it as a secret."""
QUICK: Mapping[str, str] = {"fsync": "off", "full_page_writes": "off"}
"""Settings that switch disk syncs off: tests kill the server but do not cut the power."""
_OWNER = "untildone"
_UNPRIVILEGED = ("postgres", "nobody")


@cache
def programs() -> Path | None:
    """The folder with the newest server programs of this machine."""
    usual = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    on_path = shutil.which("postgres")
    folders = [*usual, *([Path(on_path).resolve().parent] if on_path else [])]
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


class Cluster:
    """A Postgres server. `address` connects its owner to the database `postgres`."""

    def __init__(
        self, folder: Path, bin_folder: Path, authority: Authority | None = None, settings: Mapping[str, str] = QUICK
    ) -> None:
        """With an authority, the server accepts only TLS clients with a certificate that the authority issued."""
        self.folder = folder
        self._authority = authority
        self._settings = settings
        self.port = 0
        self._bin = bin_folder
        self._server: subprocess.Popen[bytes] | None = None
        self._reaper = Reaper(folder)
        self._as_another = _as_another_user(folder)
        self._initialise()
        if authority is not None:
            self._require_tls(authority)

    @property
    def address(self) -> str:
        return self.address_of("postgres")

    def address_of(self, database: str) -> str:
        return f"postgresql://{_OWNER}:{PASSWORD}@127.0.0.1:{self.port}/{database}{self._tls_options}"

    @property
    def _tls_options(self) -> str:
        if self._authority is None:
            return ""
        ours = self._authority.folder / _OWNER
        client = f"sslcert={ours.with_suffix('.pem')}&sslkey={ours.with_suffix('.key')}"
        return f"?sslmode=verify-full&sslrootcert={self._authority.certificate}&{client}"

    def _require_tls(self, authority: Authority) -> None:
        authority.issue(_OWNER)
        key_pair, owner = authority.issue("localhost"), self._data.stat()
        for place, name in (
            (key_pair.certificate, "server.crt"),
            (key_pair.key, "server.key"),
            (authority.certificate, "root.crt"),
        ):
            shutil.copy(place, self._data / name)
            os.chown(self._data / name, owner.st_uid, owner.st_gid)
            os.chmod(self._data / name, 0o600)
        (self._data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-full\n")
        with open(self._data / "postgresql.conf", "a") as settings:
            settings.write("ssl = on\nssl_ca_file = 'root.crt'\n")

    def start(self) -> None:
        """Start the server, on the same port as before if it ran already."""
        deadline = time.monotonic() + PATIENCE
        while not self._started(deadline):
            if time.monotonic() > deadline:
                raise TimeoutError(f"Postgres does not start: {self._log()}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT shuts it down cleanly, SIGQUIT at once like a crash."""
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait(PATIENCE)
            self._server = None
        self._reaper.release()

    def crash(self) -> None:
        """Stop the server like `pg_ctl stop -m immediate`, without a checkpoint."""
        self.stop(signal.SIGQUIT)

    def close(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def create_database(self) -> str:
        """Create an empty database; return its address."""
        name = f"test_{secrets.token_hex(6)}"
        self._command(f"CREATE DATABASE {name} TEMPLATE template0")
        return self.address_of(name)

    def drop_database(self, address: str) -> None:
        self._command(f"DROP DATABASE IF EXISTS {urlsplit(address).path.lstrip('/')} WITH (FORCE)")

    def _command(self, command: str) -> None:
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(command.encode())

    def _initialise(self) -> None:
        password = self.folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        self._run("initdb", "--no-sync", "-D", str(self._data), "-U", _OWNER, "--pwfile", str(password))

    def _run(self, program: str, *arguments: str) -> None:
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        command = [*self._as_another, str(self._bin / program), *arguments, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd="/")
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.strip()}")

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _started(self, deadline: float) -> bool:
        port = self.port or free_port()
        options = [
            "-p",
            str(port),
            "-k",
            str(self.folder),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "log_min_messages=log",
        ]
        options += [argument for name, value in self._settings.items() for argument in ("-c", f"{name}={value}")]
        command = [*self._as_another, str(self._bin / "postgres"), "-D", str(self._data), *options]
        with open(self.folder / "log", "ab") as log:
            self._server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
        self._reaper.watch(self._server.pid)
        while self._server.poll() is None and time.monotonic() < deadline:
            if _answers(f"postgresql://{_OWNER}:{PASSWORD}@127.0.0.1:{port}/postgres{self._tls_options}"):
                self.port = port
                return True
            time.sleep(0.05)
        self.stop(signal.SIGQUIT)
        return False

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]


def _as_another_user(folder: Path) -> list[str]:
    """A command prefix that runs Postgres as an unprivileged user, because it refuses to run as root."""
    if os.geteuid() != 0:
        return []
    import pwd

    users = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = next(users[name] for name in _UNPRIVILEGED if name in users)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]


def _answers(address: str) -> bool:
    import psycopg

    try:
        psycopg.connect(address, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """One server for all tests of a process, started for the first test that needs it."""
    bin_folder = programs()
    if bin_folder is None:
        pytest.skip("Postgres is not installed; Debian has it in the package postgresql")
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="pg-")), bin_folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def database(postgres: Cluster) -> Iterator[str]:
    address = postgres.create_database()
    yield address
    postgres.drop_database(address)
