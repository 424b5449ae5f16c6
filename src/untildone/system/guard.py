"""The guard: a small process that outlives this one, however it dies, and ends the agents that it leaves behind."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from untildone.system import orphans

CLOSE_WITHIN = 3.0
STARTS = 5

_PROGRAM = "import sys; sys.path.append(sys.argv[1]); import orphans; orphans.be_the_guard()"


class Guard:
    """One for all loops that this process drives. It is started by the first `watch`, and again if it dies."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: set[str] = set()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def watch(self, mark_name: str) -> None:
        """If this process dies, all that carry the mark end. Call it before the first of them is started."""
        with self._lock:
            self._watched.add(mark_name)
            self._tell(f"+{mark_name}\n")

    def forget(self, mark_name: str) -> None:
        with self._lock:
            self._watched.discard(mark_name)
            if self._process is not None:
                self._tell(f"-{mark_name}\n")

    def ensure(self) -> None:
        """Start it again if it died while something is watched: a system call, if not."""
        with self._lock:
            if self._watched and not self.alive:
                self._restart()

    def close(self) -> None:
        """Let it go. What is still watched is ended."""
        with self._lock:
            process, self._process = self._process, None
            needed = bool(self._watched)
            self._watched.clear()
        if process is None:
            return
        if not needed:
            process.kill()
        _close_orders(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(CLOSE_WITHIN if needed else None)

    def _tell(self, order: str) -> None:
        if not self.alive:
            return self._restart()
        try:
            self._write(order)
        except OSError:
            self._restart()

    def _restart(self) -> None:
        """One that dies before it has its orders is replaced at once; if that fails several times, by the next `ensure`."""
        for _ in range(STARTS):
            if self._process is not None:
                _close_orders(self._process)
            self._process = _start()
            with contextlib.suppress(OSError):
                self._write("".join(f"+{mark_name}\n" for mark_name in sorted(self._watched)))
                return

    def _write(self, orders: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(orders.encode())


@dataclass(frozen=True, slots=True)
class Watched:
    """Processes that are to leave nothing behind."""

    mark: Mapping[str, str]
    """What their environment has to carry."""
    groups: set[int] = field(default_factory=set)
    """Process groups in which something outlived the program that began it."""


@contextlib.contextmanager
def guarded(name: str) -> Iterator[Watched]:
    """What is started here, beside any loop, ends with the block, or with this process, however that dies."""
    mark, value = orphans.mark(f"{name}-{os.urandom(8).hex()}")
    guard, watched = Guard(), Watched({mark: value})
    guard.watch(mark)
    try:
        yield watched
    finally:
        try:
            orphans.end_all(mark, groups=frozenset(watched.groups))
            guard.forget(mark)
        finally:
            guard.close()


def _close_orders(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()


def _start() -> subprocess.Popen[bytes]:
    """Its program is imported, not run as a script, because only what is imported is compiled just once."""
    without_site = ["-S"] if orphans.HAS_PROC else []
    return subprocess.Popen(
        [sys.executable, "-I", *without_site, "-c", _PROGRAM, os.path.dirname(orphans.__file__)],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if not name.startswith(orphans.PREFIX)},
        cwd=os.path.abspath(os.sep),
        start_new_session=True,
    )
