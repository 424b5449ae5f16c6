"""Logs that agents and checks write themselves, outside every workspace: evidence that is independent of the journal."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROLES = {"You are the supervisor": "supervisor", "You are the instructor": "instructor"}
"""A phrase of the system prompt → the role it belongs to."""


@dataclass(frozen=True, slots=True)
class Call:
    """One start of an agent."""

    pid: int
    parent: int
    at: float
    is_alone: bool
    """Whether no other agent of the loop was running."""
    request: dict[str, Any] | None
    """What the agent was asked; None if it died before it read the prompt."""
    answered_at: float | None

    @property
    def role(self) -> str:
        """The role by the system prompt; empty if the agent died before it read its prompt."""
        prompt = self.request["system_prompt"] if self.request else ""
        return next((role for phrase, role in ROLES.items() if phrase in prompt), "worker" if self.request else "")


def calls(folder: Path) -> list[Call]:
    """All agent starts of a case, oldest first."""
    requests = _by_pid(_lines(folder / "requests.jsonl"))
    answered = _by_pid([line for line in _lines(folder / "calls.jsonl") if line["event"] == "answered"])
    starts = [line for line in _lines(folder / "calls.jsonl") if line["event"] == "start"]
    log = []
    for start in starts:
        pid = start["pid"]
        request = requests[pid].popleft() if requests[pid] else None
        ended = answered[pid].popleft()["at"] if answered[pid] else None
        log.append(Call(pid, start["parent"], start["at"], start["alone"], request, ended))
    return log


def _by_pid(lines: list[dict[str, Any]]) -> defaultdict[int, deque[dict[str, Any]]]:
    by_pid: defaultdict[int, deque[dict[str, Any]]] = defaultdict(deque)
    for line in lines:
        by_pid[line["pid"]].append(line)
    return by_pid


def _lines(path: Path) -> list[dict[str, Any]]:
    """The complete lines of a JSONL file: a killed agent can leave half a line."""
    try:
        content = path.read_text(errors="replace")
    except FileNotFoundError:
        return []
    records = []
    for line in content.split("\n")[:-1]:
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    return records


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One finished run of a check."""

    at: float
    number: int
    code: int


def logged_check(check: str, number: int, folder: Path) -> str:
    """Wrap a check command so that it appends time, number and exit code to `checks.txt`."""
    return f"( {check} ); code=$?; echo $(date +%s.%N) {number} $code >> {folder / 'checks.txt'}; exit $code"


def check_runs(folder: Path) -> list[CheckRun]:
    """All finished check runs of a case, oldest first."""
    try:
        rows = [line.split() for line in (folder / "checks.txt").read_text().split("\n")[:-1]]
    except FileNotFoundError:
        return []
    return [CheckRun(float(at), int(number), int(code)) for at, number, code in rows]
