"""What the engine adds to a call of the real `claude -p`, with the same prompts and the same scripted API.

After each iteration of a loop the same call is made without untildone, in a separate session and workspace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from uuid import uuid4

from driving import repository
from figures import Figure, Row, figure

from untildone import agents, settings
from untildone.core.events import Entry, TurnEnded, TurnStarted
from untildone.core.loop import Loop
from untildone.core.model import SessionUse
from untildone.core.plugins.agent_io import Request
from untildone.core.values.value import replace
from untildone.engine.engine import Engine
from untildone.engine.surroundings import IgnoringObserver
from untildone.operations import control, stores
from untildone.operations.creating import creation
from untildone.operations.driving import runner
from untildone.testing.modelapi import ModelAPI, Step, environment

INSTALL_AGENTS = Path(__file__).parents[1] / "scripts" / "install-agents"
FACTOR, BOX_MS = 1.03, 45.0
"""The engine may add three percent, and the box of the agent so many milliseconds: 30 for its start, as in `sandbox`, the rest for its plan
and for the end of the process in the box before it."""


@dataclass(slots=True)
class BareClaude:
    """Makes the same calls without untildone."""

    workspace: Path
    env: Mapping[str, str]
    session: str = field(default_factory=lambda: str(uuid4()))
    calls: list[float] = field(default_factory=list)

    def call(self, prompt: str) -> None:
        use = SessionUse.RESUME if self.calls else SessionUse.NEW
        request = Request(prompt, use, session_id=self.session if self.calls else None, fresh_id=self.session)
        invocation = agents.find("claude").invocation(request)
        env = {**self.env, **invocation.env}
        started = time.perf_counter()
        subprocess.run(
            invocation.argv, env=env, cwd=self.workspace, input=invocation.stdin, capture_output=True, check=True
        )
        self.calls.append(time.perf_counter() - started)


class Alternating(IgnoringObserver):
    """Watches the loop and makes the bare call between iterations, outside the measured time."""

    def __init__(self, bare: BareClaude) -> None:
        self.bare = bare
        self.iterations: list[float] = []
        self.programs: list[float] = []
        self._since: float | None = None

    def entry(self, entry: Entry, loop: Loop) -> None:
        if isinstance(entry.event, TurnEnded):
            self.programs.append(entry.event.seconds)
        if isinstance(entry.event, TurnStarted):
            if self._since is not None:
                self.iterations.append(time.perf_counter() - self._since)
            self.bare.call(entry.event.prompt)
            self._since = time.perf_counter()


def one_loop(folder: Path, rounds: int) -> tuple[Alternating, BareClaude]:
    repository(folder / "loop")
    repository(folder / "bare")
    with ModelAPI([Step(text="There is more to do.", repeat="forever")]) as api:
        env = environment("claude", api.url, folder / "home", path=f"{claude_folder()}:{os.defpath}")
        bare = BareClaude(folder / "bare", env)
        watch = Alternating(bare)
        drive(folder / "loop", env, rounds + 1, watch)
    # Leave out the first call, which creates the session, and the last iteration, which no call follows.
    del bare.calls[0], watch.programs[-1:]
    return watch, bare


def drive(workspace: Path, env: Mapping[str, str], rounds: int, watch: Alternating) -> None:
    flags = {"agent": "claude", "max_iterations": rounds, "promise": ""}
    chosen = settings.load(workspace, flags, env)
    store = stores.open_store(workspace, env, create=True)
    loop_id = creation.create(store, "Do the work.", chosen, workspace, env).loop.loop_id
    control.start(store, loop_id)
    around, numbers = runner.surroundings(env, chosen), count()
    # A process with another environment is another process: here each iteration has its own, as the bare calls have.
    around = replace(around, profile_environment=lambda _profile: {"BENCH_ROUND": str(next(numbers))})
    try:
        Engine(store, around, watch).drive(loop_id)
    finally:
        around.guard.close()


def claude_folder() -> Path:
    listed = subprocess.run([str(INSTALL_AGENTS), "--list"], capture_output=True, text=True, check=True)
    folders = [Path(line) for line in listed.stdout.splitlines() if (Path(line) / "claude").exists()]
    return folders[0] if folders else Path(shutil.which("claude") or "claude").parent


def rows(*, quick: bool) -> Iterator[Row]:
    iterations, programs, calls = list[float](), list[float](), list[float]()
    for _ in range(1 if quick else 3):
        with tempfile.TemporaryDirectory() as folder:
            watch, bare = one_loop(Path(folder), 3 if quick else 10)
        iterations += watch.iterations
        programs += watch.programs
        calls += bare.calls
    alone = in_milliseconds(calls)
    goal = FACTOR + BOX_MS / alone.middle
    yield Row(
        "an iteration of the real claude", in_milliseconds(iterations), "claude -p without untildone", alone, goal=goal
    )
    around = [whole - program for whole, program in zip(iterations, programs, strict=True)]
    yield Row("of this, outside the program", in_milliseconds(around), "claude -p without untildone", alone)


def in_milliseconds(seconds: list[float]) -> Figure:
    return figure([each * 1000 for each in seconds], "ms")
