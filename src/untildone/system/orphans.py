"""Finds and ends every process that a loop started.

Each process of a loop carries the loop's mark, an environment variable that its children inherit. This file is also
the whole program of the guard (see guard.py), so it imports little of the standard library and starts in milliseconds.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` imports `enum`, which takes as long as all of this
import _thread
import os
import sys
import time

PREFIX = "UNTILDONE_MARK_"
GRACE = 0.5
"""Seconds that processes have to end after SIGTERM before they are killed."""
KILL_WITHIN = 5.0
"""Seconds for which killing is repeated while new processes appear."""
SURE, VANISHED, STARTING = 1, 3, 8
"""How many scans in a row must find nothing: in the normal case; after a process vanished, perhaps after a fork; after one
was running that is too new to have an environment."""
LONGEST_LINE = 200
"""How many ancestors of a process are looked at."""
CHASES = 30
"""How often the newest process is inspected after a scan in which a process vanished."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.002, 0.02
"""Seconds between two scans. The pause grows while processes are still ending after SIGTERM."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as Set
    from typing import Any


class Process:
    """One running process. `start` distinguishes it from a later process with the same pid."""

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
    """Name and value of the environment variable of a loop's processes. Processes of a nested loop carry two."""
    spelled = (chr(byte) if chr(byte).isalnum() and byte < 128 else f"_{byte:02x}" for byte in loop_id.encode())
    return PREFIX + "".join(spelled), loop_id


def marked(mark_name: str) -> str:
    """The loop id that a mark was made from. Other processes are marked too: those of `verify` with `verify-…`, for example."""
    parts = mark_name.removeprefix(PREFIX).split("_")
    try:
        spelled = (bytes.fromhex(part[:2]) + part[2:].encode() for part in parts[1:])
        return b"".join((parts[0].encode(), *spelled)).decode()
    except ValueError:
        return ""


def marks_in(env: Mapping[str, str]) -> frozenset[str]:
    """The names of the marks in an environment."""
    return frozenset(name for name in env if name.startswith(PREFIX))


def find(mark_name: str) -> list[int]:
    """The pids of the processes that carry the mark, without this process and its ancestors."""
    running, _ = scan()
    protected = _self_and_ancestors(running)
    return sorted(pid for pid, process in running.items() if mark_name in process.marks and pid not in protected)


def end_all(
    mark_name: str, spare: Set[int] = frozenset(), *, groups: Set[int] = frozenset(), grace: float = GRACE
) -> int:
    """End the processes that carry the mark, their descendants and the members of `groups`. Returns how many there were.

    Processes of `spare` live on, with their descendants."""
    return end_marked({mark_name}, spare, groups=groups, grace=grace)


def end_marked(
    marks: Set[str], spare: Set[int] = frozenset(), *, groups: Set[int] = frozenset(), grace: float = GRACE
) -> int:
    """As `end_all`, for several marks: send SIGTERM, then SIGKILL, until a scan finds no more of them."""
    ending = _Termination(marks, spare, groups)
    kill_from, pause = time.monotonic() + grace, SHORTEST_PAUSE
    while ending.scan():
        now = time.monotonic()
        if now >= kill_from + KILL_WITHIN:
            break
        if now >= kill_from:
            ending.kill()
        else:
            ending.terminate()
        is_patient = now < kill_from and ending.found_any
        pause = min(pause * 1.5, LONGEST_PAUSE, kill_from - now) if is_patient else SHORTEST_PAUSE
        time.sleep(pause)
    return len(ending.ended)


def interrupt(pid: int) -> None:
    """Send SIGINT to a program with its process group. Of a box that is the program in it: SIGINT to its keeper would end the box."""
    running, _ = scan()
    while keeps_box(pid):
        inside = (each for each in running.values() if each.parent == pid)
        pid = min(((each.start, each.pid) for each in inside), default=(0.0, 0))[1]
    if pid in running:
        _signal_group(running[pid].group, signal.SIGINT)


