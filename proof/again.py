"""`python -m proof.again ARGUMENTS` is pytest with these arguments, for CI: up to three tests that fail are run once more, each alone.

A test that then passes failed by luck: the run counts as passed, and names it loudly. More failures, a second failure, or an
end of pytest that is not about tests is a failure. What pytest refuses in the first run, such as a skipped test in CI, it
refuses in the second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

MOST = 3
"""How many tests may fail by luck; more are a reason to look."""
TESTS_FAILED = 1
_NOTES = "UNTILDONE_FAILED_TESTS"
"""The file in which the first run writes down what failed."""
_FOR_THE_WHOLE_RUN = ("--cov", "--durations")
"""Options that the second run goes without, beside test files and folders: it would overwrite the coverage of the first."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write down a failed test. This module is a plugin of the first run; workers report to its main process."""
    notes = os.environ.get(_NOTES)
    if report.failed and notes and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(notes).open("a") as file:
            file.write(json.dumps([report.nodeid, _message(report)]) + "\n")


def _message(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash else report.longrepr)


def main(arguments: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder, "failed")
        code = _pytest("-p", "proof.again", *arguments, environment={_NOTES: str(notes)})
        failed = _read(notes)
    if code != TESTS_FAILED or not failed:
        return code
    if len(failed) > MOST:
        print(f"\n{len(failed)} tests failed: too many to be luck, so none is run again.", flush=True)
        return code
    return _again(failed, [each for each in arguments if not _is_for_the_whole_run(each)])


def _is_for_the_whole_run(argument: str) -> bool:
    path = Path(argument.partition("::")[0])
    return argument.startswith(_FOR_THE_WHOLE_RUN) or path.suffix == ".py" or path.is_dir()


def _again(failed: Mapping[str, str], arguments: Sequence[str]) -> int:
    """Run each of the failed tests in a pytest of its own, one after the other."""
    _section(f"{len(failed)} failed: each is run once more, alone")
    for number, test in enumerate(failed, 1):
        print(f"{number} of {len(failed)}: {test}", flush=True)
        if code := _pytest(*arguments, "-q", "-n", "0", test, environment={}):
            print(f"\nIt failed again, so the run failed: {test}", flush=True)
            return code
    _section("flaky: failed in the full run, passed alone")
    for test, message in failed.items():
        print(f"flaky: {test}", *(f"    {line}" for line in message.splitlines()), sep="\n", flush=True)
    return 0


def _pytest(*arguments: str, environment: Mapping[str, str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], env={**os.environ, **environment}).returncode


def _read(notes: Path) -> dict[str, str]:
    """The message of the first failure of each test."""
    failed: dict[str, str] = {}
    for line in notes.read_text().splitlines() if notes.exists() else ():
        test, message = json.loads(line)
        failed.setdefault(test, message)
    return failed


def _section(title: str) -> None:
    print(f"\n{f' {title} '.center(80, '=')}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
