"""The agent's last message, read from the end of its transcript: of a long one, only as much of its tail as necessary."""

from __future__ import annotations

import io
import os
import stat
import time

from untildone.core.plugins.hook import Boundary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from untildone.core.plugins.hook import HookSide

TAIL, MOST_READ = 64 * 1024, 8 << 20
"""Bytes that are read first, and at most."""
LONGEST_DELAY, LOOK_EVERY = 5.0, 0.01
"""Seconds that the transcript may lag behind the stop, and between two looks at it."""


def last_message(hook: HookSide, path: str, marker: str = "") -> str:
    """The text of the agent's last message, once the transcript contains the marker of this stop; empty if there is none."""
    _wait_for(path, marker.encode())
    try:
        with opened(path) as file:
            return _last_message(hook, _lines_backwards(file))
    except OSError:
        return ""


def _last_message(hook: HookSide, lines: Iterator[bytes]) -> str:
    """The parts of the last message: the lines with its id, up to a prompt or the result of a tool."""
    parts: list[str] = []
    message_id: object = None
    for line in lines:
        part = hook.agent_line(line)
        if isinstance(part, Boundary):
            break
        if part is None:
            continue
        if parts and part.message_id != message_id:
            break
        parts.insert(0, part.text)
        message_id = part.message_id
        if message_id is None:
            break
    return "\n".join(parts)


def opened(path: str) -> BinaryIO:
    """The file for reading; an empty one if there is none. Opening never waits, as it would for a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, ValueError):
        return io.BytesIO()
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return io.BytesIO()
    return os.fdopen(descriptor, "rb")


def _wait_for(path: str, marker: bytes) -> None:
    """Wait until the transcript contains the marker. Some agents call the hook a moment before they write the transcript."""
    deadline = time.monotonic() + LONGEST_DELAY
    while marker and marker not in _tail(path) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)


def _tail(path: str) -> bytes:
    with opened(path) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
        return file.read(TAIL)


def _lines_backwards(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines, the last one first. The file is read in parts, each twice as large as the one before."""
    end, part, rest = file.seek(0, os.SEEK_END), TAIL, b""
    least = max(0, end - MOST_READ)
    while end > least:
        start = max(least, end - part)
        file.seek(start)
        rest, *lines = (file.read(end - start) + rest).split(b"\n")
        yield from reversed(lines)
        end, part = start, part * 2
    if not least:
        yield rest
