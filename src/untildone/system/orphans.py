"""No orphan: finding and ending every process that a loop started.

Each process of a loop carries the loop's mark, an environment variable, and so do its children. This file is also
all of the guard's program (see guard.py): so it imports little of the standard library, and starts in milliseconds.
"""

from __future__ import annotations

import _thread
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
CHASES = 30
"""How often, after a scan in which one vanished, the newest process is looked at."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.002, 0.02
"""Seconds between two scans: the longer, the longer something takes to end by itself."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as Set
    from typing import Any


class Process:
    """One running process, as a scan saw it. `start` tells it from a later one with the same number."""

    __slots__ = ("group", "identity", "marks", "parent", "pid", "session", "start")

    def __init__(self, pid: int, parent: int, group: int, session: int, start: float, marks: Set[str]) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.start = start
        self.marks = marks
        self.identity = (pid, start)


def mark(loop_id: str) -> tuple[str, str]:
    """Name and value of the variable that the processes of a loop carry; those of a nested loop carry two."""
    spelled = (chr(byte) if chr(byte).isalnum() and byte < 128 else f"_{byte:02x}" for byte in loop_id.encode())
    return PREFIX + "".join(spelled), loop_id


def marks_in(env: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name for name in env if name.startswith(PREFIX))


def find(mark_name: str) -> list[int]:
    """The processes that carry the mark, without this one and its ancestors."""
    seen, _ = scan()
    protected = _self_and_ancestors(seen)
    return sorted(pid for pid, process in seen.items() if mark_name in process.marks and pid not in protected)


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
    kill_from, pause = time.monotonic() + grace, SHORTEST_PAUSE
    while hunt.goes_on():
        now = time.monotonic()
        if now >= kill_from + KILL_WITHIN:
            break
        if now >= kill_from:
            hunt.kill()
        else:
            hunt.terminate()
        is_patient = now < kill_from and hunt.sees_some
        pause = min(pause * 1.5, LONGEST_PAUSE, kill_from - now) if is_patient else SHORTEST_PAUSE
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

    @property
    def sees_some(self) -> bool:
        """Whether the last scan found anything."""
        return bool(self._doomed)

    def goes_on(self) -> bool:
        """Scan. What forks quickly can slip through one scan: so nothing is left only if several find nothing."""
        seen, doubt = scan()
        protected = self._spare | _self_and_ancestors(seen)
        self._doomed = _belonging(seen, self._marks, self._groups, protected)
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
        self._signal_groups(signal.SIGKILL)
        self._signal(list(self._doomed.values()), signal.SIGKILL)

    def _signal_groups(self, number: int) -> None:
        """A whole group at a time where that hits nobody else: in one step, which no amount of forking outruns."""
        self.ended |= {each.identity for each in self._doomed.values()}
        for group in {each.group for each in self._doomed.values()} & self._groups:
            _signal_group(group, number)

    def _signal(self, processes: list[Process], number: int) -> None:
        for process in processes:
            _signal_process(process, number)


