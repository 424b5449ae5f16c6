"""Commands as processes of their own, forked from one that has loaded untildone already: a tenth of what a new interpreter costs.

Runners in the background, the server, agents and guards are started by untildone itself, in the ordinary way.
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

from proof.chaos.ground import CLOCK, RUN
from proof.chaos.stories import MODES

LOADED = (
    "proof.chaos.conductor",
    "proof.chaos.report",
    "untildone.faces.cli.commands.run",
    "untildone.faces.cli.commands.resume",
    "untildone.faces.cli.commands.control",
    "untildone.faces.cli.commands.say",
    "untildone.faces.cli.commands.budget",
    "untildone.faces.cli.commands.show",
    "untildone.faces.cli.commands.log",
    "untildone.faces.cli.commands.verify",
    "untildone.faces.cli.entry",
    "untildone.agents.scripted",
    "untildone.core.failures",
    "untildone.operations.creation",
    *(f"untildone.modes.{mode}.mode" for mode in MODES),
)


class Command:
    """One that was started."""

    def __init__(self, process: ForkServerProcess, lock: threading.Lock) -> None:
        self._process = process
        self._lock = lock
        self.pid = process.pid or 0

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        # Starting a process looks after all others: two who look at one at the same time confuse each other.
        with self._lock:
            return self._process.exitcode

    def wait(self, patience: float) -> int | None:
        deadline = time.monotonic() + patience
        while (code := self.poll()) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return code

    def kill(self) -> None:
        self._process.kill()
        self.wait(10.0)


class Hatchery:
    def __init__(self, run: str) -> None:
        # The process that all are forked from is started with this environment, and by its clock.
        os.environ[RUN] = run
        os.environ["PYTHONPATH"] = os.pathsep.join([str(CLOCK), *sys.path])
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(LOADED))
        self._lock = threading.Lock()

    def start(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], told: Path) -> Command:
        """What it says goes to two files beside each other."""
        process = self._context.Process(target=_be, args=(tuple(arguments), str(folder), dict(environment), str(told)))
        with self._lock:
            process.start()
        return Command(process, self._lock)


def _be(arguments: tuple[str, ...], folder: str, environment: dict[str, str], told: str) -> None:
    """The forked process becomes the command."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for name, number in ((os.devnull, 0), (f"{told}.out", 1), (f"{told}.err", 2)):
        opened = os.open(name, flags if number else os.O_RDONLY, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 (for as long as it lives)
    sys.argv = ["untildone", *arguments]
    from untildone.faces.cli import main

    sys.exit(main())
