"""The box of an agent compared with a program outside of it: the start of a program, and an iteration of a loop."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from driving import INSTANT, program, repository, start_loop
from figures import Row, figure, seconds_of, taking_turns

from untildone.core.model import AgentChoice, LoopSettings
from untildone.engine.boxes import box_of, planning
from untildone.system.box import sandbox

EXTRA_MS = 30.0
"""The goal: so many milliseconds more for a start in a box, and for an iteration."""
AGENT = AgentChoice("claude", "claude")
FORMS = ("bare", "boxed")


def rows(*, quick: bool) -> Iterator[Row]:
    if problem := sandbox.problem():
        raise SystemExit(str(problem))
    with tempfile.TemporaryDirectory(prefix="sandbox-", dir="/var/tmp") as folder:
        place = Path(folder).resolve()
        yield from _starts(place, 10 if quick else 60)
        yield _iterations(place, 5 if quick else 40)


def _starts(place: Path, times: int) -> Iterator[Row]:
    workspace = repository(place / "home" / "project")
    environment = {"HOME": str(place / "home"), "PATH": os.environ["PATH"]}
    loop = LoopSettings("ralph", AGENT, str(workspace))

    def made() -> sandbox.Box:
        return box_of(planning.plan_for(loop, str(workspace), AGENT, environment, "bench"))

    commands = {"bare": ("/bin/true",), "boxed": made().argv(("/bin/true",))}
    took: dict[str, list[float]] = {form: [] for form in FORMS}
    for form in taking_turns(FORMS, times):
        took[form].append(seconds_of(partial(subprocess.run, commands[form], check=True)) * 1000)
    bare = figure(took["bare"], "ms")
    goal = 1 + EXTRA_MS / bare.middle
    yield Row("`true` in the box of an agent", figure(took["boxed"], "ms"), "`true`", bare, goal)
    yield Row("planning a box", figure([seconds_of(made) * 1000 for _ in range(times)], "ms"), goal=EXTRA_MS)


def _iterations(place: Path, rounds: int) -> Row:
    """An agent that answers at once, so that nearly all of the time is untildone's."""
    agent = program(place / "agent", INSTANT)
    took: dict[str, list[float]] = {}
    for form, chosen in (("bare", "off"), ("boxed", "on")):
        workspace = repository(place / form)
        chosen_agent = {"agent": "command", "command": str(agent)}
        watch = start_loop(workspace, os.environ, **chosen_agent, max_iterations=rounds + 1, sandbox=chosen).drive()
        took[form] = [seconds * 1000 for seconds in watch.iterations]
    bare = figure(took["bare"], "ms")
    goal = 1 + 2 * EXTRA_MS / bare.middle
    return Row("an iteration in the box", figure(took["boxed"], "ms"), "an iteration without a box", bare, goal)


if __name__ == "__main__":
    for row in rows(quick=True):
        print(row)
