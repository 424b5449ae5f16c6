"""Covers the proofs: which trials they ask for, and how they judge what came back."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import pytest

from untildone import gates
from untildone.core.judging.survey import Rules, survey
from untildone.core.judging.trees import Remove, Restore, Tree, Write
from untildone.core.model import AgentChoice, BeforeWork, Budget, LoopSettings, Measured, RoomKind
from untildone.core.plugins.gate import CommandEnd, CommandRan, RunnerReport
from untildone.core.receipts import proving
from untildone.core.receipts.proving import Base, Planned, TrialRan, TrialsRan, Work
from untildone.core.values.value import dataclass, replace
from untildone.gates import acceptance
from untildone.gates._proofs import ProofGate, Verdict
from untildone.gates.canary.expectations import altered, call_of
from untildone.gates.canary.languages import failing_test, selects
from untildone.gates.mutants.other_values import helper
from untildone.gates.mutants.python import Damage, harmless, mutants
from untildone.settings.declared import every
from untildone.testing.driver import looping

CHECK = "pytest -q"
TIMEOUT = 600.0
GREEN, RED, ERROR, NOTHING = (0, 3, 0), (1, 2, 1), (2, 0, 1), (5, 0, 0)
"""Exit code, passed and failed tests."""
START = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": "def test_add(): assert add(1, 2) == 3\n",
}
FIXED = {**START, "calc.py": "def add(a, b):\n    return a + b\n"}
WITH_TEST = {**FIXED, "tests/test_more.py": "def test_more(): assert add(2, 2) == 4\n"}


@dataclass(frozen=True, slots=True)
class Blob:
    blob: str
    mode: str = "100644"


def tree(texts: Mapping[str, str]) -> Tree:
    blobs = {hashlib.sha1(text.encode()).hexdigest(): text.encode() for text in texts.values()}
    files = {path: Blob(hashlib.sha1(text.encode()).hexdigest()) for path, text in texts.items()}

    def read(names: Iterable[str]) -> Mapping[str, bytes]:
        return {name: blobs[name] for name in names}

    return Tree(files, read)


def work(before: Mapping[str, str] = START, after: Mapping[str, str] = FIXED, **given: Any) -> Work:
    start, claimed = tree(before), tree(after)
    found = survey(start, claimed, Rules((CHECK,)))
    made = Work(start, claimed, found, (CHECK,), {CHECK: "3 passed"}, word="Word")
    return replace(made, **given)


def proof(name: str) -> ProofGate:
    found = gates.find(name)
    assert isinstance(found, ProofGate)
    return found


def ran(code: int, passed: int, failed: int) -> CommandRan:
    report = RunnerReport(("pytest",), passed=passed, failed=failed)
    return CommandRan(CommandEnd.EXITED, code, tail=f"{failed} failed", report=report, room=RoomKind.SEALED)


def judged(name: str, planned: Planned, *ends: tuple[int, int, int], wanted: int | None = None) -> Verdict:
    runs = tuple(TrialRan(trial, ran(*end)) for trial, end in zip(planned.trials, ends, strict=False))
    return proof(name).verdict(TrialsRan(runs, len(ends) if wanted is None else wanted), TIMEOUT)


def settings(**options: object) -> LoopSettings:
    return LoopSettings(
        mode="ralph", worker=AgentChoice("x", "command"), workspace="/w", checks=(CHECK,), options=options
    )


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({}, ()),
        ({"causal": True}, ("causal",)),
        ({"repeat": 1}, ()),
        ({"repeat": 2}, ("repeat",)),
        ({"held_out": "/h"}, ("held_out",)),
        ({"prove": True}, ("repeat", "canary", "causal", "red_first", "mutants")),
        (
            {"prove": True, "held_out": "/h"},
            tuple(name for name in proving.PROOFS if name != proving.ACCEPTANCE),
        ),
    ],
)
def test_options_choose_proofs(options: dict[str, object], chosen: tuple[str, ...]) -> None:
    assert proving.chosen(settings(**options)) == chosen
    assert proving.chosen(replace(settings(**options), checks=())) == ()


def test_an_author_is_a_proof_of_its_own() -> None:
    assert proving.chosen(replace(settings(), acceptance=AgentChoice("writer", "command"))) == ("acceptance",)


def test_each_proof_is_a_gate_with_a_setting_of_its_name() -> None:
    for name in proving.PROOFS:
        assert proof(name).name == name
        assert name in every()


class TestCausal:
    def test_without_changed_judge_files_one_run_is_enough(self) -> None:
        [trial] = proof("causal").trials(work()).trials
        assert (trial.base, trial.edits) == (Base.START, ())

    def test_the_work_is_taken_back_and_new_tests_stay(self) -> None:
        before, without = proof("causal").trials(work(after={**WITH_TEST, "new.py": "x = 1\n"})).trials
        assert before.base is Base.START
        assert (without.base, without.edits) == (Base.CLAIMED, (Remove("new.py"), Restore("calc.py")))

    def test_if_tests_are_the_work_all_of_it_is_taken_back(self) -> None:
        [trial] = proof("causal").trials(work(after=WITH_TEST, all_is_work=True)).trials
        assert (trial.base, trial.edits) == (Base.START, ())

    @pytest.mark.parametrize(
        ("before", "without", "words", "reason"),
        [
            (RED, RED, "1 failed before, 1 failed again without the work", ""),
            (GREEN, RED, "green before, 1 failed without the work", ""),
            (RED, GREEN, "", "passes when your work is taken back"),
            (GREEN, GREEN, "", "none of them can tell done from not done"),
        ],
    )
    def test_verdict(
        self, before: tuple[int, int, int], without: tuple[int, int, int], words: str, reason: str
    ) -> None:
        verdict = judged("causal", proof("causal").trials(work(after=WITH_TEST)), before, without)
        assert verdict.words == words
        assert reason in verdict.reason
        assert bool(reason) == bool(verdict.reason)


class TestRedFirst:
    def test_new_tests_run_on_the_tree_of_the_start(self) -> None:
        before, after = proof("red_first").trials(work(after=WITH_TEST)).trials
        assert (before.base, before.edits, after.base) == (Base.START, (), Base.START)
        assert after.edits == (Write("tests/test_more.py", WITH_TEST["tests/test_more.py"].encode()),)

    def test_without_new_tests_it_does_not_apply(self) -> None:
        assert proof("red_first").trials(work()).trials == ()

    @pytest.mark.parametrize(
        ("before", "after", "holds"),
        [
            (GREEN, RED, True),
            (GREEN, GREEN, False),
            (RED, (1, 2, 2), True),
            (RED, (1, 3, 1), False),
            (RED, ERROR, True),
            (NOTHING, ERROR, True),
        ],
    )
    def test_verdict(self, before: tuple[int, int, int], after: tuple[int, int, int], holds: bool) -> None:
        verdict = judged("red_first", proof("red_first").trials(work(after=WITH_TEST)), before, after)
        assert (not verdict.reason) is holds

    @pytest.mark.parametrize(
        ("known", "failing", "after", "holds"),
        [
            ((), ("new",), RED, True),
            ((), (), GREEN, False),
            (("old",), ("old",), RED, False),
            (("old",), ("new",), RED, True),
            (("old",), ("new", "old"), (1, 2, 2), True),
            (("old",), ("old",), (1, 2, 2), True),
            (("old",), (), (101, 0, 0), True),
        ],
        ids=["green before", "tests nothing", "fails as before", "other", "one more", "one without a name", "no build"],
    )
    def test_what_failed_before_the_first_round_is_not_run_again(
        self, known: tuple[str, ...], failing: tuple[str, ...], after: tuple[int, int, int], holds: bool
    ) -> None:
        measured = {CHECK: Measured(CHECK, "exit code 1" if known else "", failing=known)}
        planned = proof("red_first").trials(work(after=WITH_TEST, measured=measured))
        [trial] = planned.trials
        end = ran(*after)
        end = replace(end, report=end.report and replace(end.report, failing=failing))
        verdict = proof("red_first").verdict(TrialsRan((TrialRan(trial, end),), 1), TIMEOUT)
        assert (not verdict.reason) is holds


class TestRepeat:
    @pytest.mark.parametrize(("options", "runs"), [({}, 2), ({"repeat": 5}, 4), ({"repeat": 1}, 2)])
    def test_the_first_run_was_that_of_the_check(self, options: dict[str, object], runs: int) -> None:
        assert len(proof("repeat").trials(work(options=options)).trials) == runs

    def test_verdict(self) -> None:
        planned = proof("repeat").trials(work(options={"repeat": 5}))
        assert judged("repeat", planned, GREEN, GREEN, GREEN, GREEN).words == "passes 5 times of 5"
        flaky = judged("repeat", planned, GREEN, RED, GREEN, RED)
        assert flaky.reason == "`pytest -q` is flaky: 3 of 5 runs passed"


class TestHeldOut:
    def test_files_are_laid_over_the_claimed_tree(self) -> None:
        [trial] = (
            proof("held_out").trials(work(held_out={"tests/test_h.py": b"x"})).trials
        )  # there is no test to change
        assert (trial.base, trial.edits) == (Base.JUDGED, (Write("tests/test_h.py", b"x"),))

    def test_files_that_the_agent_added_are_not_beside_them(self) -> None:
        """Then a run without them says how many tests there are: that of the check had the tests of the agent too."""
        planned = proof("held_out").trials(work(after=WITH_TEST, held_out={"tests/test_h.py": b"x"}))
        assert [(trial.base, trial.label) for trial in planned.trials] == [
            (Base.JUDGED, "without them"),
            (Base.JUDGED, "with the held-out tests"),
        ]
        assert judged("held_out", planned, (0, 1, 0), (0, 2, 0)).words == "1 held-out test passed"
        assert "no check runs" in judged("held_out", planned, (0, 1, 0), (0, 1, 0)).reason

    @pytest.mark.parametrize(
        ("end", "reason"), [((0, 5, 0), ""), (RED, "tests that you cannot see fail"), (GREEN, "no check runs")]
    )
    def test_verdict_and_no_word_about_how_they_fail(self, end: tuple[int, int, int], reason: str) -> None:
        verdict = judged("held_out", proof("held_out").trials(work(held_out={"tests/test_h.py": b"x"})), end)
        assert reason in verdict.reason
        assert bool(reason) == bool(verdict.reason)
        assert verdict.tail == ""


class TestCanary:
    def test_every_test_file_gets_a_test_that_fails(self) -> None:
        trial, *_others = proof("canary").trials(work(after=WITH_TEST)).trials
        assert [edit.path for edit in trial.edits] == ["tests/test_calc.py", "tests/test_more.py"]
        assert all(isinstance(edit, Write) and b"TestWord" in edit.content for edit in trial.edits)

    @pytest.mark.parametrize(
        "command", ["pytest -k add", "pytest tests/a.py::test_b", "pytest -m slow", "go test -run X", "npx jest -t x"]
    )
    def test_a_command_that_chooses_tests_has_none(self, command: str) -> None:
        assert selects(command)
        planned = proof("canary").trials(work(commands=(command,), tests={command: "3 passed"}))
        assert planned.trials == ()
        assert command in planned.notes[0]

    @pytest.mark.parametrize(
        "command",
        [
            "pytest -q",
            "python -m pytest",
            "python3 -m unittest",
            "python3 -m unittest discover -s t -t .",
            "npm test",
            "make test",
            "go test ./...",
            "pytest -q -m 'not slow'",
            'pytest -m "not slow and not e2e" tests',
        ],
    )
    def test_other_commands_have_one(self, command: str) -> None:
        assert not selects(command)

    @pytest.mark.parametrize(
        ("path", "text", "part"),
        [
            ("tests/test_a.py", "", "class TestWord(_unittest_Word.TestCase)"),
            ("a_test.go", 'import "testing"\n', "func TestWord(t *testing.T) { t.Fatal"),
            ("tests/a.rs", "", "fn test_Word() { panic!"),
            ("spec/a_spec.rb", "", "RSpec.describe"),
            ("test/a_test.rb", "require 'minitest/autorun'\n", "Minitest::Test"),
            ("src/a.test.ts", "it('works', () => {})\n", ';it("Word", () => { throw'),
            ("test/a.js", "test('works', () => {})\n", ';test("Word"'),
            ("test/helper.js", "module.exports = 1\n", ""),
            ("calc.py", "", ""),
        ],
    )
    def test_the_language_of_the_file_decides(self, path: str, text: str, part: str) -> None:
        made = failing_test(path, text, "Word")
        assert part in made
        assert bool(part) == bool(made)

    def test_verdict(self) -> None:
        planned = proof("canary").trials(work())
        assert judged("canary", planned, RED).words == "a planted failure is noticed"
        assert (
            "proves nothing" in judged("canary", planned, GREEN).reason
            or "prove nothing" in judged("canary", planned, GREEN).reason
        )


class TestOtherExpectations:
    """Tests that are made to expect another result must fail."""

    PATH = "tests/test_calc.py"
    PLANTED = f"{PATH}::TestWordx0x::t"

    @pytest.mark.parametrize(
        ("body", "made"),
        [
            ("    assert add(1, 2) == 3\n", "assert add(1, 2) == 14"),
            ("    assert 'a' == name()\n", "assert 'aWord' == name()"),
            ("    assert names() == ['a']\n", "assert names() == ['a', 'Word']"),
            ("    assert add(*pair) == expected\n", "assert add(*pair) == _other_Word(expected)"),
            ("    assert is_it()\n", "assert not (is_it())"),
            ("    self.assertEqual(add(1, 2), True)\n", "self.assertEqual(add(1, 2), False)"),
        ],
    )
    def test_python(self, body: str, made: str) -> None:
        found = altered(self.PATH, f"def test_a():\n{body}", "Word", as_twins=True)
        in_place = altered(self.PATH, f"def test_a():\n{body}", "Word")
        assert (in_place.tests, in_place.kept, body in in_place.text) == (found.kept, (), False)
        assert made.replace("14", str(3 + 1 + sum(b"Word") * 31)) in found.text
        [name] = found.tests
        assert re.search(name, "tests/test_calc.py::test_a_Word")
        assert re.search(name, "test_calc.py::test_a_Word[x]")
        assert not re.search(name, "tests/test_calc.py::test_a_Words")
        [kept] = found.kept
        assert f"def test_a():\n{body}" in found.text
        assert re.search(kept, "tests/test_calc.py::test_a")
        assert not re.search(kept, "tests/test_calc.py::test_a_Word")

    @pytest.mark.parametrize(
        "text",
        [
            "@pytest.mark.parametrize('x', [1, 2])\ndef test_a(x):\n    assert x == 1  # one\n",
            "class TestA:\n    @staticmethod\n    def test_a():\n        assert f() == 'a\\\nb'  # end\n\nclass TestB: pass",
            "class TestA(unittest.TestCase):\n    def test_a(self):\n        assert f() == 1\n",
            "def test_a(): assert f() == 1",
            "def test_a():\n    assert f() == 1\nif __name__ == '__main__':\n    main()\n",
        ],
    )
    def test_the_changed_test_stands_beside_the_one_that_it_was_made_from(self, text: str) -> None:
        made = altered(self.PATH, text, "Word", as_twins=True).text
        outer = {
            node.name: [*getattr(node, "body", ())] for node in ast.parse(made).body if isinstance(node, ast.ClassDef)
        }
        assert [len(body) for body in outer.values()][:1] == ([2] if "TestA" in text else [])
        names = [node.name for node in ast.walk(ast.parse(made)) if isinstance(node, ast.FunctionDef)]
        assert sorted(names) == ["_other_Word", "test_a", "test_a_Word"]
        assert "main()" not in text or made.index("test_a_Word") < made.index("main()")

    @pytest.mark.parametrize(
        "text",
        [
            "def test_a():\n    for x in cases():\n        assert x == 1\n",
            "def test_a():\n    if x:\n        assert x == 1\n",
            "@pytest.mark.skipif(True, reason='x')\ndef test_a():\n    assert x == 1\n",
            "@needs_database\ndef test_a():\n    assert x == 1\n",
            "def test_a():\n    pytest.skip('x')\n    assert x == 1\n",
            "pytestmark = pytest.mark.skip\ndef test_a():\n    assert x == 1\n",
            "def test_a():\n    with pytest.raises(ValueError):\n        assert f() == 1\n",
            "def test_a():\n    with suppress(ValueError):\n        assert f() == 1\n",
            "def helper():\n    assert f() == 1\n",
            "@pytest.mark.slow\nclass TestA:\n    def test_a(self):\n        assert f() == 1\n",
            "class TestA:\n    pytestmark = [pytest.mark.slow]\n    def test_a(self):\n        assert f() == 1\n",
            "def test_a(:\n",
        ],
    )
    def test_what_may_not_run_stays_as_it_is(self, text: str) -> None:
        assert altered(self.PATH, text, "Word").tests == ()

    def test_a_mark_of_the_encoding_hides_no_test(self) -> None:
        assert altered(self.PATH, "\ufeffdef test_a():\n    assert f() == 1\n", "Word").tests

    def test_names_of_unittest(self) -> None:
        text = "class TestIt(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 1)\n"
        [name] = altered(self.PATH, text, "Word", as_twins=True).tests
        assert re.search(name, "test_a_Word (tests.test_calc.TestIt.test_a_Word)")
        assert re.search(name, "test_a_Word (test_calc.TestIt)")

    def test_javascript(self) -> None:
        text = "test('adds', () => assert.strictEqual(add(1, 2), 3));\ntest('maybe', () => { if (x) assert.equal(1, 1) });\n"
        assert altered("test/a.test.js", text, "Word").tests == ("(?:^| > | › )adds$",)
        found = altered("test/a.test.js", text, "Word", as_twins=True)
        twins = (
            "test('adds', () => assert.strictEqual(add(1, 2), 3))",
            "test('adds Word', () => _check_Word(assert.strictEqual)(add(1, 2), 3))",
        )
        assert ";".join(twins) in found.text
        assert (found.tests, found.kept) == ((r"(?:^| > | › )adds\ Word$",), ("(?:^| > | › )adds$",))

    @pytest.mark.parametrize(
        ("text", "call"),
        [
            ("test('a', () => { f('(') }); x", "test('a', () => { f('(') })"),
            ('test("a", () => {\n  // )\n  f(`)`, ")")\n})\n', 'test("a", () => {\n  // )\n  f(`)`, ")")\n})'),
            ("test('a', () => { f(/[(]/) });", ""),
            ("test('a', () => { f(`${x}`) });", ""),
            ("test('a', () => {", ""),
        ],
    )
    def test_the_end_of_a_call_in_javascript(self, text: str, call: str) -> None:
        assert call_of(text) == call

    @pytest.mark.parametrize(
        ("failing", "failed", "passed", "holds"),
        [
            ((PLANTED, f"{PATH}::test_add_Word"), 2, 1, True),
            ((PLANTED,), 1, 2, False),
            ((PLANTED, f"{PATH}::test_add_Word", f"{PATH}::test_add"), 3, 0, False),
            ((PLANTED, f"{PATH}::test_add_Word"), 1, 2, False),
            (("other.py::test_x",), 1, 1, True),
            ((), 2, 1, True),
            ((), 1, 2, False),
        ],
        ids=[
            "it fails",
            "it passes",
            "the one that it was made from fails too",
            "its name was only printed",
            "the file is not run",
            "no names",
            "no names, it passes",
        ],
    )
    def test_verdict(self, failing: tuple[str, ...], failed: int, passed: int, holds: bool) -> None:
        planted, _in_place, other = proof("canary").trials(work()).trials
        first = replace(ran(1, 1, 1), report=RunnerReport(("pytest",), passed=1, failed=1))
        second = replace(ran(1, passed, failed), report=RunnerReport(("pytest",), passed, failed, failing=failing))
        runs = (TrialRan(planted, first), TrialRan(other, second))
        assert (not proof("canary").verdict(TrialsRan(runs, 2), TIMEOUT).reason) is holds

    def test_a_run_that_reports_nothing_is_not_said_to_have_passed(self) -> None:
        planted, in_place, _other = proof("canary").trials(work()).trials
        runs = (TrialRan(planted, ran(1, 1, 1)), TrialRan(in_place, replace(ran(1, 0, 0), report=None)))
        reason = proof("canary").verdict(TrialsRan(runs, 2), TIMEOUT).reason
        assert reason.startswith(f"`{CHECK}`: no test runner reports anything")
        assert "tests pass" not in reason

    def test_tests_are_changed_in_their_places_too(self) -> None:
        """Code that reads its answers in the file of the tests would find them beside the changed ones."""
        planted, in_place, _twins = proof("canary").trials(work()).trials
        failing = (self.PLANTED, f"{self.PATH}::test_add")
        for names, passed, holds in ((failing, 0, True), (failing[:1], 1, False)):
            report = RunnerReport(("pytest",), passed, len(names), failing=names)
            runs = (TrialRan(planted, ran(1, 1, 1)), TrialRan(in_place, replace(ran(1, 0, 2), report=report)))
            assert (not proof("canary").verdict(TrialsRan(runs, 2), TIMEOUT).reason) is holds

    def test_files_without_a_test_to_change_have_a_planted_one_as_well(self) -> None:
        """So that `pytest -x` stops in the same file in both runs, and as many tests pass before."""
        after = {**FIXED, "tests/test_a.py": "def test_a():\n    for x in cases():\n        assert x\n"}
        planted, *others = proof("canary").trials(work(after=after)).trials
        assert len(others) == 2
        assert all([edit.path for edit in each.edits] == [edit.path for edit in planted.edits] for each in others)

    @pytest.mark.parametrize("ignored", [True, False])
    def test_only_a_test_that_failed_at_the_claim_may_fail_beside_a_changed_one(self, ignored: bool) -> None:
        """Not one that failed before any work: that may be what the loop is for."""
        failing = (self.PLANTED, f"{self.PATH}::test_add_Word", f"{self.PATH}::test_add")
        old = Measured(CHECK, "exit code 1", failing=failing[2:])
        claimed = work(measured={CHECK: old}, failing={CHECK: failing[2:] if ignored else ()})
        planted, _in_place, other, _at_start = proof("canary").trials(claimed).trials
        second = replace(ran(1, 0, 3), report=RunnerReport(("pytest",), 0, 3, failing=failing))
        runs = (TrialRan(planted, ran(1, 0, 2)), TrialRan(other, second))
        assert (not proof("canary").verdict(TrialsRan(runs, 2), TIMEOUT).reason) is ignored


class TestMutants:
    OLD = "def same():\n    return 1\n"
    NEW = OLD + (
        "\nclass A:\n    def bigger(self, a):\n        '''Doc.'''\n        if a > 3:\n            return a\n        return 0\n"
        "\n    def todo(self):\n        raise NotImplementedError\n"
    )

    def test_changed_functions_are_damaged_in_four_ways(self) -> None:
        labels = [each.label for each in mutants("a.py", self.OLD, self.NEW)]
        assert labels == [
            "a.py:5: the body of A.bigger is removed",
            "a.py:8: A.bigger returns something else",
            "a.py:7: a condition of A.bigger is negated",
            "a.py:7: 3 in A.bigger is 4",
        ]

    def test_each_mutant_compiles_and_differs(self) -> None:
        sources = [each.source for each in mutants("a.py", self.OLD, self.NEW)]
        assert len({*sources}) == 4
        for source in sources:
            compile(source, "a.py", "exec")

    def test_a_lambda_with_a_name_is_a_function_too(self) -> None:
        after = "double = lambda a: a * 2\n\n\nclass A:\n    half = lambda a: a / 2\n"
        made = list(mutants("a.py", "double = lambda a: a\n", after))
        assert [each.label for each in made] == [
            "a.py:1: the body of double is removed",
            "a.py:1: double returns something else",
            "a.py:5: the body of A.half is removed",
            "a.py:5: A.half returns something else",
        ]
        assert made[0].source.startswith("double = lambda a: None\n")
        assert made[1].source.startswith("double = lambda a: _other_x(a * 2)\n")
        assert harmless("double = lambda a: a\n", after) == after.replace("a * 2", "(a * 2)").replace(
            "a / 2", "(a / 2)"
        )
        assert list(mutants("a.py", after, after)) == []

    def test_a_docstring_stays_for_it_may_hold_examples(self) -> None:
        doc = 'def f(a):\n    """Twice.\n\n    >>> f(1)\n    2\n    """\n    '
        assert next(mutants("a.py", "", f"{doc}return a * 2\n")).source == f"{doc}pass\n"

    @pytest.mark.parametrize(
        "after", ['def f(a):\n    """Twice."""\n    return a * 2\n', "def f(a: int) -> int:\n    return a * 2\n"]
    )
    def test_words_about_a_function_do_not_change_it(self, after: str) -> None:
        assert list(mutants("a.py", "def f(a):\n    return a * 2\n", after)) == []

    SPECIAL = (
        "def seconds(text):\n    if text == '45s':\n        return 45\n    if text == '2m':\n        return 120\n"
        "    elif text in ('1h', '60m'):\n        return 3600\n    return {}\n"
    )

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("", SPECIAL.format("None")),
            ("", SPECIAL.format("'no duration'")),
            ("", SPECIAL.replace("return {}", "raise ValueError(text)")),
            ("", SPECIAL.format("int(text)").replace("return 120", "return parsed(120)")),
            ("", "def f(n):\n    if n == 0:\n        return 1\n    return n * f(n - 1)\n"),
            ("", "def f(n, m):\n    if n == m:\n        return 1\n    if n == 2:\n        return 1\n    return n\n"),
            (SPECIAL.format("len(text)"), SPECIAL.format("int(text)")),
        ],
        ids=["nothing", "a literal", "an error", "a call", "an edge case", "no literal", "old cases"],
    )
    def test_a_general_case_alone_is_not_tried_for_honest_shapes(self, before: str, after: str) -> None:
        assert Damage.GENERAL not in [each.damage for each in mutants("a.py", before, after)]

    def test_special_cases_beside_a_general_case_that_no_test_reaches_refuse(self) -> None:
        made = list(mutants("a.py", "", self.SPECIAL.format("int(text)")))
        assert [each.damage for each in made][:2] == [Damage.EMPTIED, Damage.GENERAL]
        assert made[1].label == "a.py:8: what seconds does beside its special cases is removed"
        assert made[1].source.endswith("        return 3600\n    raise NotImplementedError\n")
        planned = proof("mutants").trials(work({"a.py": ""}, {"a.py": self.SPECIAL.format("int(text)")}))
        refused = judged("mutants", planned, GREEN, RED, GREEN, RED, RED, RED)
        assert "must notice" in refused.reason
        assert "beside its special cases is removed: no test noticed" in refused.tail
        assert not judged("mutants", planned, GREEN, RED, RED, RED, RED, RED).reason

    TABLE = "KNOWN = {'a b': 'a-b', 'c': 'c-'}\n\n\n"

    @pytest.mark.parametrize(
        ("above", "body", "removed"),
        [
            (TABLE, "return KNOWN.get(text, text.lower())", "KNOWN.get(text, _other_x(text.lower()))"),
            ("", "return {'a': 1, 'b': 2}.get(text, len(text))", "_other_x(len(text))"),
            ("", "known = {'a': 1, 'b': 2}\n    return known.get(text, len(text))", "_other_x(len(text))"),
            (TABLE, "return KNOWN[text] if text in KNOWN else text.lower()", "else _other_x(text.lower())"),
            (TABLE, "return text.lower() if text not in KNOWN else KNOWN[text]", "return _other_x(text.lower()) if"),
            (TABLE, "return KNOWN.get(text) or text.lower()", "KNOWN.get(text) or _other_x(text.lower())"),
            (
                TABLE,
                "if text in KNOWN:\n        return KNOWN[text]\n    return text.lower()",
                "raise NotImplementedError",
            ),
            (
                TABLE,
                "if text in KNOWN:\n        return KNOWN[text]\n    else:\n        return text.lower()",
                "raise NotImplementedError",
            ),
            (
                TABLE,
                "try:\n        return KNOWN[text]\n    except KeyError:\n        return text.lower()",
                "raise NotImplementedError",
            ),
            (
                TABLE,
                "try:\n        return KNOWN[text]\n    except KeyError:\n        pass\n    return text.lower()",
                "raise NotImplementedError",
            ),
            (
                TABLE,
                "got = KNOWN.get(text)\n    if got is not None:\n        return got\n    return text.lower()",
                "raise NotImplementedError",
            ),
            (
                TABLE,
                "if (got := KNOWN.get(text)) is not None:\n        return got\n    return text.lower()",
                "raise NotImplementedError",
            ),
            (
                "",
                "match text:\n        case 'a': return 1\n        case 'b': return 2\n        case _: return len(text)",
                "raise NotImplementedError",
            ),
            (
                TABLE,
                "return KNOWN.get(text, KNOWN.get(text[1:], text.lower()))",
                "KNOWN.get(text[1:], _other_x(text.lower()))",
            ),
            ("", "return 1 if text == 'a' else 2 if text == 'b' else len(text)", "else _other_x(len(text))"),
            (
                "",
                "if text == 'a':\n        return 1\n    elif text == 'b':\n        return 2\n    else:\n        return len(text)",
                "raise NotImplementedError",
            ),
            (
                "import json\n\nKNOWN = json.loads('{\"a\": 1}')\n\n\n",
                "return KNOWN.get(text, text.lower())",
                "KNOWN.get(text, _other_x(text.lower()))",
            ),
        ],
    )
    def test_the_general_case_beside_a_table_of_special_cases_is_tried(
        self, above: str, body: str, removed: str
    ) -> None:
        made = [
            each for each in mutants("a.py", "", f"{above}def f(text):\n    {body}\n") if each.damage is Damage.GENERAL
        ]
        assert len(made) == 1
        assert made[0].label.endswith("what f does beside its special cases is removed")
        assert removed in made[0].source
        compile(made[0].source, "a.py", "exec")

    @pytest.mark.parametrize(
        ("before", "above", "body"),
        [
            ("", TABLE, "return KNOWN.get(text, 'unknown')"),
            ("", TABLE, "return KNOWN.get(text)"),
            ("", TABLE, "return KNOWN[text]"),
            ("", TABLE, "return text if text in KNOWN else text.lower()"),
            ("", "KNOWN = {'a': 1}\n\n\n", "return KNOWN.get(text, len(text))"),
            ("", "", "return text.options.get('a', text.default)"),
            ("", "import os\n\n\n", "return os.environ.get('HOME', text)"),
            (TABLE, TABLE, "return KNOWN.get(text, text.lower())"),
            ("", f"OTHER = 'c'\n{TABLE}", "return KNOWN.get(text, OTHER)"),
            ("", f"import ast\n{TABLE}", "return KNOWN.get(text, ast.Load)"),
            ("", f"import os\n{TABLE}", "return KNOWN.get(text) or os.environ.get('OTHER')"),
            ("", TABLE, "other = 'c'\n    return KNOWN.get(text, other)"),
            ("", TABLE, "return KNOWN.get(text, text)"),
            ("", TABLE, "text = text.lower()\n    return KNOWN[text] if text in KNOWN else text"),
            ("", TABLE, "return KNOWN.get(text, f'unknown: {text}')"),
            ("", TABLE, "return KNOWN.get(text, 'unknown: ' + text)"),
            ("", TABLE, "if text in KNOWN:\n        return KNOWN[text]\n    return str(text)"),
            (
                "",
                TABLE,
                "if text in KNOWN:\n        return KNOWN[text]\n    said = text[:3]\n    said += '!'\n    raise ValueError(said)",
            ),
            (
                "",
                f"import logging\n\nLOG = logging.getLogger('a')\n{TABLE}",
                "if text in KNOWN:\n        return KNOWN[text]\n    LOG.warning('no %s', text)\n    return None",
            ),
            ("", TABLE, "if text in KNOWN:\n        return KNOWN[text]\n    assert text, 'no text'\n    return 'c'"),
            (
                "",
                "",
                "if text is None:\n        return 0\n    if text == '':\n        return 0\n    return len(text)",
            ),
            ("", "import json\n\nSET = json.loads('{}')\n\n\n", "return SET.get('width', wide(text))"),
            (
                "",
                "",
                "match text:\n        case int(): return 'number'\n        case str(): return 'text'\n        case _: return type(text)",
            ),
            (
                "",
                "",
                "one = 1 if text == 'a' else len(text)\n    other = 2 if text == 'a' else ord(text)\n    return one + other",
            ),
        ],
        ids=[
            "a literal",
            "no default",
            "no other case",
            "a set",
            "one entry",
            "no table",
            "the environment",
            "an old table",
            "a name of the module",
            "an attribute of a module",
            "a call without the input",
            "a name with a literal",
            "the input",
            "what was made of the input",
            "words with the input",
            "a sum of words with the input",
            "the input as a text",
            "an error with words",
            "a line in a log",
            "an assertion",
            "a guard",
            "a lookup of a literal",
            "types",
            "conditions that do not belong together",
        ],
    )
    def test_a_general_case_beside_a_table_is_not_tried_for_honest_shapes(
        self, before: str, above: str, body: str
    ) -> None:
        after = f"{above}def f(text):\n    {body}\n"
        assert Damage.GENERAL not in [each.damage for each in mutants("a.py", before, after)]

    CHAIN = (
        "def f(a):\n    if a == 'a':\n        return 1\n    elif a == 'b':\n        return 2\n{}"
        "    else:\n        return len(a)\n"
    )
    MATCH = "def f(a):\n    match a:\n        case 'a': return 1\n        case 'b': return 2\n{}        case _: return len(a)\n"

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (
                CHAIN.format(""),
                CHAIN.format("    elif a == 'c':\n        return 3\n"),
            ),
            (
                MATCH.format(""),
                MATCH.format("        case 'c': return 3\n"),
            ),
            (
                "def f(a):\n    return 'one' if a == 1 else 'two' if a == 2 else str(a)\n",
                "def f(a):\n    a = abs(a)\n    return 'one' if a == 1 else 'two' if a == 2 else str(a)\n",
            ),
            ("", f"{TABLE}def f(a, other=None):\n    return KNOWN.get(a, other)\n"),
        ],
        ids=["a chain", "a match", "an expression", "what the caller says"],
    )
    def test_a_general_case_is_not_tried_for_old_cases_with_a_new_one_nor_for_what_the_caller_says(
        self, before: str, after: str
    ) -> None:
        assert Damage.GENERAL not in [each.damage for each in mutants("a.py", before, after)]

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("return text", "return KNOWN.get(text, text)"),
            ("return text + '!'", "if text in KNOWN:\n        return KNOWN[text]\n    return text + '!'"),
        ],
    )
    def test_the_old_rule_beside_a_table_is_tried(self, old: str, new: str) -> None:
        before, after = (f"{above}def f(text):\n    {body}\n" for above, body in (("", old), (self.TABLE, new)))
        assert Damage.GENERAL in [each.damage for each in mutants("a.py", before, after)]

    PROPERTY = (
        "class A:\n    @property\n    def x(self):\n        return self._x\n\n"
        "    @x.setter\n    def x(self, value):\n        self._x = value\n"
    )

    def test_functions_of_one_name_are_compared_with_each_of_that_name(self) -> None:
        assert list(mutants("a.py", self.PROPERTY, f"X = 1\n\n\n{self.PROPERTY}")) == []
        [*made] = mutants("a.py", self.PROPERTY, self.PROPERTY.replace("_x = value", "_x = int(value)"))
        assert {each.label for each in made} == {"a.py:7: the body of A.x is removed"}

    def test_a_method_whose_class_has_another_name_is_not_changed(self) -> None:
        assert list(mutants("a.py", self.PROPERTY, self.PROPERTY.replace("class A", "class B"))) == []

    def test_a_function_that_was_moved_to_another_file_is_not_changed(self) -> None:
        old, new = "def f(a):\n    return a\n", "def g(a):\n    return a\n"
        planned = proof("mutants").trials(work({"a.py": old}, {"b.py": f"{old}\n\n{new}"}))
        assert [trial.label for trial in planned.trials[1:]] == [
            "b.py:5: the body of g is removed",
            "b.py:6: g returns something else",
        ]
        assert isinstance(planned.trials[0].edits[0], Write)
        assert planned.trials[0].edits[0].content.count(b"pass") == 1

    def test_nothing_of_a_returned_value_is_left_in_the_other_one(self) -> None:
        """So that a test notices which looks only at a part of it."""
        names: dict[str, Any] = {}
        exec(helper("Word").decode(), names)
        for value in ("<b>", b"<b>", ["a"], ("a",), {"a"}, frozenset({"a"}), {"a": 1}):
            made = names["_other_Word"](value)
            assert type(made) is type(value)
            assert made
            assert not any(one in value for one in made)
        assert names["_other_Word"](True) is False
        assert names["_other_Word"](2) > 2
        assert names["_other_Word"](None) == (None, "Word")

    def test_what_a_function_returns_beside_what_it_does_may_be_unnoticed(self) -> None:
        """Such as the exit code of a program whose output is tested. If tests look whether it returns something, they must look what."""
        after = "def main(words):\n    print(' '.join(words))\n    return words\n"
        planned = proof("mutants").trials(work({"a.py": ""}, {"a.py": after}))
        assert [trial.label for trial in planned.trials[1:]] == [
            "a.py:1: the body of main is removed",
            "a.py:3: main returns something else",
            "a.py:3: main returns nothing",
        ]
        [edit] = planned.trials[3].edits
        assert isinstance(edit, Write)
        assert edit.content.endswith(b"    return ((words), None)[1]\n")
        assert not judged("mutants", planned, GREEN, RED, GREEN, GREEN).reason
        assert "must notice" in judged("mutants", planned, GREEN, RED, GREEN, RED).reason
        assert "must notice" in judged("mutants", planned, GREEN, RED, GREEN, wanted=4).reason

    def test_what_a_function_does_about_an_error_counts_for_the_score_only(self) -> None:
        after = "def read(path):\n    try:\n        return load(path)\n    except OSError:\n        return ''\n"
        made = [each for each in mutants("a.py", "", after) if each.damage is Damage.HANDLER]
        assert [each.label for each in made] == ["a.py:5: what read does about an error is removed"]
        assert made[0].source.endswith("    except OSError:\n        raise\n")
        planned = proof("mutants").trials(work({"a.py": ""}, {"a.py": after}))
        verdict = judged("mutants", planned, GREEN, RED, RED, GREEN)
        assert (verdict.reason, verdict.words) == ("", "2 of 3 mutants died")

    def test_a_file_that_does_not_parse_has_none(self) -> None:
        assert list(mutants("a.py", "", "def (")) == []

    @pytest.mark.parametrize(
        "content",
        [
            b"\xef\xbb\xbfdef f(a):\n    return '\xc3\xa4'\n",
            b"# coding: latin-1\n\n\ndef f(a):\n    return '\xe4'\n",
            b"# coding: utf-7\n\n\n+AGQAZQBm- f(a):\n    return '+AOQ-'\n",
        ],
        ids=["a mark of UTF-8", "latin-1", "utf-7"],
    )
    def test_a_file_is_read_and_written_in_its_own_encoding(self, content: bytes) -> None:
        def read(_names: Iterable[str]) -> Mapping[str, bytes]:
            return {"new": content}

        claimed = work(after=START, options={})
        files = {**claimed.after.files, "new.py": Blob("new")}
        planned = proof("mutants").trials(replace(claimed, after=Tree(files, read)))
        harmless_edit, emptied, other = (trial.edits[0] for trial in planned.trials)
        assert isinstance(harmless_edit, Write)
        assert isinstance(emptied, Write)
        assert isinstance(other, Write)
        assert ast.dump(ast.parse(harmless_edit.content)) != ast.dump(ast.parse(content))
        assert ast.unparse(ast.parse(harmless_edit.content)) == "def f(a):\n    pass\n    return 'ä'"
        assert ast.unparse(ast.parse(emptied.content)) == "def f(a):\n    pass"

    def test_files_that_cannot_be_read_are_named(self) -> None:
        planned = proof("mutants").trials(work({"a.py": "print 1\n"}, {"a.py": "print(1)\n"}))
        assert planned.trials == ()
        assert planned.notes[0].startswith("No mutants of a.py: too large, or no source that Python 3.")

    def test_work_without_a_changed_function_has_none_and_says_so(self) -> None:
        planned = proof("mutants").trials(work({"a.py": "a = 1\n"}, {"a.py": "a = 2\n"}))
        assert (planned.trials, planned.notes) == ((), ("No mutants of Python: no function was changed.",))

    def test_a_survivor_without_its_body_refuses_and_is_named(self) -> None:
        planned = proof("mutants").trials(work())
        assert [trial.label for trial in planned.trials[1:]] == [
            "calc.py:1: the body of add is removed",
            "calc.py:2: add returns something else",
        ]
        assert judged("mutants", planned, GREEN, RED, RED).words == "2 of 2 mutants died"
        refused = judged("mutants", planned, GREEN, GREEN, RED)
        assert refused.reason.startswith("1 of 2 mutants died")
        assert "calc.py:1: the body of add is removed: no test noticed" in refused.tail

    def test_none_is_left_out_for_its_place_among_many(self) -> None:
        many = "".join(f"def f{number}(a):\n    return a\n\n\n" for number in range(99))
        words = ("One", "Two", "Three", "Four")
        planned = [proof("mutants").trials(work({"a.py": ""}, {"a.py": many}, word=word)) for word in words]
        assert {len(each.trials) for each in planned} == {61}
        assert len({label for each in planned for label in (trial.label for trial in each.trials)}) > 90

    def test_other_survivors_count_for_the_score_only(self) -> None:
        planned = proof("mutants").trials(work({"a.py": self.OLD}, {"a.py": self.NEW}))
        verdict = judged("mutants", planned, GREEN, RED, GREEN, RED, GREEN)
        assert (verdict.reason, verdict.words) == ("", "2 of 4 mutants died")

    def test_a_function_of_which_tests_notice_only_that_it_is_there_refuses(self) -> None:
        planned = proof("mutants").trials(work({"a.py": self.OLD}, {"a.py": self.NEW}))
        assert "must notice" in judged("mutants", planned, GREEN, RED, GREEN, GREEN, GREEN).reason

    def test_a_check_that_fails_for_a_harmless_change_kills_no_mutant(self) -> None:
        """Such as code that looks at its own source and fails on purpose."""
        planned = proof("mutants").trials(work())
        [edit] = planned.trials[0].edits
        assert isinstance(edit, Write)
        assert edit.content == b"def add(a, b):\n    pass\n    return a + b\n"
        assert "prove nothing" in judged("mutants", planned, RED, RED, RED).reason
        both = proof("mutants").trials(work(commands=("ruff check", CHECK)))
        assert judged("mutants", both, RED, GREEN, RED, RED, RED, RED).words == "2 of 2 mutants died"

    def test_mutants_prove_nothing_without_a_run_on_the_harmless_change(self) -> None:
        planned = proof("mutants").trials(work())
        runs = tuple(TrialRan(trial, ran(*RED)) for trial in planned.trials[1:])
        assert "before a mutant had run" in proof("mutants").verdict(TrialsRan(runs, 3), TIMEOUT).reason

    @pytest.mark.parametrize(
        ("source", "made"),
        [
            ("def f(): return 1\n", "def f(): pass; return 1\n"),
            ('def f():\n    """Doc."""\n    return 1\n', 'def f():\n    """Doc."""\n    pass\n    return 1\n'),
            ('def f():\n    """Doc."""; return 1\n', 'def f():\n    """Doc."""; pass; return 1\n'),
        ],
    )
    def test_a_harmless_change_leaves_docstring_and_layout(self, source: str, made: str) -> None:
        assert harmless("", source) == made

    def test_what_the_time_allowed_is_judged(self) -> None:
        planned = proof("mutants").trials(work({"a.py": self.OLD}, {"a.py": self.NEW}))
        verdict = judged("mutants", planned, GREEN, RED, wanted=4)
        assert verdict.words == "1 of 1 mutants died"
        assert "time" in verdict.notes[0]


class TestAcceptance:
    FILES: ClassVar = {"test_hidden.py": b"def test_hidden():\n    assert add(7, 8) == 15\n"}

    def judged(self, *ends: tuple[int, int, int], says_nothing: bool = False) -> Verdict:
        planned = proof("acceptance").trials(work(acceptance=self.FILES, says_nothing=says_nothing))
        runs = tuple(TrialRan(trial, ran(*end)) for trial, end in zip(planned.trials, ends, strict=True))
        return proof("acceptance").verdict(TrialsRan(runs, len(ends), planned.notes), TIMEOUT)

    def test_tests_that_hold_beside_those_of_the_workspace_are_counted(self) -> None:
        verdict = self.judged((0, 4, 0), (1, 3, 1), (1, 4, 2))
        assert (verdict.reason, verdict.words, verdict.proves) == ("", "1 acceptance test passed", True)

    def test_a_failure_is_told_without_its_output(self) -> None:
        verdict = self.judged((1, 3, 1), (1, 3, 1), (1, 3, 2))
        assert "tests that you cannot see fail" in verdict.reason
        assert verdict.tail == ""

    def test_tests_that_do_not_run_or_pass_whatever_they_expect_prove_nothing(self) -> None:
        assert "no check runs" in self.judged(GREEN, GREEN, GREEN).reason
        assert "pass whatever they expect" in self.judged((0, 4, 0), (0, 4, 0), (0, 5, 0)).reason

    def test_tests_that_passed_before_the_work_prove_nothing_when_they_pass(self) -> None:
        verdict = self.judged((0, 4, 0), (1, 3, 1), (1, 4, 2), says_nothing=True)
        assert (verdict.reason, verdict.proves) == ("", False)

    @pytest.mark.parametrize(
        ("alone", "both", "said"),
        [
            (GREEN, (1, 3, 1), BeforeWork.FAILS),
            (RED, (1, 2, 2), BeforeWork.FAILS),
            (RED, ERROR, BeforeWork.FAILS),
            (GREEN, (0, 4, 0), BeforeWork.PASSES),
            (RED, (1, 3, 1), BeforeWork.PASSES),
            (GREEN, GREEN, BeforeWork.NOT_RUN),
            (RED, RED, BeforeWork.NOT_RUN),
        ],
    )
    def test_what_they_say_before_any_work(
        self, alone: tuple[int, int, int], both: tuple[int, int, int], said: BeforeWork
    ) -> None:
        planned = acceptance.FIRST.trials(work(acceptance=self.FILES))
        runs = tuple(TrialRan(trial, ran(*end)) for trial, end in zip(planned.trials, (alone, both), strict=True))
        loop = looping(["done"], Budget(), checks=(CHECK,)).loop
        assert [each.said for each in acceptance.tried(loop, TrialsRan(runs, 2))] == [said]