def _belonging(seen: dict[int, Process], marks: Set[str], groups: Set[int], protected: Set[int]) -> dict[int, Process]:
    """The marked and the members of the groups, then all their descendants and all in the sessions that they lead."""
    doomed: dict[int, Process] = {}
    found = [
        each
        for each in seen.values()
        if not marks.isdisjoint(each.marks) or not groups.isdisjoint((each.pid, each.group, each.session))
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


class _Scanner:
    """Scans for all threads that ask at the same moment: one that begins after they asked serves them all."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._begun = 0
        self._found: tuple[dict[int, Process], int] | None = None
        self._known: dict[bytes, Set[str]] = {}
        """The marks of the programs that the last scan saw. A process that becomes another program is looked at again."""

    def scan(self) -> tuple[dict[int, Process], int]:
        begun_before = self._begun
        with self._lock:
            if self._begun == begun_before or self._found is None:
                self._begun += 1
                self._found = None
                self._found = self._scan_proc() if HAS_PROC else _scan_elsewhere()
            return self._found

    def _scan_proc(self) -> tuple[dict[int, Process], int]:
        known, self._known = self._known, {}
        seen: dict[int, Process] = {}
        # The newest first: one that forks, and is gone, and forks again, is caught before it moves on.
        pids = sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True)
        doubt = max([self._see(pid, seen, known) for pid in pids], default=SURE)
        if doubt == VANISHED:
            self._chase(seen)
        return seen, doubt

    def _see(self, pid: int, seen: dict[int, Process], known: dict[bytes, Set[str]]) -> int:
        """Look at one process; the doubt that is left."""
        try:
            stat = _read_stat(pid)
            if stat[_STATE] in b"ZX":
                return VANISHED if _is_new(stat) else SURE
            marks = _marks_of(pid, stat) if (told := known.get(_program(pid, stat))) is None else told
        except OSError:
            return VANISHED
        seen[pid] = _process(pid, stat, marks or NO_MARKS)
        if marks is None:
            return STARTING if _is_new(stat) else SURE
        self._known[_program(pid, stat)] = marks
        return SURE

    def _chase(self, seen: dict[int, Process]) -> None:
        """Look at the newest process, again and again: one that forks faster than all can be looked at is always the newest."""
        for _ in range(CHASES):
            newest = int(_read("/proc/loadavg").split()[-1])
            if newest not in seen:
                self._see(newest, seen, {})


HAS_PROC = os.path.exists("/proc/self/environ")
NO_MARKS: Set[str] = frozenset()
_STATE, _PARENT, _GROUP, _SESSION, _FLAGS, _START, _CODE, _ENVIRON = 0, 1, 2, 3, 6, 19, 23, 47
"""Places in /proc/PID/stat, behind the name."""
_KERNEL_THREAD = 0x00200000
"""Among the flags: it has no environment."""
_scanner = _Scanner()


def scan() -> tuple[dict[int, Process], int]:
    """All running processes, and the doubt left: how many such scans must find nothing before that is believed."""
    return _scanner.scan()


def _program(pid: int, stat: list[bytes]) -> bytes:
    """The process and what it executes: where its code and its environment lie changes with every exec."""
    return b"%d %s %s %s" % (pid, stat[_START], stat[_CODE], b" ".join(stat[_ENVIRON : _ENVIRON + 2]))


def _marks_of(pid: int, stat: list[bytes]) -> Set[str] | None:
    """None: it has no environment, maybe not yet."""
    if int(stat[_FLAGS]) & _KERNEL_THREAD:
        return NO_MARKS
    try:
        environ = _read(f"/proc/{pid}/environ")
    except PermissionError:
        return NO_MARKS
    if PREFIX.encode() not in environ:
        return NO_MARKS if environ else None
    names = (entry.partition(b"=")[0].decode(errors="replace") for entry in environ.split(b"\0"))
    return frozenset(name for name in names if name.startswith(PREFIX))


def _process(pid: int, stat: list[bytes], marks: Set[str]) -> Process:
    parent, group, session = int(stat[_PARENT]), int(stat[_GROUP]), int(stat[_SESSION])
    return Process(pid, parent, group, session, float(stat[_START]), marks)


def _is_new(stat: list[bytes]) -> bool:
    """Started within the last second."""
    uptime = float(_read("/proc/uptime").split()[0])
    return uptime - float(stat[_START]) / os.sysconf("SC_CLK_TCK") < 1


def _read_stat(pid: int) -> list[bytes]:
    fields = _read(f"/proc/{pid}/stat", most=1).rpartition(b")")[2].split()
    if len(fields) <= _START:
        raise ProcessLookupError(pid)
    return fields


def _read(path: str, most: int = 1 << 30) -> bytes:
    """At most so many pieces of it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = b""
        while most and (more := os.read(descriptor, 65536)):
            content += more
            most -= 1
        return content
    finally:
        os.close(descriptor)


def start_of(pid: int) -> float | None:
    """When a running process began, by a clock of the system's own; None: there is none with this number."""
    try:
        return None if HAS_PROC and _read_stat(pid)[_STATE] in b"ZX" else _start_of(pid)
    except OSError:
        return None


def _start_of(pid: int) -> float:
    if HAS_PROC:
        return float(_read_stat(pid)[_START])
    psutil = _psutil()
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error as error:
        raise ProcessLookupError(pid) from error


def _scan_elsewhere() -> tuple[dict[int, Process], int]:
    psutil = _psutil()
    seen: dict[int, Process] = {}
    doubt = SURE
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            group, session = _group_and_session(process.pid)
            marks = frozenset(name for name in _environ_elsewhere(process) if name.startswith(PREFIX))
            seen[process.pid] = Process(process.pid, process.ppid(), group, session, process.create_time(), marks)
        except (psutil.Error, OSError):
            doubt = VANISHED
    return seen, doubt


def _psutil() -> Any:
    """Imported only where there is no /proc: the guard does without it elsewhere."""
    import importlib

    return importlib.import_module("psutil")


def _group_and_session(pid: int) -> tuple[int, int]:
    return os.getpgid(pid), os.getsid(pid)


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
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    stand_guard(sys.stdin.buffer)
