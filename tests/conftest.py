"""Which tests may be skipped (in CI none, elsewhere those that need a program this machine lacks), and how hypothesis tries."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.support.postgres import database, postgres
from tests.support.signals import obey_signals

__all__ = ["database", "postgres"]

obey_signals()

# Before any test imports them: their assertions then say what they compared.
pytest.register_assert_rewrite("tests.support.store_conformance", "tests.support.store_records")

IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false", "no")
INSTALL_AGENTS = Path(__file__).parent.parent / "scripts" / "install-agents"

MISSING = {
    "Postgres is not installed": "apt-get install postgresql",
    "no Chromium": "apt-get install chromium",
    "agent programs are not installed": "make agents",
    "tmux is not installed": "apt-get install tmux",
    "Temporal is not installed": "make setup",
    "openssl is not installed": "apt-get install openssl",
    "bubblewrap is not installed": "apt-get install bubblewrap",
}
"""The commands that install what a skipped test needs, by a part of the reason for which it was skipped."""

# A busy machine is slow, not wrong; and what CI tries is the same each time.
settings.register_profile("untildone", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=IN_CI)
# For `make fuzz`: as many as it says, with random numbers that its seed decides.
settings.register_profile(
    "fuzz",
    settings.get_profile("untildone"),
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "300")),
    derandomize=False,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("untildone")


@pytest.fixture(autouse=True)
def own_state_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept outside of a workspace (keys, running loops) belongs to the test, and not to the person who runs it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / f"state-{os.urandom(6).hex()}"))


def pytest_report_header() -> list[str]:
    """Boxes have a `/tmp` of their own: programs of a checkout that lies there are missing in them."""
    own = ("/tmp", "/var/tmp")
    is_there = any(Path(__file__).is_relative_to(folder) for folder in own)
    return (
        ["This checkout lies in a folder that boxes hide: tests of boxes fail here. Clone it elsewhere."]
        if is_there
        else []
    )


@cache
def agents_are_installed() -> bool:
    listed = subprocess.run([INSTALL_AGENTS, "--list"], capture_output=True, text=True, timeout=30, check=True)
    return all(Path(folder).is_dir() for folder in listed.stdout.splitlines())


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("real_agent") and not agents_are_installed():
        pytest.skip("the real agent programs are not installed; `make agents` installs them")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    forbid_leaving_out(report, item.nodeid)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    forbid_leaving_out(report, collector.nodeid)
    return report


def forbid_leaving_out(report: pytest.TestReport | pytest.CollectReport, nodeid: str) -> None:
    """In CI a test that was skipped, or allowed to fail, is a failed one: an unproven promise must not look proven."""
    expected_to_fail = hasattr(report, "wasxfail")
    if not IN_CI or not (report.skipped or expected_to_fail):
        return
    why = f"expected to fail: {report.wasxfail}" if expected_to_fail else skip_reason(report)
    if expected_to_fail:
        del report.wasxfail
    report.outcome = "failed"
    report.longrepr = f"{nodeid} was left out ({why}), and CI allows no test to be left out."


def skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section("left out")
        for line in left_out(Counter(skip_reason(report).removeprefix("Skipped: ") for report in skipped)):
            terminalreporter.write_line(line)


def left_out(reasons: Counter[str]) -> Iterator[str]:
    """One line for each reason, and the commands that install what was missing."""
    for reason, tests in reasons.most_common():
        yield f"{tests} {'test' if tests == 1 else 'tests'}: {reason}"
    commands = {MISSING[part] for part in MISSING if any(part in reason for reason in reasons)}
    packages = sorted(each.removeprefix("apt-get install ") for each in commands if each.startswith("apt-get"))
    others = sorted(each for each in commands if not each.startswith("apt-get"))
    found = [f"apt-get install {' '.join(packages)}"] * bool(packages) + others
    if found:
        yield f"To run them too: {' && '.join(found)}"
