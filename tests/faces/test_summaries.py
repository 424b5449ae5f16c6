"""A loop in one line. Covers: faces/cli/views/summaries.py, and what a round used in faces/text/loop_lines.py."""

from __future__ import annotations

from untildone.core.apply import apply
from untildone.core.events import BaselineRan, Entry
from untildone.core.model import Answer, Budget, Failure, FailureKind, GateResult, Measured, Usage
from untildone.faces.cli.views import summaries
from untildone.faces.text import gate_lines, loop_lines
from untildone.faces.text.line import clock
from untildone.testing import driver

LIMIT = Answer(failure=Failure(FailureKind.LIMIT, "usage limit", reset_at=driver.NOON + 7200))


def test_a_loop_that_waits_for_a_limit_says_until_when() -> None:
    ran = driver.looping([LIMIT, "Done."], Budget(iterations=2))
    ran.lease()
    while summaries.waits_until(ran.loop, ran.clock()) is None:
        ran.step()
    until = clock(driver.NOON + 7200, ran.clock())
    assert summaries.status(ran.loop, driven=True, now=ran.clock()) == f"running (waits for a limit until {until})"
    assert summaries.status(ran.loop, driven=False, now=ran.clock()) == summaries.NO_RUNNER
    assert summaries.status(ran.loop, driven=True, now=driver.NOON + 7300) == "running"


def test_a_round_says_what_it_used_where_the_agent_tells_only_totals() -> None:
    totals = (
        Answer(text, session_id="s", session_total=Usage(tokens=tokens)) for text, tokens in (("a", 100), ("b", 180))
    )
    ran = driver.looping(list(totals), Budget(iterations=2))
    assert ran.run().spend.tokens == 180
    lines, loop = [], None
    for entry in ran.entries:
        loop = apply(loop, entry)
        lines += [line.text for line in loop_lines.of_entry(entry, loop, live=False)]
    assert [line for line in lines if "tokens" in line] == ["Round 1: 1 s, 100 tokens", "Round 2: 1 s, 80 tokens"]


def test_a_proof_that_did_not_apply_is_not_said_to_have_passed() -> None:
    nothing = GateResult(
        "red_first", command="red_first", passed=True, proves=False, notes=("There are no new tests.",)
    )
    [line] = gate_lines.of_gate(nothing)
    assert line.text == "gate: red_first: proves nothing: There are no new tests."
    [line] = gate_lines.of_gate(GateResult("red_first", command="red_first", passed=True))
    assert line.text == "gate: red_first: passed"


def test_a_gate_that_is_no_proof_is_said_to_have_passed() -> None:
    [line] = gate_lines.of_gate(GateResult("require_change", command="", passed=True, proves=False))
    assert line.text == "gate: require change: passed"


def test_no_name_of_a_test_steers_a_terminal() -> None:
    named = Measured("node --test", "exit code 1", "1 failed", failing=("a\u202eb\x9b2J\x1b[2Jc\u2028d\x07",))
    event = BaselineRan((named,), 1.0)
    loop = driver.looping(["Done."], Budget(iterations=1)).loop
    (line,) = (line.text for line in loop_lines.of_entry(Entry(2, driver.NOON, event), loop, live=False))
    assert "1 failed, 0 s (a b 2Jc d ); what fails now" in line
