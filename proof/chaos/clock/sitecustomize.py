"""Shifts the wall clock of the processes under test by the number of seconds in the file that CHAOS_CLOCK names."""

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
