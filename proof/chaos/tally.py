"""What was done and what was found: counted by many threads at once."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that did not hold."""

    story: int
    law: str
    detail: str

    def __str__(self) -> str:
        return f"story {self.story}: {self.law}: {self.detail}"


class Tally:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.hits: Counter[str] = Counter()
        """Blows that did something, by kind."""
        self.misses: Counter[str] = Counter()
        """Blows that fell on nothing, by kind."""
        self.kills: Counter[str] = Counter()
        """Processes ended with SIGKILL, by kind."""
        self.laws: Counter[str] = Counter()
        """How often each law was looked at."""
        self.loops: Counter[tuple[str, str, str]] = Counter()
        """Loops that came to rest, by mode, host and outcome."""
        self.exits: Counter[int] = Counter()
        """Exit codes of commands."""
        self.notes: Counter[str] = Counter()
        """What else is worth telling."""
        self.violations: list[Violation] = []

    def count(self, counter: Counter[str], name: str, times: int = 1) -> None:
        with self._lock:
            counter[name] += times

    def blow(self, name: str, *, effective: bool) -> None:
        """A blow fell; whether it did something."""
        self.count(self.hits if effective else self.misses, name)

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

    def broken(self, story: int, law: str, detail: str) -> None:
        with self._lock:
            self.violations.append(Violation(story, law, detail))

    def law(self, story: int, name: str, problems: list[str]) -> None:
        """A law was looked at; each problem is a violation."""
        self.count(self.laws, name)
        for problem in problems:
            self.broken(story, name, problem)

    @property
    def killed(self) -> int:
        return sum(self.kills.values())
