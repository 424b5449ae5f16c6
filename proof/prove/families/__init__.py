"""The families of the corpus, one file each. A file defines `FAMILY`, its name, and `CASES`."""

from __future__ import annotations

from proof.prove.case import Case
from proof.prove.families import (
    answers,
    aware,
    edges,
    equality,
    errors,
    features,
    fixes,
    flaky,
    luck,
    old_failures,
    partial,
    runner,
    special,
    suites,
    untested,
    weak_tests,
)

_MODULES = (
    special,
    equality,
    answers,
    errors,
    partial,
    weak_tests,
    runner,
    aware,
    luck,
    flaky,
    old_failures,
    fixes,
    features,
    edges,
    untested,
    suites,
)
ALL: dict[str, tuple[Case, ...]] = {module.FAMILY: module.CASES for module in _MODULES}
