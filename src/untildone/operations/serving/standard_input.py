"""The standard input of a process that serves a client: lines of bounded length, and an end that nothing holds up."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

from untildone.system.program.lines import LineFramer

CHUNK = 64 * 1024


def bound(leave_within: float) -> None:
    """Let this process read its standard input in lines of bounded length: of a longer one only the beginning arrives.

    `leave_within` seconds after the client has closed its side, the process exits, also in the middle of its work: it may be writing to a
    client that reads nothing."""
    source = os.dup(0)
    reading, writing = os.pipe()
    os.dup2(reading, 0)
    os.close(reading)
    threading.Thread(target=_pass_on, args=(source, writing, leave_within), name="input", daemon=True).start()


def _pass_on(source: int, writing: int, leave_within: float) -> None:
    framer = LineFramer(lambda line: _write(writing, line + b"\n"))
    with suppress(OSError):  # nobody reads it any more
        while chunk := os.read(source, CHUNK):
            framer.feed(chunk)
        framer.finish()
    os.close(writing)
    time.sleep(leave_within)
    os._exit(0)


def _write(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
