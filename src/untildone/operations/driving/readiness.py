"""Whether a server can do its work now: asks its stores, its disks and its cluster, each for a bounded time."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from untildone.core.errors import StoreError, UntilDoneError

ANSWER_WITHIN = 3.0
"""Seconds that a part has to answer."""
FRESH_FOR = 1.0
"""Seconds for which an answer holds: probes that come more often get the last one."""
LEAST_FREE = 64 << 20
"""Bytes that must be free on a disk."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """Something that the server depends on. `problem` is a sentence; empty: it is usable."""

    name: str
    problem: str = ""


class Probe:
    """Asks one part, in a thread of its own. A part that does not answer is not asked again before it does."""

    def __init__(self, name: str, ask: Callable[[], None]) -> None:
        """`ask` raises UntilDoneError or OSError if the part is not usable."""
        self.name = name
        self._ask = ask
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._part = Part(name)
        self._asked_at = float("-inf")

    def begin(self) -> None:
        """Ask, unless that was done a moment ago or is still being done."""
        with self._lock:
            is_asking = self._thread is not None and self._thread.is_alive()
            if not is_asking and time.monotonic() - self._asked_at > FRESH_FOR:
                self._asked_at = time.monotonic()
                self._thread = threading.Thread(target=self._run, name=f"probe {self.name}", daemon=True)
                self._thread.start()

    def answer(self, within: float = ANSWER_WITHIN) -> Part:
        """What the part answered last."""
        self.begin()
        thread = self._thread
        if thread is not None:
            thread.join(max(0.0, self._asked_at + within - time.monotonic()))
            if thread.is_alive():
                return self._noted(Part(self.name, f"It has not answered for {within:g} seconds."))
        return self._part

    def _run(self) -> None:
        try:
            self._ask()
            problem = ""
        except UntilDoneError as error:
            problem = error.sentence
        except OSError as error:
            problem = f"{error.strerror or error}."
        self._noted(Part(self.name, problem))

    def _noted(self, part: Part) -> Part:
        """Keep the answer, with a line in the log when the part goes away or comes back."""
        before, self._part = self._part, part
        if part.problem and not before.problem:
            _log.warning("%s is not usable: %s", part.name, part.problem)
        elif before.problem and not part.problem:
            _log.warning("%s is usable again", part.name)
        return part


class Readiness:
    """All parts of a server."""

    def __init__(self, probes: Iterable[Probe]) -> None:
        self._probes = {probe.name: probe for probe in probes}

    def ask(self) -> tuple[Part, ...]:
        """Every part. Takes at most `ANSWER_WITHIN` seconds: all are asked at the same time."""
        for probe in self._probes.values():
            probe.begin()
        return tuple(probe.answer() for probe in self._probes.values())

    def require(self, name: str) -> None:
        """StoreError if the part of this name does not answer."""
        part = self._probes[name].answer()
        if part.problem:
            raise StoreError(f"{part.name} cannot be used now: {part.problem}", "try again in a moment")


def disk_of(folder: Path) -> Probe:
    """Whether a folder exists, and its disk has room."""

    def ask() -> None:
        free = shutil.disk_usage(folder).free
        if free < LEAST_FREE:
            raise StoreError(f"Only {free >> 20} MB are free.")

    return Probe(f"disk of {folder}", ask)
