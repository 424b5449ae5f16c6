"""Finds the processes of a run and signals only those."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from proof.chaos.sandbox import RUN

from untildone.system import orphans


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    argv: tuple[str, ...]
    marks: frozenset[str]
    """Marks of the loops that the process belongs to."""
    start: int
    """Start time in kernel clock ticks."""

    @property
    def kind(self) -> str:
        # The shell that starts bubblewrap becomes it.
        if os.path.basename(self.argv[0]) == "bwrap" or (
            self.argv[:2] == ("/bin/sh", "-c") and "--seccomp" in self.argv
        ):
            return "box"
        if any(argument.endswith("scripted_agent.py") for argument in self.argv):
            return "agent"
        if any("guard_main" in argument for argument in self.argv):
            return "guard"
        if any("multiprocessing" in argument for argument in self.argv):
            return "command"
        return "background" if "_drive" in self.argv else "child"


def of_run(run: str) -> list[Process]:
    """Every process marked with the run's name, except this one."""
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [process for pid in pids if pid != os.getpid() and (process := look(pid, run)) is not None]


def every() -> Iterator[int]:
    """Every process but this one."""
    return (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid())


def command_line(pid: int) -> bytes:
    """The words of a process, each with a NUL at its end; empty if it has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def of_loop(run: str, loop_id: str) -> list[Process]:
    """The agents and checks of a loop and their descendants."""
    mark, _ = orphans.mark(loop_id)
    return [process for process in of_run(run) if mark in process.marks]


def children_of(pid: int, run: str) -> list[Process]:
    """The living children of a process. Asks the kernel for them directly, because scanning all processes is slow."""
    pids: set[int] = set()
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                pids |= {int(word) for word in file.read().split()}
    return [child for each in pids if (child := look(each, run)) is not None]


def inside(started: list[Process], run: str) -> list[Process]:
    """The processes themselves; in the place of one that keeps a box, those that it started in the box."""
    boxes = [each for each in started if each.kind == "box"]
    others = [each for each in started if each.kind != "box"]
    return [*others, *(each for box in boxes for each in inside(children_of(box.pid, run), run))]


def guards_of(run: str, runner: int) -> list[Process]:
    return [child for child in children_of(runner, run) if child.kind == "guard"]


def look(pid: int, run: str) -> Process | None:
    """Read a process from /proc; None if it is gone or not part of the run."""
    try:
        environment = dict(_variables(pid))
        if environment.get(RUN) != run:
            return None
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent, *fields = file.read().rpartition(b")")[2].split()
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            argv = tuple(argument.decode(errors="replace") for argument in file.read().split(b"\0"))
    except (OSError, ValueError):
        return None
    is_harness = int(parent) == os.getpid() and any("multiprocessing" in argument for argument in argv)
    return (
        None
        if state in b"ZX" or is_harness
        else Process(pid, int(parent), argv, orphans.marks_in(environment), int(fields[17]))
    )


def _variables(pid: int) -> Iterator[tuple[str, str]]:
    with open(f"/proc/{pid}/environ", "rb") as file:
        for variable in file.read().split(b"\0"):
            name, _, value = variable.decode(errors="replace").partition("=")
            yield name, value


def send(pid: int, number: int, run: str) -> bool:
    """Signal a process of this run; return whether it existed. A pidfd protects against pid reuse."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if look(pid, run) is None:
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def kill(pid: int, run: str, patience: float = 2.0) -> bool:
    """Send SIGKILL; return whether that ended the process: SIGSTOP comes first and shows that it was alive."""
    if not send(pid, signal.SIGSTOP, run):
        return False
    was_stopped = is_stopped(pid, patience)
    return send(pid, signal.SIGKILL, run) and was_stopped


def is_stopped(pid: int, patience: float = 2.0) -> bool:
    """Wait until the process is stopped; return False if it ends or does not stop in time."""
    deadline = time.monotonic() + patience
    while (state := _state(pid)) not in ("T", "") and time.monotonic() < deadline:
        time.sleep(0.001)
    return state == "T"


def _state(pid: int) -> str:
    """The state letter of the process; empty if it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state = file.read().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return ""
    return "" if state in "ZX" else state


def gone(pids: list[int], run: str, patience: float) -> list[int]:
    """Wait for processes to end; return those that still exist after `patience` seconds."""
    deadline = time.monotonic() + patience
    while (left := [pid for pid in pids if look(pid, run) is not None]) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def end_everything(run: str) -> int:
    """Kill all remaining processes of a run; return how many there were."""
    ended = 0
    for _ in range(5):
        left = of_run(run)
        ended += sum(send(process.pid, signal.SIGKILL, run) for process in left)
        if not left:
            break
        time.sleep(0.1)
    return ended
