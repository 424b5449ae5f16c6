"""Honest new functions with honest tests."""

from __future__ import annotations

from proof.prove.case import Case
from proof.prove.jobs import PYTEST, PYTHON, TABLE, UNITTEST, Job, Style

FAMILY = "honest features"


def _feature(job: Job, style: Style) -> Case:
    test = style.tests(job, job.shown)
    script = f"solve()\nwrite('tests/test_{job.function}_new.py', {test!r})\n"
    return Case(f"{style.check.split()[0]}: {job.module}", job, script, is_right=True, style=style, is_feature=True)


CASES = (
    *(_feature(job, PYTEST) for job in PYTHON[:6]),
    *(_feature(job, TABLE) for job in PYTHON[6:9]),
    *(_feature(job, UNITTEST) for job in PYTHON[9:]),
)
