"""What the harness told loops, and what it was answered: the other side of the journal's book."""

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
"""How the keys begin of what only a person says."""
TOKENS = 1_000_000_000
"""Budgets of tokens that are never used up: each is told once, so it is found again."""


@dataclass(frozen=True, slots=True)
class Word:
    """One control, as arguments of the command line and by the event that it must leave."""

    verb: str
    arguments: tuple[str, ...]
    key: str
    rounds: int = 0
    """At most so many more rounds are allowed by it."""
    most: int = 0
    """It sets the rounds to so many, all in all."""


def say(story: int, rounds: str = "") -> Word:
    text = f"word {next(_numbers)} of story {story}"
    added = int("".join(filter(str.isdigit, rounds)) or 0)
    return Word("say", (f"{rounds}{text}",), f"say {text}", rounds=added)


def budget() -> Word:
    tokens = TOKENS + next(_numbers)
    return Word("budget", ("--tokens", f"={tokens}"), f"tokens {tokens}")


def more_rounds(number: int) -> Word:
    return Word("budget", ("--iterations", f"+{number}"), f"iterations +{number}", rounds=number)


def rounds_in_all(number: int) -> Word:
    return Word("budget", ("--iterations", f"={number}"), f"iterations ={number}", most=number)


def pause(*flags: str) -> Word:
    return Word("pause", flags, "pause")


def resume(*flags: str) -> Word:
    return Word("resume", flags, "resume")


def stop(*flags: str) -> Word:
    return Word("stop", flags, "stop")


def key_of(event: Event) -> str | None:
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


class Ledger:
    """Every word to one loop: acknowledged, or of unknown fate because somebody died or refused meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.sent: Counter[str] = Counter()
        self.acknowledged: Counter[str] = Counter()
        self.excused: set[str] = set()
        """Words whose line the harness itself cut away."""
        self._rounds = 0
        self._most = 0

    def note(self, word: Word, *, acknowledged: bool) -> None:
        with self._lock:
            self.sent[word.key] += 1
            self.acknowledged[word.key] += acknowledged
            self._rounds += word.rounds
            self._most = max(self._most, word.most)

    def most_rounds(self, at_first: int) -> int:
        """More than so many were never allowed, whatever became of each word."""
        with self._lock:
            return max(at_first, self._most) + self._rounds

    def problems(self, events: Iterable[Event], *, told_of_damage: bool) -> list[str]:
        """Words that were acknowledged and are not in the journal exactly once, or were never sent."""
        written = Counter(key for key in map(key_of, events) if key is not None)
        with self._lock:
            keys = {*self.sent, *(key for key in written if key.startswith(WATCHED))}
            found = [self._problem(key, written[key]) for key in sorted(keys)]
        problems = [problem for problem in found if problem]
        return [problem for problem in problems if "lost" not in problem] if told_of_damage else problems

    def _problem(self, key: str, written: int) -> str:
        acknowledged, sent = self.acknowledged[key], self.sent[key]
        # Stopping what is stopped already is agreed to and changes nothing.
        least = min(acknowledged, 1) if key == "stop" else acknowledged
        if written < least and key not in self.excused:
            return f"“{key}” was acknowledged {acknowledged} times, and is written {written} times: lost"
        # A message to a loop that is out of rounds resumes it as well.
        if written > sent and key != "resume":
            return f"“{key}” was sent {sent} times, and is written {written} times"
        return ""
