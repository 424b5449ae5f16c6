"""The pipes of a running child process: its output is read and its input written without blocking each other."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
from enum import Enum

CHUNK = 64 * 1024
"""Bytes of one read. Larger buffers are slower, because each is allocated by the system."""
POLL_WHILE_OPEN = 0.02
POLL_AT_THE_END = 0.001
"""Seconds between two polls for the exit of the child where there is no pidfd: while its pipes are open, and afterwards."""


class Stream(Enum):
    """Standard output and standard error of the child."""

    OUTPUT = "output"
    ERRORS = "errors"


class Pipes:
    """One selector for the pipes and, on Linux, for the exit of the child: no polling and no thread."""

    def __init__(self, child: subprocess.Popen[bytes], stdin: bytes | None, *, keep_input_open: bool = False) -> None:
        """`stdin` is written to the child's standard input, which is then closed, unless `keep_input_open`."""
        self.exited = False
        """Whether the child itself has ended. Other processes may still hold its pipes open."""
        self._child = child
        self._selector = selectors.DefaultSelector()
        self._open = {
            stream: pipe for stream, pipe in ((Stream.OUTPUT, child.stdout), (Stream.ERRORS, child.stderr)) if pipe
        }
        for stream, pipe in self._open.items():
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe.fileno(), selectors.EVENT_READ, stream)
        self._exit_handle = self._watch_exit()
        self._unwritten = bytearray(stdin or b"")
        self._keep_input_open = keep_input_open
        self._input_registered = False
        self._start_input()

    @property
    def all_read(self) -> bool:
        """Whether both pipes are at their end."""
        return not self._open

    @property
    def is_quiet(self) -> bool:
        """Whether the child runs, can still be written to, and has been sent everything."""
        pipe = self._child.stdin
        return not (self.exited or self._unwritten or pipe is None or pipe.closed)

    def wait(self, seconds: float) -> list[tuple[Stream, bytes]]:
        """New output. Returns when there is some, when the child ends or closes a pipe, or after `seconds`."""
        chunks = []
        for key, _ in self._selector.select(self._patience(seconds)):
            if isinstance(key.data, Stream):
                chunks += self._read(key.data)
            elif key.fd == self._exit_handle:
                self._note_exit()
            else:
                self._write()
                self._watch_input()
        if self._exit_handle is None and not self.exited:
            self.exited = self._child.poll() is not None
        return chunks

    def send(self, content: bytes) -> None:
        """Write to the standard input of the child, as far as it is open and as the child reads."""
        pipe = self._child.stdin
        if not content or pipe is None or pipe.closed:
            return
        self._unwritten += content
        self._write()
        self._watch_input()

    def close_input(self) -> None:
        """Close the standard input of the child, if it is still open."""
        pipe = self._child.stdin
        if pipe is None or pipe.closed:
            return
        self._unwritten.clear()
        self._watch_input()
        pipe.close()

    def close(self) -> None:
        self.close_input()
        self._note_exit()
        self._selector.close()
        for pipe in self._open.values():
            pipe.close()
        self._open.clear()

    def _patience(self, seconds: float) -> float:
        if self._exit_handle is not None or self.exited:
            return seconds
        return min(seconds, POLL_WHILE_OPEN if self._open else POLL_AT_THE_END)

    def _watch_exit(self) -> int | None:
        if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
            return None
        try:
            handle = os.pidfd_open(self._child.pid)
        except OSError:
            return None
        self._selector.register(handle, selectors.EVENT_READ)
        return handle

    def _note_exit(self) -> None:
        self.exited = True
        if self._exit_handle is not None:
            self._selector.unregister(self._exit_handle)
            os.close(self._exit_handle)
            self._exit_handle = None

    def _read(self, stream: Stream) -> list[tuple[Stream, bytes]]:
        pipe = self._open[stream]
        try:
            chunk = os.read(pipe.fileno(), CHUNK)
        except BlockingIOError:
            return []
        if chunk:
            return [(stream, chunk)]
        self._selector.unregister(pipe.fileno())
        pipe.close()
        del self._open[stream]
        return []

    def _start_input(self) -> None:
        pipe = self._child.stdin
        if pipe is None:
            return
        os.set_blocking(pipe.fileno(), False)
        self._write()
        self._watch_input()

    def _watch_input(self) -> None:
        """Let `wait` return when the child can take more input, as long as there is some."""
        pipe, awaited = self._child.stdin, bool(self._unwritten)
        if pipe is None or pipe.closed or awaited is self._input_registered:
            return
        self._input_registered = awaited
        if awaited:
            self._selector.register(pipe.fileno(), selectors.EVENT_WRITE)
        else:
            self._selector.unregister(pipe.fileno())

    def _write(self) -> None:
        pipe = self._child.stdin
        assert pipe is not None
        try:
            del self._unwritten[: os.write(pipe.fileno(), self._unwritten[:CHUNK])]
        except BlockingIOError:
            return
        except OSError:
            self._unwritten.clear()
        if not self._unwritten and not self._keep_input_open:
            self.close_input()
