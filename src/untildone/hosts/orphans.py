"""No orphan: finding and ending every process that a loop started.

Each process of a loop carries the loop's mark, an environment variable, and so do its children. This file is also
all of the guard's program (see guard.py): so it imports little of the standard library, and starts in milliseconds.
"""

from __future__ import annotations

import os
import signal
import sys
import time

PREFIX = "UNTILDONE_MARK_"
GRACE = 0.5
"""How long, in seconds, processes may take to end by themselves before they are killed."""
KILL_WITHIN = 5.0
"""How long, in seconds, killing is tried again while new processes appear."""
SURE, VANISHED, STARTING = 1, 3, 8
"""The doubt after a scan: none; a process vanished, maybe after a fork; one is too new to have an environment."""
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)

KERNEL_THREADS = 2
"""The parent of all threads of the kernel, which have no environment."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as Set
    from typing import Any


class Process:
    """One running process, as a scan saw it. `start` tells it from a later one with the same number."""

    __slots__ = ("group", "identity", "marked", "parent", "pid", "session", "start")

    def __init__(self, pid: int, parent: int, group: int, session: int, start: float, *, marked: bool) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.start = start
        self.marked = marked
        self.identity = (pid, start)


def mark(loop_id: str) -> tuple[str, str]:
    """Name and value of the variable that the processes of a loop carry; those of a nested loop carry two."""
    spelled = (chr(byte) if chr(byte).isalnum() and byte < 128 else f"_{byte:02x}" for byte in loop_id.encode())
    return PREFIX + "".join(spelled), loop_id


def marks_in(env: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name for name in env if name.startswith(PREFIX))


def find(mark_name: str) -> list[int]:
    """The processes that carry the mark, without this one and its ancestors."""
    seen, _ = scan({mark_name})
    protected = _self_and_ancestors(seen)
    return sorted(pid for pid, process in seen.items() if process.marked and pid not in protected)


def end_all(
    mark_name: str, spare: Set[int] = frozenset(), *, groups: Set[int] = frozenset(), grace: float = GRACE
) -> int:
    """End all that carry the mark, their descendants and the members of `groups`; how many there were."""
    return end_marked({mark_name}, spare, groups=groups, grace=grace)


def end_marked(
    marks: Set[str], spare: Set[int] = frozenset(), *, groups: Set[int] = frozenset(), grace: float = GRACE
) -> int:
    """End all that carry one of the marks: ask them to, then kill them, until no more are found."""
    hunt = _Hunt(marks, spare, groups)
    kill_from, pause = time.monotonic() + grace, 0.002
    while hunt.goes_on():
        now = time.monotonic()
        if now >= kill_from + KILL_WITHIN:
            break
        if now < kill_from:
            hunt.terminate()
            pause = min(pause * 1.5, 0.05, kill_from - now)
        else:
            hunt.kill()
            pause = 0.002
        time.sleep(pause)
    return len(hunt.ended)


class _Hunt:
    """The pursuit of everything that belongs to some marks, over many scans."""

    def __init__(self, marks: Set[str], spare: Set[int], groups: Set[int]) -> None:
        self.ended: set[tuple[int, float]] = set()
        self._marks = marks
        self._spare = spare
        self._groups = set(groups)
        self._doomed: dict[int, Process] = {}
        self._empty_scans = 0

    def goes_on(self) -> bool:
        """Scan. What forks quickly can slip through one scan: so nothing is left only if several find nothing."""
        seen, doubt = scan(self._marks)
        protected = self._spare | _self_and_ancestors(seen)
        self._doomed = _belonging(seen, self._groups, protected)
        others = {process.group for pid, process in seen.items() if pid not in self._doomed}
        self._groups = (self._groups | {process.group for process in self._doomed.values()}) - others - {0}
        self._empty_scans = 0 if self._doomed else self._empty_scans + 1
        return self._empty_scans < max(doubt, VANISHED if self.ended else SURE)

    def terminate(self) -> None:
        """Once only: what a process starts in order to tidy up after itself is left in peace until it is killed."""
        if not self.ended:
            self._signal_groups(signal.SIGTERM)
            self._signal([each for each in self._doomed.values() if each.group not in self._groups], signal.SIGTERM)

    def kill(self) -> None:
        self._signal_groups(KILL)
        self._signal(list(self._doomed.values()), KILL)

    def _signal_groups(self, number: int) -> None:
        """A whole group at a time where that hits nobody else: in one step, which no amount of forking outruns."""
        self.ended |= {each.identity for each in self._doomed.values()}
        for group in {each.group for each in self._doomed.values()} & self._groups:
            _signal_group(group, number)

    def _signal(self, processes: list[Process], number: int) -> None:
        for process in processes:
            _signal_process(process, number)


def _belonging(seen: dict[int, Process], groups: Set[int], protected: Set[int]) -> dict[int, Process]:
    """The marked and the members of the groups, then all their descendants and all in the sessions that they lead."""
    doomed: dict[int, Process] = {}
    found = [
        each for each in seen.values() if each.marked or not groups.isdisjoint((each.pid, each.group, each.session))
    ]
    while found := [each for each in found if each.pid not in protected and each.pid not in doomed]:
        doomed.update((each.pid, each) for each in found)
        found = [each for each in seen.values() if each.parent in doomed or each.session in doomed]
    return doomed


def _self_and_ancestors(seen: dict[int, Process]) -> set[int]:
    line, pid = {0, 1}, os.getpid()
    while pid not in line:
        line.add(pid)
        pid = seen[pid].parent if pid in seen else 0
    return line


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        return


def _signal_process(process: Process, number: int) -> None:
    """Signal exactly the process that was seen, never another one that got its number since."""
    try:
        handle = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        handle = None
    try:
        if _start_of(process.pid) != process.start:
            return
        if handle is None:
            os.kill(process.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return
    finally:
        if handle is not None:
            os.close(handle)


def scan(marks: Set[str]) -> tuple[dict[int, Process], int]:
    """All running processes, and the doubt left: how many such scans must find nothing before that is believed."""
    return _scan_proc(marks) if HAS_PROC else _scan_elsewhere(marks)


HAS_PROC = os.path.exists("/proc/self/environ")


def _scan_proc(marks: Set[str]) -> tuple[dict[int, Process], int]:
    needles = [f"\0{name}=".encode() for name in marks]
    seen: dict[int, Process] = {}
    doubt = SURE
    # The newest first: one that forks, and is gone, and forks again, is caught before it moves on.
    for pid in sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True):
        try:
            state, parent, group, session, start = _read_stat(pid)
            if state in b"ZX":
                continue
            environ = b"\0" + _read(f"/proc/{pid}/environ") if needles else b""
        except PermissionError:
            environ = b""
        except OSError:
            doubt = max(doubt, VANISHED)
            continue
        if environ == b"\0" and parent != KERNEL_THREADS and _is_new(start):
            doubt = STARTING
        marked = any(needle in environ for needle in needles)
        seen[pid] = Process(pid, parent, group, session, start, marked=marked)
    return seen, doubt


def _is_new(start: float) -> bool:
    """Started within the last second."""
    uptime = float(_read("/proc/uptime").split()[0])
    return uptime - start / os.sysconf("SC_CLK_TCK") < 1


def _read_stat(pid: int) -> tuple[bytes, int, int, int, float]:
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) < 20:
        raise ProcessLookupError(pid)
    return fields[0], int(fields[1]), int(fields[2]), int(fields[3]), float(fields[19])


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = b""
        while more := os.read(descriptor, 65536):
            content += more
        return content
    finally:
        os.close(descriptor)


def _start_of(pid: int) -> float:
    if HAS_PROC:
        return _read_stat(pid)[4]
    psutil = _psutil()
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error as error:
        raise ProcessLookupError(pid) from error


def _scan_elsewhere(marks: Set[str]) -> tuple[dict[int, Process], int]:
    psutil = _psutil()
    seen: dict[int, Process] = {}
    doubt = SURE
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            group, session = _group_and_session(process.pid)
            marked = bool(marks) and not marks.isdisjoint(_environ_elsewhere(process))
            seen[process.pid] = Process(
                process.pid, process.ppid(), group, session, process.create_time(), marked=marked
            )
        except (psutil.Error, OSError):
            doubt = VANISHED
    return seen, doubt


def _psutil() -> Any:
    """Imported only where there is no /proc: the guard does without it elsewhere."""
    import importlib

    return importlib.import_module("psutil")


def _group_and_session(pid: int) -> tuple[int, int]:
    return (os.getpgid(pid), os.getsid(pid)) if hasattr(os, "getsid") else (0, 0)


def _environ_elsewhere(process: Any) -> Set[str]:
    psutil = _psutil()
    try:
        return frozenset(process.environ())
    except (psutil.Error, OSError):
        return frozenset()


def stand_guard(orders: Iterable[bytes]) -> None:
    """Obey `+MARK` and `-MARK`; when the orders end, because their giver died, end everything that is still watched."""
    watched: set[str] = set()
    for order in orders:
        name = order[1:].strip().decode()
        if order.startswith(b"+"):
            watched.add(name)
        else:
            watched.discard(name)
    if watched:
        end_marked(watched)


def be_the_guard() -> None:
    for ignored in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, ignored):
            signal.signal(getattr(signal, ignored), signal.SIG_IGN)
    stand_guard(sys.stdin.buffer)
