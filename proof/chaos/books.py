"""The books that agents and checks keep themselves, outside of every workspace: what truly happened, whatever a journal says."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROLES = {"You are the supervisor": "supervisor", "You are the instructor": "instructor"}
"""Words of the system prompt, and whose they are."""


@dataclass(frozen=True, slots=True)
class Call:
    """One start of an agent."""

    pid: int
    parent: int
    at: float
    is_alone: bool
    heard: dict[str, Any] | None
    """What it was asked; None if it died before it had heard it."""
    answered_at: float | None

    @property
    def role(self) -> str:
        told = self.heard["system_prompt"] if self.heard else ""
        return next((role for words, role in ROLES.items() if words in told), "worker" if self.heard else "")


def calls(folder: Path) -> list[Call]:
    heard = _by_pid(_lines(folder / "calls.jsonl"))
    answered = _by_pid([line for line in _lines(folder / "book.jsonl") if line["event"] == "answered"])
    starts = [line for line in _lines(folder / "book.jsonl") if line["event"] == "start"]
    found = []
    for start in starts:
        pid = start["pid"]
        told = heard[pid].popleft() if heard[pid] else None
        ended = answered[pid].popleft()["at"] if answered[pid] else None
        found.append(Call(pid, start["parent"], start["at"], start["alone"], told, ended))
    return found


def _by_pid(lines: list[dict[str, Any]]) -> defaultdict[int, deque[dict[str, Any]]]:
    found: defaultdict[int, deque[dict[str, Any]]] = defaultdict(deque)
    for line in lines:
        found[line["pid"]].append(line)
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    """Those that are whole: an agent may be killed in the middle of a word."""
    try:
        content = path.read_text(errors="replace")
    except FileNotFoundError:
        return []
    found = []
    for line in content.split("\n")[:-1]:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


@dataclass(frozen=True, slots=True)
class Checked:
    """One run of a check that came to its end."""

    at: float
    number: int
    code: int


def kept(check: str, number: int, folder: Path) -> str:
    """The check, with a line in its book."""
    return f"( {check} ); code=$?; echo $(date +%s.%N) {number} $code >> {folder / 'checks.txt'}; exit $code"


def checked(folder: Path) -> list[Checked]:
    try:
        words = [line.split() for line in (folder / "checks.txt").read_text().split("\n")[:-1]]
    except FileNotFoundError:
        return []
    return [Checked(float(at), int(number), int(code)) for at, number, code in words]
