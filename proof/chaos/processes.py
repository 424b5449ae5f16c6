"""Finding the processes of a run, and signalling exactly those."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from proof.chaos.ground import RUN

from untildone.system import orphans


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    words: tuple[str, ...]
    marks: frozenset[str]
    """Of the loops that it belongs to."""
    start: int
    """When it was started, in ticks of the kernel."""

    @property
    def kind(self) -> str:
        if any(word.endswith("scripted_agent.py") for word in self.words):
            return "agent"
        if any("guard_main" in word for word in self.words):
            return "guard"
        if any("multiprocessing" in word for word in self.words):
            return "command"
        return "background" if "_drive" in self.words else "child"


def of_run(run: str) -> list[Process]:
    """Every process that carries the run's name, without this one."""
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [found for pid in pids if pid != os.getpid() and (found := look(pid, run)) is not None]


def of_loop(run: str, loop_id: str) -> list[Process]:
    """Agents, checks and all that they started."""
    mark, _ = orphans.mark(loop_id)
    return [process for process in of_run(run) if mark in process.marks]


def children_of(pid: int, run: str) -> list[Process]:
    """What a process has started and not outlived. The kernel is asked for just these: a look at all takes long."""
    found: set[int] = set()
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found |= {int(word) for word in file.read().split()}
    return [child for each in found if (child := look(each, run)) is not None]


def guards_of(run: str, runner: int) -> list[Process]:
    return [child for child in children_of(runner, run) if child.kind == "guard"]


def look(pid: int, run: str) -> Process | None:
    try:
        environment = dict(_variables(pid))
        if environment.get(RUN) != run:
            return None
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent, *fields = file.read().rpartition(b")")[2].split()
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = tuple(word.decode(errors="replace") for word in file.read().split(b"\0"))
    except (OSError, ValueError):
        return None
    is_harness = int(parent) == os.getpid() and any("multiprocessing" in word for word in words)
    return (
        None
        if state in b"ZX" or is_harness
        else Process(pid, int(parent), words, orphans.marks_in(environment), int(fields[17]))
    )


def _variables(pid: int) -> Iterator[tuple[str, str]]:
    with open(f"/proc/{pid}/environ", "rb") as file:
        for variable in file.read().split(b"\0"):
            name, _, value = variable.decode(errors="replace").partition("=")
            yield name, value


def send(pid: int, number: int, run: str) -> bool:
    """Signal a process of this run, and never another that has its number by now; whether it was there."""
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
    """kill -9; whether that is what ended it: it was seen to stand still before, alive, and did not move after that."""
    if not send(pid, signal.SIGSTOP, run):
        return False
    stood_still = stands_still(pid, patience)
    return send(pid, signal.SIGKILL, run) and stood_still


def stands_still(pid: int, patience: float = 2.0) -> bool:
    deadline = time.monotonic() + patience
    while (state := _state(pid)) not in ("T", "") and time.monotonic() < deadline:
        time.sleep(0.001)
    return state == "T"


def _state(pid: int) -> str:
    """One letter; none if it is gone, or as good as that."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state = file.read().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return ""
    return "" if state in "ZX" else state


def gone(pids: list[int], run: str, patience: float) -> list[int]:
    """Those that are still there when the patience is over."""
    deadline = time.monotonic() + patience
    while (left := [pid for pid in pids if look(pid, run) is not None]) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def end_everything(run: str) -> int:
    """Kill what is left of a run; how many there were."""
    ended = 0
    for _ in range(5):
        left = of_run(run)
        ended += sum(send(process.pid, signal.SIGKILL, run) for process in left)
        if not left:
            break
        time.sleep(0.1)
    return ended
