"""Every mode in the folder passes one suite, with the answers of any agent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from untildone import modes
from untildone.testing.mode_conformance import CHECKS, Subject, subject


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("mode", modes.names())
def test_conformance(mode: str, check: Callable[[Subject], None]) -> None:
    check(subject(mode))
