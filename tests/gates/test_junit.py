"""JUnit reports: where commands write them, what they say, and that they count only against a run."""

from __future__ import annotations

import pytest

from untildone.core.plugins.gate import CommandEnd, CommandRan, RunnerReport
from untildone.gates.check import junit, why_failed

SUREFIRE = ("target/surefire-reports/TEST-*.xml", "*/target/surefire-reports/TEST-*.xml")


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("pytest -q --junitxml=out/r.xml", ("out/r.xml",)),
        ("python -m pytest --junit-xml r.xml tests", ("r.xml",)),
        ("vendor/bin/phpunit --log-junit build/junit.xml", ("build/junit.xml",)),
        ("rspec --format RspecJunitFormatter --out rspec.xml", ("rspec.xml",)),
        ("npx vitest run --reporter=junit --outputFile=v.xml", ("v.xml",)),
        ("npx vitest run --reporter=default --outputFile.junit=v.xml", ("v.xml",)),
        ("node --test --test-reporter=junit --test-reporter-destination=n.xml", ("n.xml",)),
        ("npx jest --reporters=default --reporters=jest-junit", ("junit.xml",)),
        ("JEST_JUNIT_OUTPUT_FILE=j.xml npx jest --reporters=jest-junit", ("j.xml", "junit.xml")),
        ("mvn -B test -fae", SUREFIRE),
        ("pytest -q", ()),
        ("! pytest --junitxml=r.xml", ()),
        ("pytest --junitxml=a.xml || pytest --lf --junitxml=b.xml", ()),
        ("pytest --junitxml='$(touch x).xml'", ()),
        ("pytest --junitxml='a b;rm.xml'", ()),
        ("rspec --out notes.xml", ()),
        ("gcc -o out.xml", ()),
    ],
)
def test_files_that_a_command_names(command: str, files: tuple[str, ...]) -> None:
    assert junit.files(command) == files


PYTEST = b"""<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1"
 skipped="1" tests="4"><testcase classname="tests.test_a" name="test_x[1]"><failure message="assert">&lt;why&gt;</failure></testcase>
<testcase classname="tests.test_a" name="test_y"><failure/><error message="teardown"/></testcase><testcase classname="t" name="ok"/>
<testcase classname="t" name="later"><skipped/></testcase></testsuite></testsuites>"""
SUREFIRE_XML = b"""<testsuite xmlns:xsi="x" name="AppTest"><properties/><testcase name="adds" classname="com.a.AppTest"><rerunFailure/>
<flakyFailure message="x"/></testcase><testcase name="fails" classname="com.a.AppTest"><error type="E"/></testcase></testsuite>"""


def test_failures_are_read_by_name() -> None:
    assert junit.read(PYTEST) == junit.Recorded(2, ("tests.test_a.test_x[1]", "tests.test_a.test_y"))
    assert junit.read(SUREFIRE_XML) == junit.Recorded(1, ("com.a.AppTest.fails",))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff",
        b"<html><testcase><failure/></testcase></html>",
        PYTEST[:-30],
        b'<!DOCTYPE t [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"><failure/></testcase></testsuite>',
        b'<!DOCTYPE t SYSTEM "file:///etc/passwd"><testsuite/>',
        b'<?xml version="1.0" encoding="none-such"?><testsuite><testcase name="a"><failure/></testcase></testsuite>',
        b'<?xml version="1.0" encoding="shift_jis"?><testsuite><testcase name="a"><failure/></testcase></testsuite>',
        b'<?xml version="1.0" encoding="undefined"?><testsuite><testcase name="a"><failure/></testcase></testsuite>',
    ],
)
def test_what_is_no_report_or_does_harm_says_nothing(content: bytes) -> None:
    with pytest.raises(junit.NotJUnit):
        junit.read(content)
    assert junit.read_all([content, SUREFIRE_XML]).failed == 1


def ran(code: int, report: RunnerReport | None) -> CommandRan:
    return CommandRan(CommandEnd.EXITED, code, report=report)


PASSED = RunnerReport(("pytest",), passed=3)
BAD, GOOD = junit.Recorded(2, ("a", "b")), junit.Recorded()


@pytest.mark.parametrize(
    ("run", "recorded", "reason"),
    [
        (ran(0, PASSED), GOOD, ""),
        (ran(0, PASSED), BAD, "the exit code is 0, but pytest and its JUnit report report 2 failed, 3 passed"),
        (ran(0, None), BAD, "the exit code is 0, but its JUnit report reports 2 failed"),
        (ran(1, PASSED), GOOD, "exit code 1"),
        (ran(0, RunnerReport(missing="no summary")), GOOD, "no summary"),
        (ran(0, RunnerReport(("pytest",))), GOOD, "ran no test"),
    ],
)
def test_a_report_counts_only_against_a_run(run: CommandRan, recorded: junit.Recorded, reason: str) -> None:
    assert why_failed(junit.held_against(run, recorded), 1.0) == reason


def test_names_of_a_report_are_told_and_never_ignored() -> None:
    failed = ran(1, RunnerReport(("pytest",), passed=1, failed=2))
    report = junit.held_against(failed, BAD).report
    assert report is not None
    assert (report.recorded, report.failing, report.names_all) == (("a", "b"), (), False)
