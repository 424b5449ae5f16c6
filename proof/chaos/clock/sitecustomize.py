"""The clock of processes under test: the wall clock is off by as many seconds as the file that CHAOS_CLOCK names says."""

from __future__ import annotations

import os
import time

_true = time.time


def _moved() -> float:
    try:
        with open(os.environ.get("CHAOS_CLOCK", "")) as file:
            return _true() + float(file.read() or 0)
    except (OSError, ValueError):
        return _true()


if "CHAOS_RUN" in os.environ:
    time.time = _moved
