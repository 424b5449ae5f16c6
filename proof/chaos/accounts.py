"""The harness's own reading of a journal: line by line, with nothing of untildone's but the file itself.

It counts rounds and what was allowed, and knows what may follow what. What it says of a loop as of one entry is compared with
what untildone says.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

ROUNDS = re.compile(r"\s*\[r([+=])([0-9]+)\]\s*", re.IGNORECASE)
STATUS = {
    **dict.fromkeys(("verified", "claimed"), "completed"),
    **dict.fromkeys(("stopped", "failed", "abandoned"), "failed"),
    **dict.fromkeys(("budget", "stalled", "paused", "interrupted"), "paused"),
}
BUDGET, OBEYED, ORDER = (
    "the budget is exactly the person's",
    "orders are obeyed",
    "everything happens once, in its order",
)
"""The promises that a journal alone can break."""


@dataclass(frozen=True, slots=True)
class Line:
    seq: int
    event: str
    fields: dict[str, Any]


def line_of(content: bytes) -> Line | None:
    """None: it is not what was written."""
    body, mark, rest = content.rpartition(b',"sum":"')
    if not mark or rest != b'%08x"}' % zlib.crc32(body):
        return None
    fields = json.loads(body + b"}")
    return Line(fields["seq"], fields["event"], fields)


def readable(lines: Iterable[bytes]) -> list[Line]:
    return [found for line in lines if (found := line_of(line)) is not None]


def missing(lines: list[Line]) -> list[int]:
    """Numbers that no line has, up to the last."""
    there = {line.seq for line in lines}
    return [seq for seq in range(1, max(there, default=0) + 1) if seq not in there]


@dataclass(frozen=True, slots=True)
class Standing:
    """A loop as of one entry."""

    status: str
    used: int
    allowed: int | None


class Account:
    """What a journal comes to, and everything in it that may not be."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.problems: list[tuple[str, str]] = []
        self.standings: dict[int, Standing] = {}
        self.status, self.used = "created", 0
        self.allowed: int | None = None
        self.turns = 0
        self._turn: Line | None = None
        self._is_answered = False
        self._retry: Line | None = None
        self._pause = ""
        self._is_stopped = False
        self._tokens: set[str] = set()
        for line in lines:
            self.take(line)

    @property
    def standing(self) -> Standing:
        return Standing(self.status, self.used, self.allowed)

    def take(self, line: Line) -> None:
        kind = line.event.partition("_")[2] if line.event.startswith(("iteration_", "consultation_")) else line.event
        if self.status in ("completed", "failed"):
            allowed_late = ("runner_claimed", "state_repaired", *CONTROLS)
            self._must(line, ORDER, "nothing follows the end", kind in allowed_late)
        else:
            self._take(line, kind)
        if kind == "runner_claimed":
            token = line.fields["token"]
            self._must(line, ORDER, "a runner takes a lease once", token not in self._tokens)
            self._tokens.add(token)
        self.standings[line.seq] = self.standing

    def _must(self, line: Line, law: str, sentence: str, holds: object) -> None:
        if not holds:
            told = {name: str(value)[:60] for name, value in line.fields.items() if name in SHOWN}
            self.problems.append((law, f"entry {line.seq} ({line.event}, {told}): {sentence}"))

    def _take(self, line: Line, kind: str) -> None:
        if kind in CONTROLS:
            self._control(line)
        elif kind in ("start", "complete", "interrupted", "retry", "limit_reached"):
            self._take_turn(line, kind)
        elif kind in ("answer_read", "gates_ran"):
            self._must(line, ORDER, "an answer is read once it is there", self._turn is None or self._is_answered)
            self._turn = None
        elif "outcome" in line.fields:
            self._rest(line)

    def _control(self, line: Line) -> None:
        told = line.fields
        match line.event:
            case "loop_created":
                self._must(line, ORDER, "a loop is made once", line.seq == 1)
                self.allowed = told["budget"]["iterations"]
            case "start_requested" | "resume_requested":
                self.status, self._pause = "running", ""
            case "pause_requested" if self.status == "running":
                self._pause = told["outcome"]
            case "stop_requested":
                self._is_stopped = True
            case "message":
                self._hear(told["text"])
            case "budget_changed" if told["limit"] == "iterations":
                before, amount = self.allowed, told["amount"]
                added = None if before is None else before + int(amount or 0)
                self.allowed = added if told["add"] else None if amount is None else int(amount)

    def _hear(self, text: str) -> None:
        at = 0
        while found := ROUNDS.match(text, at):
            at, number = found.end(), int(found[2])
            if found[1] == "=":
                self.allowed = self.used + number
            elif self.allowed is not None:
                self.allowed = max(self.allowed, self.used) + number

    def _take_turn(self, line: Line, kind: str) -> None:
        match kind:
            case "start":
                self._start(line)
            case "complete":
                self._must(line, ORDER, "a turn ends once", self._turn is not None and not self._is_answered)
                self._is_answered = True
            case "interrupted":
                begun = self._turn is not None or line.fields["reason"] == "person"
                self._must(line, ORDER, "only a turn that was begun is interrupted", begun)
                self._turn = None
            case "retry":
                self._must(line, ORDER, "only a turn that ended is tried again", self._is_answered)
                self._turn, self._retry = None, line
            case _:
                if self._turn is not None:
                    self.used -= self._turn.fields["role"] == "worker"
                    self._turn = None

    def _start(self, line: Line) -> None:
        told = line.fields
        self._must(line, ORDER, "one turn at a time", self._turn is None)
        self._must(line, OBEYED, "only a running loop asks an agent", self.status == "running")
        self._must(line, OBEYED, "a pause is obeyed before the next turn", not self._pause)
        self._must(line, OBEYED, "after a stop nothing is begun", not self._is_stopped)
        if told["attempt"] > 1:
            self._again(line)
        elif told["role"] == "worker":
            self._must(line, BUDGET, f"round {told['iteration']} after {self.used}", told["iteration"] == self.used + 1)
            enough = self.allowed is None or self.used < self.allowed
            self._must(line, BUDGET, f"{self.used} of {self.allowed} rounds were used already", enough)
            self.used += 1
        self.turns += 1
        self._turn, self._retry, self._is_answered = line, None, False

    def _again(self, line: Line) -> None:
        told, before = line.fields, self._retry.fields if self._retry else {}
        wanted = [before.get(name) for name in ("role", "iteration")] + [before.get("attempt", 0) + 1]
        same = wanted == [told[name] for name in ("role", "iteration", "attempt")]
        self._must(line, BUDGET, "an attempt that takes no round follows one that failed", same)

    def _rest(self, line: Line) -> None:
        outcome = line.fields["outcome"]
        self._must(line, ORDER, "a loop rests once nothing is under way", self._turn is None or self._is_answered)
        self._must(line, ORDER, "only what runs comes to rest", self.status == "running" or self._is_stopped)
        ordered = "stopped" if self._is_stopped else self._pause
        self._must(line, OBEYED, f"{ordered} was ordered", not ordered or outcome in (ordered, "failed"))
        if outcome == "budget":
            spent = self.allowed is not None and self.used >= self.allowed
            self._must(line, BUDGET, f"only {self.used} of {self.allowed} rounds are used", spent)
        self.status, self._pause, self._turn = STATUS[outcome], "", None


CONTROLS = (
    "loop_created",
    "start_requested",
    "resume_requested",
    "pause_requested",
    "stop_requested",
    "message",
    "budget_changed",
)
SHOWN = ("role", "iteration", "attempt", "outcome", "reason", "text", "token")
