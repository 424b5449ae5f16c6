"""The inbox: who needs a person, why a loop waits, what the last output was, what a receipt says."""

from __future__ import annotations

from typing import Any

import pytest

from untildone.core.attention import Act, Need, NeedKind
from untildone.core.doing import Doing, DoingKind
from untildone.core.kinds import Host
from untildone.core.model import Outcome, Status
from untildone.core.values.value import replace
from untildone.operations.loop_table import Row
from untildone.operations.showing import inbox, waiting
from untildone.operations.showing.inbox import Gate
from untildone.operations.showing.last_output import last_line
from untildone.operations.showing.output_window import Block, Call, Kind
from untildone.operations.showing.waiting import Waits

NOW = 1_800_000_000.0
DAY = 86_400.0
STARTS = Doing(DoingKind.STARTS, NOW)


def row(name: str = "loop", **facts: Any) -> Row:
    return Row(name, "/w", **{"status": Status.RUNNING, "updated_at": NOW, "doing": STARTS, **facts})


def resting(outcome: Outcome, name: str = "loop", **facts: Any) -> Row:
    return row(name, status=outcome.status, outcome=outcome, doing=None, **facts)


FAILED = Need(NeedKind.FAILED, Act.RETRY, "It crashed.")
LIMIT = Need(NeedKind.LIMIT, Act.RESUME_NOW, "at its limit", until=NOW + 60)


@pytest.mark.parametrize(
    ("given", "needs"),
    [
        (row(), False),
        (resting(Outcome.PAUSED), False),
        (resting(Outcome.BLOCKED, need=Need(NeedKind.BLOCKED, Act.ANSWER, "?"), updated_at=NOW - 99 * DAY), True),
        (resting(Outcome.FAILED, need=FAILED, updated_at=NOW - 6 * DAY), True),
        (resting(Outcome.FAILED, need=FAILED, updated_at=NOW - 8 * DAY), False),
        (row(need=LIMIT), True),
        (row(need=replace(LIMIT, until=NOW - 1)), False),
    ],
)
def test_who_needs_a_person_now(given: Row, needs: bool) -> None:
    assert inbox.needs_person(given, NOW) is needs


def test_loops_are_sorted_by_what_they_are_to_a_person() -> None:
    done = [resting(Outcome.VERIFIED, f"done-{each}", updated_at=NOW + each) for each in range(20)]
    at_limit, works = row("limit", need=LIMIT), row("works")
    older = resting(Outcome.FAILED, "older", need=FAILED, updated_at=NOW - 5)
    found = inbox.sort([older, *done, works, at_limit, resting(Outcome.STOPPED)], NOW)
    assert [each.loop_id for each in found.needs] == ["limit", "older"]
    assert found.working == (works,)
    assert [each.loop_id for each in found.done] == [f"done-{each}" for each in range(19, 9, -1)]


@pytest.mark.parametrize(
    ("facts", "queued", "problem", "kind"),
    [
        ({"host": Host.SERVER}, True, "", Waits.SLOT),
        ({"host": Host.SERVER}, True, "The folder is gone.", Waits.PROBLEM),
        ({"host": Host.SERVER}, False, "", Waits.SERVER),
        ({"host": Host.CLUSTER}, False, "", Waits.MACHINE),
        ({"host": Host.TERMINAL}, False, "", Waits.NOBODY),
        ({"host": Host.HOOK}, False, "", Waits.NOBODY),
        ({"doing": Doing(DoingKind.AT_LIMIT, NOW, "at its limit", NOW + 9)}, True, "", Waits.LIMIT),
        ({"doing": Doing(DoingKind.RETRIES, NOW, "overloaded", NOW + 9)}, False, "", Waits.RETRY),
    ],
)
def test_why_a_loop_without_a_runner_waits(facts: dict[str, Any], queued: bool, problem: str, kind: Waits) -> None:
    why = waiting.why(row(**facts), queued=queued, problem=problem, slots=4)
    assert why is not None
    assert (why.kind, problem in why.text) == (kind, True)


def test_a_loop_that_rests_waits_for_nothing() -> None:
    assert waiting.why(resting(Outcome.PAUSED), queued=False, problem="", slots=4) is None


@pytest.mark.parametrize(
    ("blocks", "line"),
    [
        ((), ""),
        ((Block(Kind.SAID, 0, "One.\nTwo.\n\n"),), "Two."),
        (
            (Block(Kind.SAID, 0, "One."), Block(Kind.TOOLS, 1, calls=(Call("bash", "ls"), Call("edit", "a.py")))),
            "edit a.py",
        ),
        ((Block(Kind.SAID, 0, "One."), Block(Kind.THOUGHT, 1, "  ")), "One."),
        ((Block(Kind.SAID, 0, "x" * 999),), "x" * 300),
    ],
)
def test_the_last_line_of_an_output(blocks: tuple[Block, ...], line: str) -> None:
    assert last_line(blocks) == line


def test_a_verified_loop_has_gates_and_lines_of_its_receipt() -> None:
    receipt = {
        "gates": [
            {"gate": "check", "command": "pytest -q", "passed": True, "tests": "3 passed"},
            {"gate": "review", "command": "", "passed": True},
            {"gate": "check", "command": "mypy", "passed": False},
        ],
        "files_changed": [{"insertions": 10, "deletions": 2}, {"insertions": 2, "deletions": 0}],
    }
    found = inbox.finished(resting(Outcome.VERIFIED), receipt)
    assert found.gates == (Gate("pytest -q", "3 passed"), Gate("review"))
    assert (found.files, found.insertions, found.deletions) == (2, 12, 2)


@pytest.mark.parametrize("receipt", [{}, {"gates": 3, "files_changed": None}, {"gates": [1], "files_changed": ["x"]}])
def test_a_damaged_receipt_says_nothing(receipt: dict[str, Any]) -> None:
    found = inbox.finished(resting(Outcome.VERIFIED), receipt)
    assert (found.gates, found.files, found.insertions) == ((), 0, 0)
