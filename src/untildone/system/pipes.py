"""The pipes of a running child: what it prints comes out, its input goes in, and neither waits for the other."""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import subprocess
import sys
import threading
from enum import Enum
from typing import IO, Protocol

CHUNK = 64 * 1024
"""Larger pieces take longer: memory for them is fetched from the system each time."""
POLL_WHILE_OPEN = 0.02
POLL_AT_THE_END = 0.001


class Stream(Enum):
    OUTPUT = "output"
    ERRORS = "errors"


class Pipes(Protocol):
    exited: bool
    """The child itself has ended; others may still hold its pipes open."""

    def wait(self, seconds: float) -> list[tuple[Stream, bytes]]:
        """What was printed. Comes back when there is some, when the child ends or closes a pipe, or after `seconds`."""
        ...

    @property
    def all_read(self) -> bool: ...

    def close_input(self) -> None: ...

    def close(self) -> None: ...


def connect(child: subprocess.Popen[bytes], stdin: bytes | None) -> Pipes:
    return ThreadedPipes(child, stdin) if sys.platform == "win32" else SelectedPipes(child, stdin)


class SelectedPipes:
    """One selector for the pipes and, on Linux, for the end of the child: nothing is polled, no thread is started."""

    def __init__(self, child: subprocess.Popen[bytes], stdin: bytes | None) -> None:
        self.exited = False
        self._child = child
        self._selector = selectors.DefaultSelector()
        self._open = {
            stream: pipe for stream, pipe in ((Stream.OUTPUT, child.stdout), (Stream.ERRORS, child.stderr)) if pipe
        }
        for stream, pipe in self._open.items():
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe.fileno(), selectors.EVENT_READ, stream)
        self._exit_handle = self._watch_exit()
        self._unwritten = memoryview(stdin or b"")
        self._input_registered = False
        self._start_input()

    @property
    def all_read(self) -> bool:
        return not self._open

    def wait(self, seconds: float) -> list[tuple[Stream, bytes]]:
        chunks = []
        for key, _ in self._selector.select(self._patience(seconds)):
            if isinstance(key.data, Stream):
                chunks += self._read(key.data)
            elif key.fd == self._exit_handle:
                self._note_exit()
            else:
                self._write()
        if self._exit_handle is None and not self.exited:
            self.exited = self._child.poll() is not None
        return chunks

    def close_input(self) -> None:
        pipe = self._child.stdin
        if pipe is None or pipe.closed:
            return
        if self._input_registered:
            self._selector.unregister(pipe.fileno())
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
        if not pipe.closed:
            self._selector.register(pipe.fileno(), selectors.EVENT_WRITE)
            self._input_registered = True

    def _write(self) -> None:
        pipe = self._child.stdin
        assert pipe is not None
        try:
            self._unwritten = self._unwritten[os.write(pipe.fileno(), self._unwritten[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:
            self._unwritten = self._unwritten[:0]
        if not self._unwritten:
            self.close_input()


class ThreadedPipes:
    """A thread a pipe, for systems that cannot select on pipes."""

    def __init__(self, child: subprocess.Popen[bytes], stdin: bytes | None) -> None:
        self.exited = False
        self._child = child
        self._closed = False
        self._arrived: queue.Queue[tuple[Stream, bytes]] = queue.Queue(maxsize=16)
        self._open: set[Stream] = set()
        for stream, pipe in ((Stream.OUTPUT, child.stdout), (Stream.ERRORS, child.stderr)):
            if pipe is not None:
                self._open.add(stream)
                threading.Thread(target=self._pump, args=(stream, pipe), daemon=True).start()
        if child.stdin is not None:
            threading.Thread(target=self._write, args=(child.stdin, stdin or b""), daemon=True).start()

    @property
    def all_read(self) -> bool:
        return not self._open

    def wait(self, seconds: float) -> list[tuple[Stream, bytes]]:
        self.exited = self.exited or self._child.poll() is not None
        try:
            stream, chunk = self._arrived.get(timeout=min(seconds, POLL_WHILE_OPEN if self._open else POLL_AT_THE_END))
        except queue.Empty:
            return []
        if chunk:
            return [(stream, chunk)]
        self._open.discard(stream)
        return []

    def close_input(self) -> None:
        """The writing thread closes it: closing a pipe under a blocked write would block here too."""

    def close(self) -> None:
        """The threads own their pipes; they are daemons, and end with the next thing that is printed."""
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._arrived.get_nowait()

    def _pump(self, stream: Stream, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError), pipe:
            while not self._closed and (chunk := os.read(pipe.fileno(), CHUNK)):
                self._arrived.put((stream, chunk))
        self._arrived.put((stream, b""))

    def _write(self, pipe: IO[bytes], stdin: bytes) -> None:
        with contextlib.suppress(OSError), pipe:
            unwritten = memoryview(stdin)
            while unwritten:
                unwritten = unwritten[os.write(pipe.fileno(), unwritten[:CHUNK]) :]
