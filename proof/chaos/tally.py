"""Thread-safe counters for the faults, the checked invariants and the violations of a run."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that did not hold."""

    story: int
    invariant: str
    detail: str

    def __str__(self) -> str:
        return f"story {self.story}: {self.invariant}: {self.detail}"


class Tally:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.faults: Counter[str] = Counter()
        """Effective faults by kind."""
        self.misses: Counter[str] = Counter()
        """Faults without effect, by kind."""
        self.kills: Counter[str] = Counter()
        """Processes ended with SIGKILL, by kind."""
        self.invariants: Counter[str] = Counter()
        """How often each invariant was checked."""
        self.loops: Counter[tuple[str, str, str]] = Counter()
        """Loops that came to rest, by mode, host and outcome."""
        self.exits: Counter[int] = Counter()
        """Exit codes of commands."""
        self.notes: Counter[str] = Counter()
        """Other counts for the report."""
        self.violations: list[Violation] = []

    def count(self, counter: Counter[str], name: str, times: int = 1) -> None:
        with self._lock:
            counter[name] += times

    def fault(self, name: str, *, effective: bool) -> None:
        """Count an injected fault."""
        self.count(self.faults if effective else self.misses, name)

    def kill(self, name: str) -> None:
        self.count(self.kills, name)

    def note(self, name: str, times: int = 1) -> None:
        self.count(self.notes, name, times)

    def exit(self, code: int) -> None:
        with self._lock:
            self.exits[code] += 1

    def rest(self, mode: str, host: str, outcome: str) -> None:
        with self._lock:
            self.loops[mode, host, outcome] += 1

    def broken(self, story: int, invariant: str, detail: str) -> None:
        with self._lock:
            self.violations.append(Violation(story, invariant, detail))

    def invariant(self, story: int, name: str, problems: list[str]) -> None:
        """Count a check of an invariant; each problem is a violation."""
        self.count(self.invariants, name)
        for problem in problems:
            self.broken(story, name, problem)

    @property
    def killed(self) -> int:
        return sum(self.kills.values())
