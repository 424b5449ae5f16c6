"""Logs that agents and checks write themselves, outside every workspace: evidence that is independent of the journal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROLES = {"You are the supervisor": "supervisor", "You are the instructor": "instructor"}
"""A phrase of the system prompt → the role it belongs to."""


@dataclass(frozen=True, slots=True)
class Call:
    """One start of an agent."""

    pid: int
    """Its number, which is another one in a box."""
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
    requests = {line["call"]: line for line in _lines(folder / "requests.jsonl")}
    lines = _lines(folder / "calls.jsonl")
    answered = {line["call"]: line["at"] for line in lines if line["event"] == "answered"}
    return [
        Call(
            start["pid"],
            start["parent"],
            start["at"],
            start["alone"],
            requests.get(start["call"]),
            answered.get(start["call"]),
        )
        for start in lines
        if start["event"] == "start"
    ]


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
