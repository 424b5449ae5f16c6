"""The time between two rounds if one process of the agent serves them, beside a new process for each round, with the real programs.

Also: what such a process holds in memory, and what is left when it, or its runner, is killed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path

from driving import repository
from figures import Row, figure

from untildone import settings
from untildone.core.events import Entry, TurnEnded
from untildone.core.loop import Loop
from untildone.core.values.value import replace
from untildone.engine.engine import Engine
from untildone.engine.surroundings import IgnoringObserver
from untildone.operations import control, stores
from untildone.operations.creating import creation
from untildone.operations.driving import runner
from untildone.system import orphans
from untildone.testing.modelapi import Fault, ModelAPI, Step, environment

INSTALL_AGENTS = Path(__file__).parents[1] / "scripts" / "install-agents"
GOALS = {"claude": 0.2, "acp:copilot": 0.5, "acp:gemini": 0.5}
"""The highest acceptable share of the time that a new process takes."""
PAGE = os.sysconf("SC_PAGE_SIZE")
GONE_WITHIN, PATIENCE = 2.0, 60.0
MORE = Step(text="There is more to do.", repeat="forever")


@dataclass(slots=True)
class Memory(IgnoringObserver):
    """The memory of everything that the loop runs, after each round."""

    megabytes: list[float] = field(default_factory=list)

    def entry(self, entry: Entry, loop: Loop) -> None:
        if isinstance(entry.event, TurnEnded):
            pids = orphans.find(orphans.mark(loop.loop_id)[0])
            self.megabytes.append(sum(map(_resident, pids)) / 2**20)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


def program_folder(name: str) -> Path:
    listed = subprocess.run([str(INSTALL_AGENTS), "--list"], capture_output=True, text=True, check=True)
    folders = [Path(line) for line in listed.stdout.splitlines() if (Path(line) / name).exists()]
    return folders[0] if folders else Path(shutil.which(name) or name).parent


def environment_of(agent: str, api: ModelAPI, home: Path) -> Mapping[str, str]:
    name = agent.removeprefix("acp:")
    bins, node = program_folder(name), Path(shutil.which("node") or "/usr/bin/node").parent
    packages = bins.parents[3] / "copilot-packages"
    return environment(name, api.url, home, path=f"{bins}:{node}:{os.defpath}", retries=0, package_cache=packages)


def between_rounds(agent: str, rounds: int, *, warm: bool) -> tuple[list[float], list[float]]:
    """Milliseconds from one request of the model to that of the next round, and megabytes after each round."""
    watch = Memory()
    with tempfile.TemporaryDirectory() as folder, ModelAPI([MORE]) as api:
        env = environment_of(agent, api, Path(folder) / "home")
        drive(repository(Path(folder) / "work"), env, agent, rounds, watch, warm=warm)
        times = [turn.time for turn in api.turns]
    return [(later - earlier) * 1000 for earlier, later in pairwise(times)], watch.megabytes


def drive(workspace: Path, env: Mapping[str, str], agent: str, rounds: int, watch: Memory, *, warm: bool) -> None:
    chosen = settings.load(workspace, {"agent": agent, "max_iterations": rounds, "promise": ""}, env)
    store = stores.open_store(workspace, env, create=True)
    loop_id = creation.create(store, "Do the work.", chosen, workspace, env).loop.loop_id
    control.start(store, loop_id)
    around, numbers = runner.surroundings(env, chosen), count()
    if not warm:
        # A process with another environment is another process.
        around = replace(around, profile_environment=lambda _profile: {"BENCH_ROUND": str(next(numbers))})
    try:
        Engine(store, around, watch).drive(loop_id)
    finally:
        around.guard.close()


def left_after_kill(*, of_runner: bool) -> int:
    """How many processes of a loop are left after a kill -9 in the second round of its process: of its runner, or of the agent."""
    with tempfile.TemporaryDirectory() as folder, ModelAPI() as api:
        api.load([Step(text="A first step."), Step(fault=Fault.HANG, seconds=PATIENCE), Step(text="Gone on.")])
        env, work = environment_of("claude", api, Path(folder) / "home"), repository(Path(folder) / "work")
        command = [sys.executable, "-m", "untildone", "run", "Do it", "--agent", "claude", "-r", "2", "--promise", ""]
        ours = {"PYTHONPATH": os.pathsep.join(sys.path), "UNTILDONE_RETRY_DELAY": "0.1"}
        loop = subprocess.Popen(
            command, cwd=work, env={**env, **ours}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _until(lambda: len(api.turns) == 2, PATIENCE)
        mark = orphans.mark(stores.open_store(work, env).ids()[0])[0]
        for pid in [loop.pid] if of_runner else [each for each in orphans.find(mark) if each != loop.pid]:
            os.kill(pid, 9)
        loop.wait(PATIENCE)
        _until(lambda: not orphans.find(mark), GONE_WITHIN)
        return len(orphans.find(mark))


def _until(condition: Callable[[], bool], patience: float) -> None:
    deadline = time.monotonic() + patience
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


def rows(*, quick: bool) -> Iterator[Row]:
    rounds = 3 if quick else 10
    for agent, goal in GOALS.items():
        (cold, _), (warm, memory) = (between_rounds(agent, rounds, warm=each) for each in (False, True))
        what = f"{agent}: from one round to the next, in one process"
        yield Row(what, figure(warm, "ms"), "a new process for each round", figure(cold, "ms"), goal=goal)
        grown = f"{agent}: memory of the process after round {rounds - 1}"
        yield Row(grown, figure(memory[-2:-1], "MB"), "after its first round", figure(memory[:1], "MB"))
    for of_runner, whose in ((True, "the runner"), (False, "the agent")):
        left = left_after_kill(of_runner=of_runner)
        yield Row(f"claude: processes left after a kill -9 of {whose}", figure([left], "processes"), goal=0)
