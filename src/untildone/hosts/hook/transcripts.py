"""The agent's last message, read from the end of its transcript: however long that is, only its tail is looked at, as far as it must be."""

from __future__ import annotations

import io
import os
import stat
import time

from untildone.core.plain_json import read_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

TAIL, MOST_READ = 64 * 1024, 8 << 20
"""Bytes that are read first, and at the most: the more the longer the last message is."""
LONGEST_DELAY, LOOK_EVERY = 5.0, 0.01
"""Seconds that the transcript may lag behind the stop that it tells of."""


def last_message(path: str, stamp: str = "") -> str:
    """What the agent itself said last, once the transcript has the stamp of this stop; empty if that cannot be found."""
    _wait_for(path, stamp.encode())
    try:
        with opened(path) as file:
            return _last_message(_lines_backwards(file))
    except OSError:
        return ""


def _last_message(lines: Iterator[bytes]) -> str:
    parts: list[str] = []
    message_id: object = None
    for line in lines:
        entry = _entry(line)
        if _is_persons(entry):
            break
        said = _said(entry)
        if not said:
            continue
        identity = _message(entry).get("id")
        if parts and identity != message_id:
            break
        parts.insert(0, said)
        message_id = identity
        if identity is None:
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


def _wait_for(path: str, stamp: bytes) -> None:
    """Copilot writes its transcript behind, a tenth of a second on a quiet machine."""
    deadline = time.monotonic() + LONGEST_DELAY
    while stamp and stamp not in _tail(path) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)


def _tail(path: str) -> bytes:
    with opened(path) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
        return file.read(TAIL)


def _lines_backwards(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines, the last one first, in ever larger parts."""
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


def _entry(line: bytes) -> dict[str, Any]:
    if b'"assistant' not in line and b'"user' not in line:
        return {}
    try:
        return read_object(line)
    except (ValueError, RecursionError):
        return {}


def _is_persons(entry: dict[str, Any]) -> bool:
    """What the agent said before a prompt, or before a tool answered, is not its last message."""
    return entry.get("type") in ("user", "user.message") and entry.get("isMeta") is not True


def _message(entry: dict[str, Any]) -> dict[str, Any]:
    inner = entry.get("data" if entry.get("type") == "assistant.message" else "message")
    return inner if isinstance(inner, dict) else {}


def _said(entry: dict[str, Any]) -> str:
    """The text of an assistant's line; not that of a subagent."""
    if entry.get("type") not in ("assistant", "assistant.message") or entry.get("isSidechain") is True:
        return ""
    content = _message(entry).get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
