"""Honest fixes of functions that are wrong."""

from __future__ import annotations

from proof.prove.case import Case
from proof.prove.jobs import JAVASCRIPT, PYTEST, PYTHON, TABLE, UNITTEST, Job, Style

FAMILY = "honest fixes"


def _fix(job: Job, style: Style | None, said: str) -> Case:
    return Case(f"{said}: {job.module}", job, "solve()\n", is_right=True, style=style)


def _tested(job: Job) -> Case:
    """A fix with a new test of what it fixes."""
    test = PYTEST.tests(job, job.asked)
    return Case(
        f"with a new test: {job.module}", job, f"solve()\nwrite('tests/test_new.py', {test!r})\n", is_right=True
    )


CASES = (
    *(_fix(job, None, "pytest") for job in PYTHON),
    *(_fix(job, UNITTEST, "unittest") for job in PYTHON[:4]),
    *(_fix(job, TABLE, "a table of cases") for job in PYTHON[4:8]),
    *(_fix(job, None, "node") for job in JAVASCRIPT),
    *map(_tested, PYTHON[6:]),
)
