"""Runs commands in processes forked from one that has already imported untildone: a tenth of the cost of a new interpreter.

untildone itself starts background runners, the server, agents and guards in the usual way.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from proof.chaos.sandbox import CLOCK, RUN
from proof.chaos.stories import MODES

PRELOADED = (
    "proof.chaos.harness",
    "proof.chaos.report",
    "untildone.faces.cli.commands.runs.run",
    "untildone.faces.cli.commands.runs.resume",
    "untildone.faces.cli.commands.controls.control",
    "untildone.faces.cli.commands.controls.say",
    "untildone.faces.cli.commands.controls.budget",
    "untildone.faces.cli.commands.records.show",
    "untildone.faces.cli.commands.records.log",
    "untildone.faces.cli.commands.records.verify",
    "untildone.faces.cli.entry",
    "untildone.agents.scripted",
    "untildone.core.answers.failures",
    "untildone.operations.creating.creation",
    *(f"untildone.modes.{mode}.mode" for mode in MODES),
)


class Command:
    """A started command."""

    def __init__(self, process: ForkServerProcess, lock: threading.Lock) -> None:
        self._process = process
        self._lock = lock
        self.pid = process.pid or 0

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while the command runs."""
        # Starting a process polls all others, and polling one process from two threads at once is not safe.
        with self._lock:
            return self._process.exitcode

    def wait(self, patience: float) -> int | None:
        """The exit code, or None after `patience` seconds."""
        deadline = time.monotonic() + patience
        while (code := self.poll()) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return code

    def kill(self) -> None:
        self._process.kill()
        self.wait(10.0)


class ForkServer:
    """Starts commands by forking."""

    def __init__(self, run: str) -> None:
        # The fork server process inherits this environment, with its clock.
        os.environ[RUN] = run
        os.environ["PYTHONPATH"] = os.pathsep.join([str(CLOCK), *sys.path])
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(PRELOADED))
        self._lock = threading.Lock()

    def start(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path) -> Command:
        """Start a command; it writes to `<output>.out` and `<output>.err`."""
        process = self._context.Process(
            target=_run_command, args=(tuple(arguments), str(folder), dict(environment), str(output))
        )
        with self._lock:
            process.start()
        return Command(process, self._lock)


def _run_command(arguments: tuple[str, ...], folder: str, environment: dict[str, str], output: str) -> None:
    """Run the command line in the forked process."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for name, number in ((os.devnull, 0), (f"{output}.out", 1), (f"{output}.err", 2)):
        opened = os.open(name, flags if number else os.O_RDONLY, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 (open until the process ends)
    sys.argv = ["untildone", *arguments]
    from untildone.faces.cli import main

    sys.exit(main())
