"""The tables of docs/agents.md say what the agents can do."""

from __future__ import annotations

from pathlib import Path

import pytest

from untildone import agents

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
ROWS = {
    "goes on in its session": "resume",
    "forks its session": "fork",
    "reports tokens": "tokens",
    "takes a system prompt": "system_prompt",
    "has a read-only mode": "read_only",
    "notes in its session that a limit cut it off": "interrupt",
    "has [a goal loop of its own](#the-agents-own-goal-loop---native-goal)": "native_goal",
}
ACP_COLUMNS = {2: "resume", 3: "fork", 4: "tokens"}


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def row_of(first: str) -> list[str]:
    return next(cells(line) for line in PAGE.splitlines() if line.startswith(f"| {first} |"))


def says_yes(cell: str) -> bool:
    return not cell.startswith(("–", "no"))


@pytest.mark.parametrize("row", ROWS)
def test_what_each_can_do(row: str) -> None:
    names = next(cells(line) for line in PAGE.splitlines() if line.startswith("| | claude | codex | copilot |"))
    said = {name: says_yes(cell) for name, cell in zip(names[1:], row_of(row)[1:], strict=True)}
    assert said == {name: getattr(agents.find(name).capabilities, ROWS[row]) for name in names[1:]}


@pytest.mark.parametrize("name", [name for name in agents.names() if name.startswith("acp:")])
def test_what_each_can_do_over_acp(name: str) -> None:
    row, can = row_of(f"`{name}`"), agents.find(name).capabilities
    assert {ability: says_yes(row[place]) for place, ability in ACP_COLUMNS.items()} == {
        ability: getattr(can, ability) for ability in ACP_COLUMNS.values()
    }
