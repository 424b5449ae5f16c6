"""The time of short commands, compared with starting Python."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from figures import Row, figure, processor_seconds_of

PROGRAM = Path(sys.executable).with_name("untildone")
SCRIPTED = ("--agent", "scripted", "-r", "2", "--", "--scenario", "never")
COMMANDS = (
    ("--help",),
    ("list",),
    ("show",),
    ("show", "--json"),
    ("log",),
    ("say", "last", "go on"),
    ("budget", "last", "--cost", "=10"),
)


def rows(*, quick: bool) -> Iterator[Row]:
    times = 4 if quick else 20
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, "run", "A job", "--dir", folder, *SCRIPTED], capture_output=True)
        plans = {"python": (sys.executable, "-c", "pass"), "click": (sys.executable, "-c", "import click")}
        plans |= {" ".join(arguments): (str(PROGRAM), *arguments) for arguments in COMMANDS}
        took: dict[str, list[float]] = {name: [] for name in plans}
        for _ in range(times):
            for name, command in plans.items():
                took[name].append(_once(command, folder) * 1000)
    bare = figure(took.pop("python"), "ms")
    yield Row("python -c 'import click'", figure(took.pop("click"), "ms"), "python -c pass", bare)
    for name, measured in took.items():
        yield Row(f"untildone {name}", figure(measured, "ms"), "python -c pass", bare)


def _once(command: tuple[str, ...], folder: str) -> float:
    clock, _ = processor_seconds_of(command, cwd=folder, capture_output=True, check=True)
    return clock
