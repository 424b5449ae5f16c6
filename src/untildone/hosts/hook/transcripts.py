"""The agent's last message, read from the end of its transcript: however long that is, only its tail is looked at."""

from __future__ import annotations

import os
import stat
import time

from untildone.hosts.hook.plain_json import read_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TAIL = 64 * 1024
LONGEST_DELAY, LOOK_EVERY = 5.0, 0.01
"""Seconds that the transcript may lag behind the stop that it tells of."""


def last_message(path: str, stamp: str = "") -> str:
    """What the agent itself said last, once the transcript has the stamp of this stop; empty if that cannot be found."""
    parts: list[str] = []
    message_id: object = None
    for line in reversed(_settled(path, stamp.encode()).split(b"\n")):
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


def _settled(path: str, stamp: bytes) -> bytes:
    """The tail with the stamp in it. Copilot writes its transcript behind, a tenth of a second on a quiet machine."""
    deadline = time.monotonic() + LONGEST_DELAY
    while stamp not in (tail := _tail(path)) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)
    return tail


def _tail(path: str) -> bytes:
    """The whole lines at the end. Opening never waits, as it would for a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return b""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return b""
        start = max(0, found.st_size - TAIL)
        os.lseek(descriptor, start, os.SEEK_SET)
        content = os.read(descriptor, TAIL)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return content.partition(b"\n")[2] if start else content


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
