"""Ends processes: a tree, or the group of a program after its last answer."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

from untildone.system import orphans
from untildone.system.program.spawn import Spawn

LOOK_FOR_THE_END_EVERY = 0.004
"""Seconds between two looks at a process tree that is being ended. Short, because a person waits for it."""
LINGER = 0.2
"""Seconds for which output is still read after the program ended while other processes hold its pipe open."""


TERM_GRACE = 1.5
"""Seconds that a process tree has to end after SIGTERM before it is killed."""


def end_tree(spawn: Spawn, child: subprocess.Popen[bytes]) -> None:
    marks = orphans.marks_in(spawn.env) - orphans.marks_in(os.environ)
    orphans.end_marked(marks, groups=frozenset({child.pid}), grace=TERM_GRACE)


def end_group(child: subprocess.Popen[bytes], is_gone: Callable[[], bool]) -> None:
    """End a program after its last answer, with what is in its process group, and leave alone what it started apart from that."""
    for number, patience in ((signal.SIGTERM, TERM_GRACE), (signal.SIGKILL, LINGER)):
        if not is_gone():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, number)
            wait(is_gone, patience)


def wait(is_over: Callable[[], bool], seconds: float) -> None:
    patience = time.monotonic() + seconds
    while not is_over() and time.monotonic() < patience:
        time.sleep(LOOK_FOR_THE_END_EVERY)


def reap(child: subprocess.Popen[bytes]) -> int:
    try:
        return child.wait(timeout=LINGER)
    except subprocess.TimeoutExpired:
        return -9


def leftover_group(group: int) -> int | None:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return group
    return group
