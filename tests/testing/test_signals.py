"""Tests and chaos also run where SIGHUP and SIGINT are ignored. Covers: tests/support/signals.py."""

from __future__ import annotations

import subprocess
import sys

OBEYS = """
import signal
from tests.support.signals import obey_signals
obey_signals()
signal.raise_signal(signal.{name})
"""


def test_programs_that_were_started_with_ignored_signals_obey_them() -> None:
    for name in ("SIGHUP", "SIGINT"):
        command = ["sh", "-c", 'trap \'\' HUP INT; exec "$0" -c "$1"', sys.executable, OBEYS.format(name=name)]
        assert subprocess.run(command, capture_output=True, timeout=60).returncode, name
