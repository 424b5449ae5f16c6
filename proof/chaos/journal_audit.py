"""An independent journal reader: it shares no code with untildone.

It counts the rounds used and allowed, and checks the order of entries. The harness compares the loop state after each entry
with the state that untildone reports.
"""

from __future__ import annotations

import hmac
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
    **dict.fromkeys(("budget", "stalled", "paused", "interrupted", "blocked"), "paused"),
}
BUDGET, OBEYED, ORDER = (
    "the budget is never exceeded",
    "controls are obeyed",
    "entries are in a legal order",
)
"""The invariants that this module checks."""


@dataclass(frozen=True, slots=True)
class Line:
    seq: int
    event: str
    fields: dict[str, Any]


def line_of(content: bytes) -> Line | None:
    """Parse a journal line; return None if its checksum is wrong."""
    body, separator, checksum = content.rpartition(b',"sum":"')
    if not separator or checksum != b'%08x"}' % zlib.crc32(body):
        return None
    fields = json.loads(body + b"}")
    return Line(fields["seq"], fields["event"], fields)


def seal_problem(content: bytes, key: bytes, loop_id: str) -> str:
    """What is wrong with the seal of an undamaged line; empty if it is valid."""
    body, separator, rest = content.rpartition(b',"seal":"')
    derived = hmac.digest(key, f"journal {loop_id}".encode(), "sha256")
    valid = separator and rest[:33] == hmac.digest(derived, body, "sha256").hex()[:32].encode() + b'"'
    return "" if valid else f"no valid seal: {content[:120]!r}"


def chain_problems(lines: Iterable[bytes]) -> list[str]:
    """The lines that do not name the seal of the line before them."""
    before, problems = "0" * 32, []
    for fields in map(json.loads, lines):
        if fields["prev"] != before:
            problems.append(f"entry {fields['seq']} was not written after the entry before it")
        before = fields["seal"]
    return problems


def readable(lines: Iterable[bytes]) -> list[Line]:
    """Parse the lines and leave out the damaged ones."""
    return [parsed for line in lines if (parsed := line_of(line)) is not None]


def missing(lines: list[Line]) -> list[int]:
    """The sequence numbers that are absent below the highest one."""
    present = {line.seq for line in lines}
    return [seq for seq in range(1, max(present, default=0) + 1) if seq not in present]


@dataclass(frozen=True, slots=True)
class LoopState:
    """The state of a loop after one entry."""

    status: str
    used: int
    allowed: int | None


