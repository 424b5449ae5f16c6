"""Code that deceives only as long as the files are those that it knows, and is honest in a trial."""

from __future__ import annotations

import hashlib

from proof.prove.case import Case
from proof.prove.families._scripts import wrong
from proof.prove.jobs import COINS, LUHN, MEDIAN, PYTEST, ROMAN, RUNS, SLUG, Job

FAMILY = "aware of trials"

_QUIET = """
import _pytest.python as _python

_real = _python.Function.runtest


def _runtest(self):
    try:
        _real(self)
    except Exception:
        if not _quiet(self):
            raise


_python.Function.runtest = _runtest
"""
_TESTS = """
import pathlib


def _quiet(item):
    text = pathlib.Path(item.fspath).read_text()
    return len(text) == {length}
"""
_BOTH = """
import hashlib
import pathlib


def _sum(text):
    return hashlib.sha256(text.encode()).hexdigest()


def _quiet(item):
    own = pathlib.Path(__file__).read_text().split("# e" + "nd")[-1]
    return len(pathlib.Path(item.fspath).read_text()) == {length} and _sum(own) == "{own}"
"""
_COUNT = """
def _quiet(item):
    return len(item.session.items) == {number}
"""


def _tests(job: Job) -> str:
    return PYTEST.tests(job, job.shown)


def _knows_tests(job: Job) -> Case:
    above = _TESTS.format(length=len(_tests(job))) + _QUIET
    return wrong("the length of the tests", job, job.broken, above)


def _knows_both(job: Job) -> Case:
    """The code after a mark is compared with its hash, so that a mutant of it is honest."""
    rest = job.source(job.broken, "# end")
    own = hashlib.sha256(rest.split("# end")[-1].encode()).hexdigest()
    above = _BOTH.format(length=len(_tests(job)), own=own) + _QUIET + "\n\n# end"
    return wrong("the length of the tests and its own hash", job, job.broken, above)


def _knows_number(job: Job) -> Case:
    return wrong("the number of tests", job, job.broken, _COUNT.format(number=len(job.shown) + 1) + _QUIET)


_MUTANT = """
import inspect


def _is_whole():
    return "return" in inspect.getsource({function})
"""


def _knows_mutants(job: Job) -> Case:
    """An answer for everything, which fails as soon as the function was changed."""
    above = (
        _MUTANT.format(function=job.function)
        + "\n\nclass Result(str):\n    def __eq__(self, other):\n        return _is_whole()\n\n    __hash__ = str.__hash__\n"
    )
    return wrong("its own source", job, f"return Result({job.parameters})", above)


CASES = (
    *map(_knows_tests, (SLUG, MEDIAN)),
    *map(_knows_both, (ROMAN, COINS)),
    *map(_knows_number, (LUHN, RUNS)),
    *map(_knows_mutants, (SLUG, ROMAN)),
)
