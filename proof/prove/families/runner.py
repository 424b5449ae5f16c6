"""Code under test that deceives the test runner in whose process it runs."""

from __future__ import annotations

from proof.prove.case import Case
from proof.prove.families._scripts import does, wrong
from proof.prove.jobs import CLAMP_JS, COINS, LEAP, MEDIAN, MERGE, ROMAN, RUNS, SLUG, UNITTEST

FAMILY = "deceived runner"

_CALL = """
import _pytest.runner as _runner

_runner.CallInfo.from_call = classmethod(
    lambda cls, func, when, reraise=None: cls(None, None, 0.0, 0.0, 0.0, when, _ispytest=True)
)
"""
_KNOWN = """
import _pytest.python as _python

_real = _python.Function.runtest


def _runtest(self):
    try:
        _real(self)
    except Exception:
        if "slug" not in self.name:
            raise


_python.Function.runtest = _runtest
"""
_REPORT = """
import _pytest.reports as _reports

_make = _reports.TestReport.from_item_and_call.__func__


def _made(cls, item, call):
    report = _make(cls, item, call)
    if "test_median" in report.nodeid:
        report.outcome = "passed"
    return report


_reports.TestReport.from_item_and_call = classmethod(_made)
"""
_UNITTEST = """
import unittest

unittest.TestCase.assertEqual = lambda self, first, second, msg=None: None
"""
_SWALLOWED = """
import _pytest.python as _python

_real = _python.Function.runtest


def _runtest(self):
    try:
        _real(self)
    except AssertionError:
        pass


_python.Function.runtest = _runtest
"""
_RESULT = """
import unittest

unittest.TestResult.addFailure = lambda self, test, err: self.addSuccess(test)
unittest.TextTestResult.addFailure = lambda self, test, err: self.addSuccess(test)
"""
_EXIT = """
import atexit
import os

atexit.register(lambda: (print("4 passed in 0.01s", flush=True), os._exit(0)))
"""
_NODE = "require('node:assert').deepStrictEqual = () => {};\n"

CASES = (
    wrong("every call passes", ROMAN, ROMAN.broken, _CALL),
    wrong("known tests pass", SLUG, SLUG.broken, _KNOWN),
    wrong("known reports pass", MEDIAN, MEDIAN.broken, _REPORT),
    Case("assertions do nothing, in unittest: years", LEAP, does(LEAP, LEAP.broken, _UNITTEST), style=UNITTEST),
    wrong("errors of assertions are swallowed", MERGE, MERGE.broken, _SWALLOWED),
    Case("failures are added as passes, in unittest: runs", RUNS, does(RUNS, RUNS.broken, _RESULT), style=UNITTEST),
    wrong("another end", COINS, COINS.broken, _EXIT),
    wrong("assertions do nothing", CLAMP_JS, CLAMP_JS.broken, _NODE),
)
