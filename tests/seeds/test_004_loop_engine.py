"""Seed 004, the loop engine (mode phases): its requirements, one test each."""

from __future__ import annotations

import json
from typing import Any

from untildone.core.apply import apply
from untildone.core.events import AnswerRead
from untildone.core.model import Budget
from untildone.faces.cli.views import menus
from untildone.faces.text import loop_lines
from untildone.testing import driver
from untildone.testing.driver import Driver


def said(**fields: Any) -> str:
    return json.dumps({"phase_done": True, **fields})


PLAN = said(subtasks=[{"id": "s1", "text": "one"}, {"id": "s2", "text": "two", "depends_on": ["s1"]}])
FIRST = json.dumps({"subtasks": [{"id": "s1", "status": "completed"}]})


def working(*replies: str, rounds: int = 3) -> Driver:
    return driver.looping(list(replies), Budget(iterations=rounds), mode="phases", options={"route": "ralph"})


def test_requirement_the_resume_menu_shows_phase_n_of_m() -> None:
    loop = working(said(summary="Looked."), rounds=1).run()
    assert "Progress: Phase 2 of 4: Planning, round 1/1" in menus.facts_of_unfinished(loop)


def test_requirement_log_entries_have_phase_and_subtasks_done() -> None:
    ran = working(said(summary="Looked."), PLAN, FIRST)
    ran.run()
    read = [event for event in ran.events(AnswerRead) if isinstance(event, AnswerRead)]
    assert [(event.phase, event.subtasks_done) for event in read] == [(2, 0), (3, 0), (3, 1)]


def test_requirement_route_phase_and_subtasks_are_shown_and_never_json() -> None:
    ran = working(said(summary="Looked."), PLAN, FIRST)
    ran.run()
    lines, loop = [], None
    for entry in ran.journal.entries:
        loop = apply(loop, entry)
        lines += [line.text for line in loop_lines.of_entry(entry, loop, live=False)]
    text = "\n".join(lines)
    assert "Round 3 · subtasks 3/4 (0 left)" in text
    assert "  ✓ s1: one" in text
    assert "route ralph · 2 of 4 phases done · 1 of 2 subtasks done" in text
    assert "phase_done" not in text
