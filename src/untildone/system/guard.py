"""The guard: a small process that survives the death of this one and ends the agents that this one leaves behind."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from untildone.system import inside, loading, orphans
from untildone.system.program import apart

CLOSE_WITHIN = 3.0
"""Seconds that `close` waits for the guard to end the processes that are still watched."""
STARTS = 5
"""How often a guard that dies before it has read its commands is replaced at once."""

_PROGRAM = "import sys; sys.path.append(sys.argv[1]); import orphans; orphans.guard_main()"


class Guard:
    """The guard of this process, one for all loops. The first `watch` starts it; it is restarted if it dies."""

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
        """End every process that carries the mark if this process dies. Call it before the first of them starts."""
        with self._lock:
            self._watched.add(mark_name)
            self._send(f"+{mark_name}\n")

    def forget(self, mark_name: str) -> None:
        """Stop watching a mark."""
        with self._lock:
            self._watched.discard(mark_name)
            if self._process is not None:
                self._send(f"-{mark_name}\n")

    def ensure(self) -> None:
        """Restart the guard if it died while marks are watched. Costs one system call if it is alive."""
        with self._lock:
            if self._watched and not self.alive:
                self._restart()

    def close(self) -> None:
        """End the guard, which ends the processes that are still watched."""
        with self._lock:
            process, self._process = self._process, None
            needed = bool(self._watched)
            self._watched.clear()
        if process is None:
            return
        if not needed:
            process.kill()
        _close_input(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(CLOSE_WITHIN if needed else None)

    def _send(self, command: str) -> None:
        if not self.alive:
            return self._restart()
        try:
            self._write(command)
        except OSError:
            self._restart()

    def _restart(self) -> None:
        """Start a guard and send it every watched mark. After `STARTS` failures, the next `ensure` tries again."""
        for _ in range(STARTS):
            if self._process is not None:
                _close_input(self._process)
            self._process = apart.start(_start, frozenset(self._watched))
            with contextlib.suppress(OSError):
                self._write("".join(f"+{mark_name}\n" for mark_name in sorted(self._watched)))
                return

    def _write(self, commands: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(commands.encode())


@dataclass(frozen=True, slots=True)
class Watched:
    """Processes that are ended together with everything they start."""

    mark: Mapping[str, str]
    """The variable that their environment must contain."""
    groups: set[int] = field(default_factory=set)
    """Process groups with members that outlived the program that started them."""


@contextlib.contextmanager
def guarded(name: str) -> Iterator[Watched]:
    """Processes outside any loop that carry this mark end with the block, or with this process if it dies.

    The mark is sealed: an agent cannot make one up and pass for such a process."""
    mark, value = orphans.mark(inside.sealed_name(name))
    guard, watched = Guard(), Watched({mark: value})
    with apart.block(mark):
        guard.watch(mark)
        try:
            yield watched
        finally:
            try:
                orphans.end_all(mark, groups=frozenset(watched.groups))
                guard.forget(mark)
            finally:
                guard.close()


def _close_input(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()


def _start() -> subprocess.Popen[bytes]:
    """Start the guard process. Its program is imported, not run as a script, because Python caches the bytecode of imports only."""
    without_site = ["-S"] if orphans.HAS_PROC else []
    return subprocess.Popen(
        [sys.executable, "-I", *without_site, "-c", _PROGRAM, os.path.dirname(orphans.__file__)],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: value for name, value in loading.without(os.environ).items() if not name.startswith(orphans.PREFIX)},
        cwd=os.path.abspath(os.sep),
        start_new_session=True,
    )