class _Termination:
    """Ends all processes that belong to some marks, over repeated scans."""

    def __init__(self, marks: Set[str], spare: Set[int], groups: Set[int]) -> None:
        self.ended: set[tuple[int, float]] = set()
        self._marks = marks
        self._spare = spare
        self._groups = set(groups)
        self._targets: dict[int, Process] = {}
        self._empty_scans = 0

    @property
    def found_any(self) -> bool:
        """Whether the last scan found a process to end."""
        return bool(self._targets)

    def scan(self) -> bool:
        """Look for processes to end. Returns False when enough scans in a row found none: a quick fork can slip through one scan."""
        running, scans_needed = scan()
        protected = _with_descendants(running, self._spare) | _self_and_ancestors(running)
        protected |= _keepers_above(running, self._spare)
        self._targets = _targets_among(running, self._marks, self._groups, protected)
        others = {process.group for pid, process in running.items() if pid not in self._targets}
        self._groups = (self._groups | {process.group for process in self._targets.values()}) - others - {0}
        self._empty_scans = 0 if self._targets else self._empty_scans + 1
        return self._empty_scans < max(scans_needed, VANISHED if self.ended else SURE)

    def terminate(self) -> None:
        """Send SIGTERM, once only: a process that is started for a clean-up may run until it is killed.

        The keepers of boxes outside get none: they would end at once, and everything in the box with them. The one inside, which is in the
        group of the program, ignores it as the first process of its namespace."""
        if not self.ended:
            kept = [each for each in self._targets.values() if keeps_box(each.pid)]
            keepers = {each.pid: each.group for each in kept if not _is_first_in_namespace(each.pid)}
            groups = self._groups - set(keepers.values())
            self._signal_groups(signal.SIGTERM, groups)
            alone = (each for each in self._targets.values() if each.group not in groups and each.pid not in keepers)
            # The oldest first: a shell whose child has ended goes on with its next command.
            self._signal(sorted(alone, key=lambda each: (each.start, each.pid)), signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._signal_groups(signal.SIGKILL, self._groups)
        self._signal(list(self._targets.values()), signal.SIGKILL)

    def _signal_groups(self, number: int, groups: Set[int]) -> None:
        """Signal whole groups that contain no other process: that is atomic, so forking cannot outrun it."""
        self.ended |= {each.identity for each in self._targets.values()}
        for group in {each.group for each in self._targets.values()} & groups:
            _signal_group(group, number)

    def _signal(self, processes: list[Process], number: int) -> None:
        for process in processes:
            _signal_process(process, number)


def _targets_among(
    running: dict[int, Process], marks: Set[str], groups: Set[int], protected: Set[int]
) -> dict[int, Process]:
    """The marked processes and the members of the groups, with all their descendants and all members of sessions they lead."""
    targets: dict[int, Process] = {}
    fresh = [
        each
        for each in running.values()
        if not marks.isdisjoint(each.marks) or not groups.isdisjoint((each.pid, each.group, each.session))
    ]
    while fresh := [each for each in fresh if each.pid not in protected and each.pid not in targets]:
        targets.update((each.pid, each) for each in fresh)
        fresh = [each for each in running.values() if each.parent in targets or each.session in targets]
    return targets


def _with_descendants(running: dict[int, Process], pids: Set[int]) -> set[int]:
    found = set(pids)
    while more := {pid for pid, process in running.items() if process.parent in found and pid not in found}:
        found |= more
    return found


def _keepers_above(running: dict[int, Process], pids: Set[int]) -> set[int]:
    """The keepers of the boxes in which these processes run."""
    found: set[int] = set()
    for start in pids:
        pid = start
        while pid in running and (pid := running[pid].parent) not in found and keeps_box(pid):
            found.add(pid)
    return found


def keeps_box(pid: int) -> bool:
    """Whether a process is bubblewrap, whose end is the end of everything in its box."""
    try:
        return HAS_PROC and _read(f"/proc/{pid}/comm") == b"bwrap\n"
    except OSError:
        return False


def _is_first_in_namespace(pid: int) -> bool:
    """Whether a process is the first one of a process namespace, which gets no SIGTERM that it has no handler for."""
    try:
        rows = _read(f"/proc/{pid}/status").splitlines()
    except OSError:
        return False
    return any(row.startswith(b"NSpid:") and row.split()[2:] and row.split()[-1] == b"1" for row in rows)


def line_of(pid: int) -> list[Process]:
    """A process and its ancestors, the process first, without the first process of the system. Unreadable ones end the line."""
    running = {} if HAS_PROC else scan()[0]
    line: list[Process] = []
    while pid > 1 and len(line) < LONGEST_LINE:
        process = _process_now(pid) if HAS_PROC else running.get(pid)
        if process is None:
            break
        line.append(process)
        pid = process.parent
    return line


def _process_now(pid: int) -> Process | None:
    try:
        stat = _read_stat(pid)
        return _process(pid, stat, _marks_of(pid, stat) or NO_MARKS)
    except OSError:
        return None


def _self_and_ancestors(running: dict[int, Process]) -> set[int]:
    line, pid = {0, 1}, os.getpid()
    while pid not in line:
        line.add(pid)
        pid = running[pid].parent if pid in running else 0
    return line


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        return


def _signal_process(process: Process, number: int) -> None:
    """Signal exactly this process, never a later one with the same pid."""
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
    """Shares scans between threads: all threads that ask before a scan begins get its result."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._begun = 0
        self._result: tuple[dict[int, Process], int] | None = None
        self._known: dict[bytes, Set[str]] = {}
        """The marks that the last scan read, by process and program. A process that executes another program is read again."""

    def scan(self) -> tuple[dict[int, Process], int]:
        begun_before = self._begun
        with self._lock:
            if self._begun == begun_before or self._result is None:
                self._begun += 1
                self._result = None
                self._result = self._scan_proc() if HAS_PROC else _scan_psutil()
            return self._result

    def _scan_proc(self) -> tuple[dict[int, Process], int]:
        known, self._known = self._known, {}
        running: dict[int, Process] = {}
        # The newest first, to catch a process that keeps forking and exiting before it forks again.
        pids = sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True)
        scans_needed = max([self._inspect(pid, running, known) for pid in pids], default=SURE)
        if scans_needed == VANISHED:
            self._chase(running)
        return running, scans_needed

    def _inspect(self, pid: int, running: dict[int, Process], known: dict[bytes, Set[str]]) -> int:
        """Add one process to `running`. Returns how many scans are needed after this observation."""
        try:
            stat = _read_stat(pid)
            if stat[_STATE] in b"ZX":
                return VANISHED if _is_new(stat) else SURE
            program = _program(pid, stat)
            marks = _marks_of(pid, stat) if (cached := known.get(program)) is None else cached
        except OSError:
            return VANISHED
        running[pid] = _process(pid, stat, marks or NO_MARKS)
        if marks is None:
            return STARTING if _is_new(stat) else SURE
        self._known[program] = marks
        return SURE

    def _chase(self, running: dict[int, Process]) -> None:
        """Inspect the newest process repeatedly: one that forks faster than a scan takes is always the newest."""
        for _ in range(CHASES):
            newest = int(_read("/proc/loadavg").split()[-1])
            if newest not in running:
                self._inspect(newest, running, {})


HAS_PROC = os.path.exists("/proc/self/environ")
NO_MARKS: Set[str] = frozenset()
_STATE, _PARENT, _GROUP, _SESSION, _FLAGS, _START, _CODE, _ENVIRON = 0, 1, 2, 3, 6, 19, 23, 47
"""Indexes of the fields of /proc/PID/stat after the program name."""
_KERNEL_THREAD = 0x00200000
"""The flag of a kernel thread, which has no environment."""
_scanner = _Scanner()


def scan() -> tuple[dict[int, Process], int]:
    """All running processes by pid, and how many such scans must find nothing before nothing is left."""
    return _scanner.scan()


def _program(pid: int, stat: list[bytes]) -> bytes:
    """A key for a process and its program: the addresses of code and environment change with every exec."""
    return b"%d %s %s %s" % (pid, stat[_START], stat[_CODE], b" ".join(stat[_ENVIRON : _ENVIRON + 2]))


def _marks_of(pid: int, stat: list[bytes]) -> Set[str] | None:
    """The marks of a process; None if it has no environment, perhaps because it has just started."""
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
    """Whether the process started within the last second."""
    uptime = float(_read("/proc/uptime").split()[0])
    return uptime - float(stat[_START]) / os.sysconf("SC_CLK_TCK") < 1


def _read_stat(pid: int) -> list[bytes]:
    fields = _read(f"/proc/{pid}/stat", most=1).rpartition(b")")[2].split()
    if len(fields) <= _START:
        raise ProcessLookupError(pid)
    return fields


def _read(path: str, most: int = 1 << 30) -> bytes:
    """The content of a file, at most `most` chunks of it."""
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
    """The start time of a running process, in a unit of the operating system; None if no process has this pid."""
    try:
        return None if HAS_PROC and _read_stat(pid)[_STATE] in b"ZX" else _start_of(pid)
    except OSError:
        return None


def command_of(pid: int) -> list[str]:
    """The words of a process's command line; empty if it is not known."""
    try:
        if HAS_PROC:
            return os.fsdecode(_read(f"/proc/{pid}/cmdline")).split("\0")
        words: list[str] = _psutil().Process(pid).cmdline()
        return words
    except Exception:
        return []


def is_suspended(pid: int) -> bool:
    """Whether a process is suspended by a signal or a debugger, so that it does nothing."""
    try:
        if HAS_PROC:
            return _read_stat(pid)[_STATE] in b"Tt"
        psutil = _psutil()
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except Exception:
        return False


def _start_of(pid: int) -> float:
    if HAS_PROC:
        return float(_read_stat(pid)[_START])
    psutil = _psutil()
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error as error:
        raise ProcessLookupError(pid) from error


def _scan_psutil() -> tuple[dict[int, Process], int]:
    psutil = _psutil()
    running: dict[int, Process] = {}
    scans_needed = SURE
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            group, session = _group_and_session(process.pid)
            marks = frozenset(name for name in _environ_psutil(process) if name.startswith(PREFIX))
            running[process.pid] = Process(process.pid, process.ppid(), group, session, process.create_time(), marks)
        except (psutil.Error, OSError):
            scans_needed = VANISHED
    return running, scans_needed


def _psutil() -> Any:
    """Imported only where there is no /proc, so that the guard starts quickly on Linux."""
    import importlib

    return importlib.import_module("psutil")


def _group_and_session(pid: int) -> tuple[int, int]:
    return os.getpgid(pid), os.getsid(pid)


def _environ_psutil(process: Any) -> Set[str]:
    psutil = _psutil()
    try:
        return frozenset(process.environ())
    except (psutil.Error, OSError):
        return frozenset()


def follow_commands(commands: Iterable[bytes]) -> None:
    """Follow the commands `+MARK` and `-MARK`. When they end, because the parent closed the pipe or died, end the watched processes."""
    watched: set[str] = set()
    for command in commands:
        name = command[1:].strip().decode()
        if command.startswith(b"+"):
            watched.add(name)
        else:
            watched.discard(name)
    if watched:
        end_marked(watched)


def guard_main() -> None:
    """The program of the guard: reads its commands from standard input."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    follow_commands(sys.stdin.buffer)
