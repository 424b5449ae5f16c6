"""The receipt and the report of an ended loop: what was asked, spent and changed, and who vouches for it."""

from __future__ import annotations

import json

import pytest

from untildone.core.limits import duration
from untildone.core.model import Answer, Budget, Changes, GateResult, RoomKind, Usage
from untildone.core.protection.sandbox import Containment
from untildone.core.receipts import proof
from untildone.core.receipts.proof import Proof
from untildone.core.receipts.receipt import FileChange, receipt, report
from untildone.core.values.value import replace
from untildone.testing.driver import Driver, Reply, looping

FILES = (FileChange("src/a.py", 10, 2), FileChange("README.md", 1, 0))
DONE = "<promise>COMPLETE</promise>"


def verified() -> Driver:
    working = Reply(Answer("Half way.", usage=Usage(0.25, 1000)), 60.0, Changes("one", head="aaa", tree="t1"))
    done = Reply(Answer(DONE, usage=Usage(0.5, 2500), agent_version="9.9"), 90.0, Changes("two", head="bbb", tree="t2"))

    def check(command: str, _loop: object) -> GateResult:
        return GateResult("check", command, passed=True, tail="3 passed", exit_code=0, seconds=1.5, output_sha256="abc")

    driver = looping([working, done], Budget(iterations=5), check, checks=("pytest -q",), task="Fix the bug\nin a.py")
    driver.run()
    return driver


def test_a_receipt_tells_what_was_asked_spent_and_changed() -> None:
    loop = verified().loop
    fields = receipt(loop, FILES, loop.agent_version)
    assert fields["task"] == "Fix the bug\nin a.py"
    assert fields["agent"] == {"name": "scripted", "profile": "worker", "model": None, "version": "9.9"}
    assert (fields["status"], fields["outcome"], fields["iterations"]) == ("completed", "verified", 2)
    assert fields["spend"] == {"iterations": 2, "seconds": 150.5, "cost_usd": 0.75, "tokens": 3500}
    assert (fields["commit_before"], fields["commit_after"]) == (None, "bbb")
    assert [change["path"] for change in fields["files_changed"]] == ["src/a.py", "README.md"]
    assert json.loads(json.dumps(fields)) == fields


SEALED, PLAIN = RoomKind.SEALED, RoomKind.PLAIN


@pytest.mark.parametrize(
    ("gates", "level"),
    [
        ([("check", SEALED, False)], Proof.CLEAN),
        ([("check", PLAIN, False)], Proof.CHECKED),
        ([("check", None, False)], Proof.CHECKED),
        ([("check", SEALED, False), ("red_first", None, False)], Proof.CLEAN),
        ([("check", SEALED, False), ("causal", SEALED, True), ("red_first", None, False)], Proof.CAUSAL),
        ([("check", SEALED, False), ("causal", PLAIN, True)], Proof.CHECKED),
        ([("check", SEALED, False), ("causal", SEALED, True), ("held_out", SEALED, True)], Proof.HELD_OUT),
    ],
    ids=lambda value: "" if isinstance(value, list) else value.value,
)
def test_the_proof_level_is_that_of_the_rooms_in_which_something_ran(
    gates: list[tuple[str, RoomKind | None, bool]], level: Proof
) -> None:
    results = tuple(GateResult(gate, gate, passed=True, room=room, proves=proves) for gate, room, proves in gates)
    boxed = replace(verified().loop, gates=results, containments=(Containment(boxed=True),))
    assert proof.level(boxed) is level


def test_tests_that_an_agent_without_a_box_could_have_read_are_not_held_out() -> None:
    gates = (
        GateResult("check", "c", passed=True, room=SEALED),
        GateResult("held_out", "h", passed=True, room=SEALED, proves=True),
    )
    loop = replace(verified().loop, gates=gates)
    for held in ((), (Containment(boxed=True), Containment(boxed=False))):
        assert proof.level(replace(loop, containments=held)) is Proof.CLEAN


@pytest.mark.parametrize("passed", [True, False])
def test_a_report_says_what_a_proof_found(passed: bool) -> None:
    survivors = "- a.py:1: 3 in f is 4: no test noticed\n- a.py:9: g returns nothing: no test noticed"
    found, notes = "3 of 5 mutants died", ("The time was over.", survivors)
    reason = "" if passed else f"{found}; tests must notice"
    result = GateResult("mutants", "mutants", passed=passed, reason=reason, tests=found, notes=notes)
    loop = replace(verified().loop, gates=(result,))
    fields = receipt(loop, FILES, "")
    lines = report(loop, fields).splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("- mutants"))
    assert "3 of 5 mutants died" in lines[place]
    assert lines[place + 1 : place + 4] == [
        "  - The time was over.",
        "  - a.py:1: 3 in f is 4: no test noticed",
        "  - a.py:9: g returns nothing: no test noticed",
    ]
    assert survivors in fields["gates"][0]["notes"]


def test_a_receipt_names_each_gate_with_its_command_exit_code_and_hash() -> None:
    (gate,) = receipt(verified().loop, FILES, "")["gates"]
    assert gate == {
        "gate": "check",
        "command": "pytest -q",
        "passed": True,
        "exit_code": 0,
        "reason": "",
        "seconds": 1.5,
        "output_sha256": "abc",
        "room": None,
        "tree": "",
        "tests": "",
        "failing": [],
        "tampered": [],
        "notes": [],
    }


def test_times_are_rfc_3339_in_utc_and_the_end_is_after_the_start() -> None:
    fields = receipt(verified().loop, FILES, "")
    assert fields["started"] == "2026-01-01T12:00:00.000000Z"
    assert fields["ended"] > fields["started"]


def test_the_report_says_the_same_for_people() -> None:
    loop = verified().loop
    text = report(loop, receipt(loop, FILES, "9.9"))
    for words in (
        "**verified**: Done, and every gate agrees.",
        "- Iterations: 2",
        "- Spend: $0.7500, 3,500 tokens",
        "- Files changed: 2",
        "  - src/a.py (+10 −2)",
        "- check `pytest -q`: passed",
        "Fix the bug\nin a.py",
    ):
        assert words in text


def test_what_changed_may_not_be_known() -> None:
    loop = verified().loop
    fields = receipt(loop, None, "")
    assert fields["files_changed"] is None
    assert "- Files changed: not known\n" in report(loop, fields)
    nothing = receipt(loop, (), "")
    assert nothing["files_changed"] == []
    assert "- Files changed: 0\n" in report(loop, nothing)


def test_without_a_gate_the_report_says_that_nothing_verified_it() -> None:
    driver = looping([DONE])
    loop = driver.run()
    text = report(loop, receipt(loop, (), ""))
    assert "**claimed**" in text
    assert "None: nothing verified the agent's word." in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (12.4, "12 s"),
        (59.6, "1m 0s"),
        (200, "3m 20s"),
        (3600, "1h 0m"),
        (4800, "1h 20m"),
        (90_000, "25h 0m"),
    ],
)
def test_durations_as_people_read_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words