class JournalAudit:
    """Folds journal lines into a loop state and collects every illegal entry in `problems`."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.problems: list[tuple[str, str]] = []
        self.states: dict[int, LoopState] = {}
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
    def state(self) -> LoopState:
        return LoopState(self.status, self.used, self.allowed)

    def take(self, line: Line) -> None:
        """Apply one entry."""
        kind = line.event.partition("_")[2] if line.event.startswith(("iteration_", "consultation_")) else line.event
        if self.status in ("completed", "failed"):
            allowed_late = ("runner_claimed", "state_repaired", *CONTROLS)
            self._require(line, ORDER, "no entry may follow the end", kind in allowed_late)
        else:
            self._take(line, kind)
        if kind == "runner_claimed":
            token = line.fields["token"]
            self._require(line, ORDER, "a runner takes a lease once", token not in self._tokens)
            self._tokens.add(token)
        self.states[line.seq] = self.state

    def _require(self, line: Line, invariant: str, sentence: str, holds: object) -> None:
        if not holds:
            fields = {name: str(value)[:60] for name, value in line.fields.items() if name in SHOWN}
            self.problems.append((invariant, f"entry {line.seq} ({line.event}, {fields}): {sentence}"))

    def _take(self, line: Line, kind: str) -> None:
        if kind in CONTROLS:
            self._control(line)
        elif kind in ("start", "complete", "interrupted", "retry", "limit_reached"):
            self._take_turn(line, kind)
        elif kind in ("answer_read", "gates_ran"):
            self._require(
                line, ORDER, "an answer is read only after the turn ended", self._turn is None or self._is_answered
            )
            self._turn = None
        elif "outcome" in line.fields:
            self._rest(line)

    def _control(self, line: Line) -> None:
        fields = line.fields
        match line.event:
            case "loop_created":
                self._require(line, ORDER, "loop_created is the first entry", line.seq == 1)
                self.allowed = fields["budget"]["iterations"]
            case "start_requested" | "resume_requested":
                self.status, self._pause = "running", ""
            case "pause_requested" if self.status == "running":
                self._pause = fields["outcome"]
            case "stop_requested":
                self._is_stopped = True
            case "message":
                self._apply_round_control(fields["text"])
            case "budget_changed" if fields["limit"] == "iterations":
                before, amount = self.allowed, fields["amount"]
                added = None if before is None else before + int(amount or 0)
                self.allowed = added if fields["add"] else None if amount is None else int(amount)

    def _apply_round_control(self, text: str) -> None:
        """Apply the `[r+N]` and `[r=N]` prefixes of a message."""
        position = 0
        while prefix := ROUNDS.match(text, position):
            position, number = prefix.end(), int(prefix[2])
            if prefix[1] == "=":
                self.allowed = self.used + number
            elif self.allowed is not None:
                self.allowed = max(self.allowed, self.used) + number

    def _take_turn(self, line: Line, kind: str) -> None:
        match kind:
            case "start":
                self._start(line)
            case "complete":
                self._require(line, ORDER, "a turn ends once", self._turn is not None and not self._is_answered)
                self._is_answered = True
            case "interrupted":
                begun = self._turn is not None or line.fields["reason"] == "person"
                self._require(line, ORDER, "only a started turn is interrupted", begun)
                self._turn = None
            case "retry":
                self._require(line, ORDER, "only a turn that ended is retried", self._is_answered)
                self._turn, self._retry = None, line
            case _:
                if self._turn is not None:
                    self.used -= self._turn.fields["role"] == "worker"
                    self._turn = None

    def _start(self, line: Line) -> None:
        fields = line.fields
        self._require(line, ORDER, "one turn at a time", self._turn is None)
        self._require(line, OBEYED, "only a running loop starts a turn", self.status == "running")
        self._require(line, OBEYED, "no turn starts after a pause request", not self._pause)
        self._require(line, OBEYED, "no turn starts after a stop request", not self._is_stopped)
        if fields["attempt"] > 1:
            self._check_retry(line)
        elif fields["role"] == "worker":
            self._require(
                line, BUDGET, f"round {fields['iteration']} after {self.used}", fields["iteration"] == self.used + 1
            )
            enough = self.allowed is None or self.used < self.allowed
            self._require(line, BUDGET, f"{self.used} of {self.allowed} rounds are used already", enough)
            self.used += 1
        self.turns += 1
        self._turn, self._retry, self._is_answered = line, None, False

    def _check_retry(self, line: Line) -> None:
        fields, before = line.fields, self._retry.fields if self._retry else {}
        expected = [before.get(name) for name in ("role", "iteration")] + [before.get("attempt", 0) + 1]
        same = expected == [fields[name] for name in ("role", "iteration", "attempt")]
        self._require(line, BUDGET, "a retry follows a failed attempt of the same turn", same)

    def _rest(self, line: Line) -> None:
        outcome = line.fields["outcome"]
        self._require(line, ORDER, "a loop rests only when no turn is open", self._turn is None or self._is_answered)
        self._require(
            line, ORDER, "only a running or stopped loop comes to rest", self.status == "running" or self._is_stopped
        )
        ordered = "stopped" if self._is_stopped else self._pause
        self._require(line, OBEYED, f"{ordered} was ordered", not ordered or outcome in (ordered, "failed"))
        if outcome == "budget":
            spent = self.allowed is not None and self.used >= self.allowed
            self._require(line, BUDGET, f"only {self.used} of {self.allowed} rounds are used", spent)
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
