"""Helpers that drive loops in benchmarks and measure each iteration.

As a program, drives an existing loop in a separate process, to measure its memory alone:
python bench/driving.py WORKSPACE LOOP ROUNDS
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from figures import seconds_of

from untildone import settings
from untildone.core.events import BudgetChanged, Entry, TurnEnded, TurnStarted
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.engine.engine import Engine
from untildone.engine.surroundings import IgnoringObserver
from untildone.operations import control, stores
from untildone.operations.creating import creation
from untildone.operations.driving import runner
from untildone.store.files import FileStore

INSTANT = '#!/bin/sh\ncat > /dev/null\necho "working on it, call $$"\n'
LOADS = 21
DONE = '#!/bin/sh\ncat > /dev/null\necho "<promise>COMPLETE</promise>"\n'


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def repository(folder: Path, files: int = 10) -> Path:
    """Create a git repository with this many files and one commit."""
    for number in range(files):
        path = folder / f"part{number // 50}" / f"file{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"line {number}\n" * 20)
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "first")):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@dataclass(slots=True)
class Watch(IgnoringObserver):
    """Records the start of each iteration and the time of its program."""

    starts: list[float] = field(default_factory=list)
    programs: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    """CPU seconds of this process for each turn, without the agent program."""
    user: list[float] = field(default_factory=list)
    """The user part of `processor`: without kernel time such as filling the page cache."""

    def entry(self, entry: Entry, loop: Loop) -> None:
        if isinstance(entry.event, TurnStarted):
            self.starts.append(time.perf_counter())
            self.processor.append(-time.process_time())
            self.user.append(-_user_seconds())
        if isinstance(entry.event, TurnEnded):
            self.programs.append(entry.event.seconds)
            self.processor[-1] += time.process_time()
            self.user[-1] += _user_seconds()

    @property
    def iterations(self) -> list[float]:
        """Seconds from each start of an iteration to the next."""
        return [after - before for before, after in zip(self.starts, self.starts[1:], strict=False)]


@dataclass(frozen=True, slots=True)
class StartedLoop:
    """A loop that is started and ready to be driven."""

    workspace: Path
    store: FileStore
    loop_id: str
    chosen: settings.Settings
    environment: Mapping[str, str]

    def drive(self) -> Watch:
        around, watch = runner.surroundings(self.environment, self.chosen), Watch()
        try:
            Engine(self.store, around, watch).drive(self.loop_id)
        finally:
            around.guard.close()
        return watch


def start_loop(workspace: Path, environment: Mapping[str, str] = os.environ, **flags: Any) -> StartedLoop:
    workspace.mkdir(parents=True, exist_ok=True)
    environment = {**environment, "HOME": str(workspace)}
    # What a box costs is measured on its own, in sandbox.py.
    chosen = settings.load(workspace, {"sandbox": "off", **flags}, environment)
    store = stores.open_files(workspace, environment, create=True)
    loop_id = creation.create(store, "do it", chosen, workspace, environment).loop.loop_id
    control.start(store, loop_id)
    return StartedLoop(workspace, store, loop_id, chosen, environment)


def with_command(workspace: Path, command: Path, rounds: int) -> StartedLoop:
    return start_loop(workspace, agent="command", command=str(command), max_iterations=rounds)


def drive_alone(started: StartedLoop, rounds: int) -> Mapping[str, Any]:
    """Drive this many more rounds in a separate process; return its measurements."""
    command = (sys.executable, __file__, str(started.workspace), started.loop_id, str(rounds))
    result = subprocess.run(command, env=started.environment, capture_output=True, text=True, check=True)
    measurements: Mapping[str, Any] = json.loads(result.stdout)
    return measurements


def main(workspace: Path, loop_id: str, rounds: int) -> None:
    store = stores.open_files(workspace)
    loop = store.load(loop_id)
    loaded = statistics.median(seconds_of(lambda: store.load(loop_id)) for _ in range(LOADS))
    control.budget(store, loop_id, BudgetChanged(Limit.ITERATIONS, loop.spend.iterations + rounds, add=False))
    control.resume(store, loop_id)
    started = StartedLoop(workspace, store, loop_id, settings.load(workspace, {}, os.environ), os.environ)
    watch = started.drive()
    measurements = {
        "load": loaded,
        "iterations": watch.iterations,
        "programs": watch.programs,
        "processor": watch.processor,
        "user": watch.user,
        "peak_kb": _most_memory(),
    }
    print(json.dumps(measurements))


def _user_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def _most_memory() -> int:
    """Peak memory in kilobytes. Prefers /proc, because `getrusage` includes the memory of the parent before exec."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(status.partition("VmHWM:")[2].split()[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
