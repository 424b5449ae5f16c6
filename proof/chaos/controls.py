"""The controls that the harness sends to loops, and a log of which were acknowledged, to compare with the journal."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from untildone.core.events import (
    BudgetChanged,
    Event,
    MessageSent,
    PauseRequested,
    ResumeRequested,
    StopRequested,
)
from untildone.core.model import Outcome

_numbers = itertools.count(1)
WATCHED = ("say", "tokens", "iterations", "pause", "stop")
"""Prefixes of the keys that only the harness can cause."""
TOKENS = 1_000_000_000
"""Base for unique token budgets that are never used up; each identifies one control in the journal."""


@dataclass(frozen=True, slots=True)
class Control:
    """One control: its command-line arguments, and the key of the event that it must write."""

    verb: str
    arguments: tuple[str, ...]
    key: str
    rounds: int = 0
    """How many rounds it adds at most."""
    most: int = 0
    """The total number of rounds that it sets; 0 if it sets none."""


def say(story: int, rounds: str = "") -> Control:
    text = f"message {next(_numbers)} of story {story}"
    added = int("".join(filter(str.isdigit, rounds)) or 0)
    return Control("say", (f"{rounds}{text}",), f"say {text}", rounds=added)


def budget() -> Control:
    tokens = TOKENS + next(_numbers)
    return Control("budget", ("--tokens", f"={tokens}"), f"tokens {tokens}")


def more_rounds(number: int) -> Control:
    return Control("budget", ("--iterations", f"+{number}"), f"iterations +{number}", rounds=number)


def rounds_in_all(number: int) -> Control:
    return Control("budget", ("--iterations", f"={number}"), f"iterations ={number}", most=number)


def pause(*flags: str) -> Control:
    return Control("pause", flags, "pause")


def resume(*flags: str) -> Control:
    return Control("resume", flags, "resume")


def stop(*flags: str) -> Control:
    return Control("stop", flags, "stop")


def key_of(event: Event) -> str | None:
    """The key of the control that wrote this event; None for other events."""
    match event:
        case MessageSent(text=text):
            return f"say {text.rpartition('] ')[2]}"
        case BudgetChanged(limit="tokens", amount=amount) if amount is not None:
            return f"tokens {amount:.0f}"
        case BudgetChanged(limit="iterations", amount=amount, add=add) if amount is not None:
            return f"iterations {'+' if add else '='}{amount:.0f}"
        case PauseRequested(outcome=Outcome.PAUSED):
            return "pause"
        case ResumeRequested():
            return "resume"
        case StopRequested():
            return "stop"
        case _:
            return None


class ControlLog:
    """Every control sent to one loop, with the number of acknowledgements. One that is not acknowledged may have taken effect."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.sent: Counter[str] = Counter()
        self.acknowledged: Counter[str] = Counter()
        self.excused: set[str] = set()
        """Keys of controls whose journal line the harness destroyed."""
        self._rounds = 0
        self._most = 0

    def note(self, control: Control, *, acknowledged: bool) -> None:
        with self._lock:
            self.sent[control.key] += 1
            self.acknowledged[control.key] += acknowledged
            self._rounds += control.rounds
            self._most = max(self._most, control.most)

    def most_rounds(self, at_first: int) -> int:
        """The highest number of rounds that the sent controls can have allowed."""
        with self._lock:
            return max(at_first, self._most) + self._rounds

    def problems(self, events: Iterable[Event], *, damage_reported: bool) -> list[str]:
        """Controls that were acknowledged but not written exactly once, or written but never sent."""
        written = Counter(key for key in map(key_of, events) if key is not None)
        with self._lock:
            keys = {*self.sent, *(key for key in written if key.startswith(WATCHED))}
            checked = [self._problem(key, written[key]) for key in sorted(keys)]
        problems = [problem for problem in checked if problem]
        return [problem for problem in problems if "lost" not in problem] if damage_reported else problems

    def _problem(self, key: str, written: int) -> str:
        acknowledged, sent = self.acknowledged[key], self.sent[key]
        # Stopping a stopped loop is acknowledged and writes nothing.
        least = min(acknowledged, 1) if key == "stop" else acknowledged
        if written < least and key not in self.excused:
            return f"“{key}” was acknowledged {acknowledged} times but written {written} times: lost"
        # A message with more rounds also resumes a loop that has used up its rounds.
        if written > sent and key != "resume":
            return f"“{key}” was sent {sent} times but written {written} times"
        return ""
