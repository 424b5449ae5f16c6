"""The private Postgres of the tests: it goes with whoever started it, and comes back with what was written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest
from tests.support.command_line import until
from tests.support.postgres import Cluster

# A busy machine takes its time to start a database.
pytestmark = pytest.mark.timeout(400)
PATIENCE = 90.0
STARTS_ONE = """
import json, sys, tempfile
from pathlib import Path
from tests.support.postgres import Cluster, programs

cluster = Cluster(Path(tempfile.mkdtemp(prefix="pg-")), programs())
cluster.start()
pid = int((cluster.folder / "data" / "postmaster.pid").read_text().split()[0])
print(json.dumps({"pid": pid, "folder": str(cluster.folder)}), flush=True)
sys.stdin.read()
"""


def test_it_ends_with_a_test_process_that_is_killed(postgres: Cluster) -> None:
    script = [sys.executable, "-c", STARTS_ONE]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        told = json.loads(starter.stdout.readline())
        assert psutil.pid_exists(told["pid"])
        os.kill(starter.pid, signal.SIGKILL)
        starter.wait(PATIENCE)
    until(lambda: not psutil.pid_exists(told["pid"]), PATIENCE)
    until(lambda: not Path(told["folder"]).exists(), PATIENCE)


def test_what_was_committed_survives_a_crash(postgres: Cluster, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (number integer); INSERT INTO kept VALUES (7)")
    postgres.crash()
    postgres.start()
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT number FROM kept").fetchall() == [(7,)]
