"""The children of this process that belong to no loop, such as programs that notify people: they are no leftovers of a loop.

They are known by their pids. Their marks would not do, because a program that has only just been started has no environment yet.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

_lock = threading.Lock()
_blocks: list[tuple[str, set[int]]] = []
"""The mark of each block that this process is in, in whatever thread, and the pids of what was started in it."""

Child = subprocess.Popen[bytes]


@contextmanager
def block(mark_name: str) -> Iterator[None]:
    """What this process starts with this mark within the block belongs to no loop."""
    entry = (mark_name, set[int]())
    with _lock:
        _blocks.append(entry)
    try:
        yield
    finally:
        with _lock:
            _blocks[:] = [each for each in _blocks if each is not entry]


def start(begin: Callable[[], Child], marks: Mapping[str, str] | frozenset[str]) -> Child:
    """Start a child that has these variables, and note it if one of them is the mark of a block."""
    with _lock:
        child = begin()
        for mark_name, pids in _blocks:
            if mark_name in marks:
                pids.add(child.pid)
        return child


def pids() -> frozenset[int]:
    """The pids of all that was started in blocks that are still open."""
    with _lock:
        return frozenset(pid for _, started in _blocks for pid in started)
