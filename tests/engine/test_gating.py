"""The commands of gates, as real processes."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

from untildone.core.actions import GateStep, RunCommand
from untildone.core.model import GateResult
from untildone.core.protection.secrets import Redactor
from untildone.engine.verdicts.gating import TAIL_BYTES, Room, run_command, run_step
from untildone.gates.check import GATE
from untildone.testing.driver import looping

PYTHON = sys.executable


LOOP = looping(["never asked"]).loop


def check(command: str, folder: Path, *, timeout: float = 30.0, redactor: Redactor | None = None) -> GateResult:
    return checked(command, Room(str(folder), os.environ, lambda: False, redactor), timeout)


def checked(command: str, room: Room, timeout: float = 30.0) -> GateResult:
    need = RunCommand(command, timeout)
    return run_step(GATE, GateStep(GATE.name, need), LOOP, {command: run_command(need, room)})


def test_a_command_that_succeeds_passes(tmp_path: Path) -> None:
    result = check("echo fine; echo well >&2", tmp_path)
    assert (result.gate, result.command, result.passed, result.exit_code) == (
        "check",
        "echo fine; echo well >&2",
        True,
        0,
    )
    assert (result.tail, result.reason) == ("fine\nwell", "")
    assert result.output_sha256 == hashlib.sha256(b"fine\nwell\n").hexdigest()
    assert 0 < result.seconds < 30


@pytest.mark.parametrize(
    ("command", "reason", "exit_code"),
    [
        ("exit 3", "exit code 3", 3),
        ("no-such-program-anywhere", "exit code 127", 127),
        ("kill -9 $$", "killed by signal 9", -9),
        ("sh -c 'kill -9 $$'; exit $?", "killed by signal 9", 137),
        ("exit 130", "exit code 130", 130),
        ("echo 'no tests ran in 0.01s'", "ran no test", 0),
        ("echo '2 passed in 0.01s'; exit 1", "exit code 1", 1),
    ],
)
def test_a_failure_says_why(tmp_path: Path, command: str, reason: str, exit_code: int) -> None:
    result = check(command, tmp_path)
    assert (result.passed, result.reason, result.exit_code) == (False, reason, exit_code)


def test_runs_in_the_workspace_as_a_shell_would(tmp_path: Path) -> None:
    (tmp_path / "here.txt").write_text("found\n")
    assert check("test -f here.txt && cat *.txt | tr a-z A-Z", tmp_path).tail == "FOUND"


def test_past_its_time_it_fails_with_what_it_said(tmp_path: Path) -> None:
    result = check("echo before; sleep 60", tmp_path, timeout=0.5)
    assert (result.passed, result.reason, result.tail) == (False, "timed out after 0.5 s", "before")
    assert result.seconds < 20


def test_can_be_interrupted(tmp_path: Path) -> None:
    started = tmp_path / "started"
    result = checked("touch started; sleep 60", Room(str(tmp_path), os.environ, started.exists))
    assert (result.passed, result.reason) == (False, "interrupted")


def test_a_workspace_that_is_gone_is_a_failed_check(tmp_path: Path) -> None:
    result = check("true", tmp_path / "gone")
    assert not result.passed
    assert result.reason.startswith("could not be started: ")


def test_a_summary_is_found_however_much_is_printed_around_it(tmp_path: Path) -> None:
    flood = "import sys\nfor n in range(40000): print('line', n)\nprint(sys.argv[1])\nfor n in range(40000): print('more', n)"
    (tmp_path / "flood.py").write_text(flood)
    none, some = (
        check(f"{PYTHON} flood.py {summary}", tmp_path)
        for summary in ("'no tests ran in 0.01s'", "'1 passed in 0.01s'")
    )
    assert (none.passed, none.reason) == (False, "ran no test")
    assert some.passed
    assert some.tail.splitlines() == [f"more {number}" for number in range(40000 - 80, 40000)]


def test_the_tail_is_bounded_in_bytes_too(tmp_path: Path) -> None:
    result = check(f"{PYTHON} -c \"print('x' * 5_000_000); print('é' * 6000); print('end')\"", tmp_path)
    assert len(result.tail) <= TAIL_BYTES
    assert result.tail.endswith("é\nend")


def test_a_secret_stays_out_of_the_result(tmp_path: Path) -> None:
    result = check(
        "echo the key is sk-12345-secret; exit 1", tmp_path, redactor=Redactor({"API_KEY": "sk-12345-secret"})
    )
    assert result.tail == "the key is [redacted API_KEY]"


PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {PYTHON} -m pytest -p no:cacheprovider"
NESTED = (
    "the exit code is 0, but pytest reports 1 failed, 1 passed, in a summary before the last one "
    "(if a test prints that one, let the runner capture output)"
)
TESTS = {
    "one.py": "def test_it(): pass\n",
    "skipped.py": "import pytest\n@pytest.mark.skip\ndef test_it(): pass\n",
    "unit.py": "import unittest\nclass T(unittest.TestCase):\n  def test_it(self): pass\n",
    "unit_skipped.py": "import unittest\nclass T(unittest.TestCase):\n  @unittest.skip('no')\n  def test_it(self): pass\n",
    "empty.py": "",
    "failing.py": "def test_it(): assert False\ndef test_fine(): print('1 failed in 0.01s')\n",
    "xfailed.py": "import pytest\n@pytest.mark.xfail\ndef test_it(): assert False\n",
    "leaves.py": "import os\ndef test_it(): os._exit(0)\n",
    "prints.py": "def test_it(): print('===== 1 failed in 0.01s =====')\n",
    "unit_failing.py": "import unittest\nclass T(unittest.TestCase):\n  def test_it(self): self.fail()\n",
}
FAILED_BUT_0 = "the exit code is 0, but pytest reports 1 failed, 1 passed"
SILENT = "pytest printed no summary: no sign that tests ran"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (f"{PYTEST} one.py", ""),
        (f"{PYTEST} -q --color=yes one.py", ""),
        (f"{PYTEST} one.py skipped.py", ""),
        (f"{PYTEST} empty.py", "ran no test"),
        (f"{PYTEST} -q --color=yes empty.py || true", "ran no test"),
        (f"{PYTEST} skipped.py", "ran no test: 1 skipped"),
        (f"{PYTEST} -k nothing one.py || true", "ran no test: 1 skipped"),
        (f"{PYTEST} xfailed.py", "ran no test: 1 expected to fail"),
        (f"{PYTEST} failing.py", "exit code 1"),
        (f"{PYTEST} -q failing.py | tail -1", FAILED_BUT_0),
        (f"{PYTEST} -q failing.py | tee log", FAILED_BUT_0),
        (f"{PYTEST} -q failing.py; echo done", FAILED_BUT_0),
        (f"sh -c '{PYTEST} -q failing.py || true'", FAILED_BUT_0),
        (f"{PYTEST} -qq failing.py || true", FAILED_BUT_0),
        (f"{PYTEST} -qq one.py", ""),
        (f"{PYTEST} -s prints.py", ""),
        (f"{PYTEST} -s -q prints.py", NESTED),
        (f"{PYTEST} -rP prints.py", NESTED),
        (f"{PYTEST} leaves.py", SILENT),
        (f"{PYTEST} one.py leaves.py", SILENT),
        (f"{PYTEST} --help", SILENT),
        (f"{PYTEST} one.py > log; cat log", ""),
        (f"{PYTEST} --collect-only one.py", "ran no test"),
        (f"{PYTHON} -m unittest unit.py", ""),
        (f"{PYTHON} -m unittest unit_skipped.py", "ran no test: 1 skipped"),
        (f"{PYTHON} -m unittest unit_failing.py; echo done", "the exit code is 0, but unittest reports 1 failed"),
        (
            f"{PYTHON} -m unittest unit.py unit_failing.py || true",
            "the exit code is 0, but unittest reports 1 failed, 1 passed",
        ),
        (f"{PYTHON} -m unittest leaves.py", "ran no test"),
        (f"{PYTHON} -m unittest empty.py || true", "ran no test"),
    ],
    ids=lambda value: value.rpartition(" -m ")[2],
)
def test_real_runners_are_understood(tmp_path: Path, command: str, reason: str) -> None:
    for name, text in TESTS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    result = check(command, tmp_path)
    assert (result.reason, result.passed) == (reason, not reason), result.tail


@pytest.mark.parametrize(
    ("left", "reason"),
    [
        (0.1, "there was no time left for it in the stop hook"),
        (0.6, "did not finish within the 0.6 s that the stop hook had left"),
    ],
)
def test_a_host_with_a_deadline_does_not_miss_it(tmp_path: Path, left: float, reason: str) -> None:
    room = Room(str(tmp_path), os.environ, lambda: False, time_left=lambda: left)
    result = checked("sleep 60", room)
    assert (result.passed, result.reason) == (False, reason)
