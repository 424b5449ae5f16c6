"""When the number of tests that ran is compared with the start of the loop, and what a smaller one means."""

from __future__ import annotations

import pytest
from tests.support.trees import tree

from untildone.core.judging.project_tests.hidden_tests import may_hide
from untildone.core.plugins.gate import CommandEnd, CommandRan, RunnerReport
from untildone.gates.check import why_failed
from untildone.gates.check.runners import Reading

PRODUCT = {"calc.py": "HAS_FAST = True\n", "src/shop/__init__.py": ""}
PLAIN = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
DOUBTFUL = {
    "skipped if the product says so": "import calc\n\n@pytest.mark.skipif(not calc.HAS_FAST, reason='')\ndef test_a(): pass\n",
    "a name of the product": "from calc import HAS_FAST as fast\n\n@unittest.skipUnless(fast, '')\ndef test_a(): pass\n",
    "a table of the product": "import shop\n\n@pytest.mark.parametrize(\n    'name', shop.NAMES\n)\ndef test_a(name): pass\n",
    "a base in the product": "from shop import Base\n\nclass TestA(Base):\n    def test_a(self): pass\n",
    "tests below a condition": "import calc\n\nif calc.HAS_FAST:\n    def test_a(): pass\n",
    "more tests than ran": PLAIN + PLAIN,
}
CLEAR = {
    "plain tests": PLAIN,
    "skipped by platform": "import calc, sys\n\n@pytest.mark.skipif(sys.platform == 'win32', reason='')\ndef test_a(): pass\n",
    "a table of its own": "import calc\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_a(n): assert calc.x(n)\n",
    "a base of the standard library": "from calc import add\n\nclass TestA(unittest.TestCase):\n    def test_a(self): pass\n",
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_the_product_may_decide_which_tests_run(case: str) -> None:
    start = tree({**PRODUCT, "tests/test_a.py": DOUBTFUL[case]})
    assert may_hide(start, "pytest -q", RunnerReport(("pytest",), passed=1))


@pytest.mark.parametrize("case", CLEAR)
def test_the_product_decides_nothing(case: str) -> None:
    start = tree({**PRODUCT, "tests/test_a.py": CLEAR[case]})
    assert not may_hide(start, "pytest -q", RunnerReport(("pytest",), passed=1))


@pytest.mark.parametrize(
    ("command", "path", "text", "runner"),
    [
        ("pytest -q", "tests/test_a.py", PLAIN, "pytest"),
        ("npx mocha", "test/calc.js", "it('adds', () => {});\n", "mocha"),
        ("rspec", "spec/calc_spec.rb", "it 'adds' do\nend\n", "rspec"),
        ("mvn test", "src/test/java/CalcTest.java", "    @Test\n    void adds() {}\n", "maven"),
    ],
)
def test_a_test_that_skips_itself_nowhere_may_be_skipped_by_an_exception_of_the_product(
    command: str, path: str, text: str, runner: str
) -> None:
    start = tree({**PRODUCT, path: text})
    assert may_hide(start, command, RunnerReport((runner,), skipped=1))
    assert may_hide(start, command, RunnerReport((runner,), xfailed=1))
    assert not may_hide(start, command, RunnerReport((runner,), passed=1))


def test_tests_that_the_command_does_not_name_are_not_missed() -> None:
    start = tree({"tests/unit/test_a.py": PLAIN, "tests/e2e/test_b.py": PLAIN})
    one = RunnerReport(("pytest",), passed=1)
    assert may_hide(start, "python -m pytest", one)
    assert not may_hide(start, "python -m pytest tests/unit", one)
    assert not may_hide(start, "pytest tests/unit/test_a.py::test_add -q", one)
    assert not may_hide(start, "pytest -k add", one)
    assert not may_hide(start, "cargo test", RunnerReport(("cargo",), passed=1))


GO = """package calc

func TestAdd(t *testing.T) {
	if !Fast {
		t.Skip()
	}
}

func TestMain(m *testing.M) {}

func TestSub(t *testing.T) {}
"""
RUST = "pub fn add() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n\n    #[tokio::test]\n    async fn subs() {}\n}\n"
JS = "const { add } = require('./calc');\n\ndescribe('calc', () => {\n  it('adds', () => {});\n  test('subs', () => {});\n});\n"
RUBY = "RSpec.describe Calc do\n  it 'adds' do\n  end\n\n  it('subs') { expect(1).to eq 1 }\nend\n"
JAVA = "class CalcTest {\n    @Test\n    void adds() {}\n\n    @ParameterizedTest\n    void subs() {}\n}\n"
MAVEN = """[INFO] Tests run: {0}, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s -- in CalcTest
[INFO] Results:
[INFO] Tests run: {0}, Failures: 0, Errors: 0, Skipped: 0"""
CARGO = "test result: ok. {} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
GO_TEST = "=== RUN   TestSub\n--- PASS: TestSub (0.00s)\n"
TWO_TESTS: dict[str, tuple[str, str, str, str, str]] = {
    "go": (
        "go test -v ./...", "calc_test.go", GO,
        f"=== RUN   TestAdd\n--- PASS: TestAdd (0.00s)\n{GO_TEST}PASS\nok  \texample.com/calc\t0.002s",
        f"=== RUN   TestAdd\n    calc_test.go:7: \n--- SKIP: TestAdd (0.00s)\n{GO_TEST}PASS\nok  \texample.com/calc\t0.002s",
    ),
    "cargo": (
        "cargo test", "src/lib.rs", RUST,
        f"running 2 tests\ntest tests::adds ... ok\ntest tests::subs ... ok\n\n{CARGO.format(2)}",
        f"running 1 test\ntest tests::subs ... ok\n\n{CARGO.format(1)}",
    ),
    "jest": (
        "npx jest", "calc.test.js", JS,
        "Test Suites: 1 passed, 1 total\nTests:       2 passed, 2 total\nSnapshots:   0 total\nTime:        0.3 s",
        "Test Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\nSnapshots:   0 total\nTime:        0.3 s",
    ),
    "vitest": (
        "npx vitest run", "calc.spec.ts", JS,
        " Test Files  1 passed (1)\n      Tests  2 passed (2)\n   Start at  10:00:00",
        " Test Files  1 passed (1)\n      Tests  1 passed (1)\n   Start at  10:00:00",
    ),
    "mocha": ("npx mocha", "test/calc.js", JS, "  2 passing (5ms)\n", "  1 passing (5ms)\n"),
    "node": (
        "node --test", "calc.test.js", JS,
        "ℹ tests 2\nℹ suites 0\nℹ pass 2\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0",
        "ℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0",
    ),
    "tap": (
        "node --test", "calc.test.js", JS,
        "1..2\nok 1 - adds\nok 2 - subs\n# tests 2\n# pass 2\n# fail 0",
        "1..1\nok 1 - subs\n# tests 1\n# pass 1\n# fail 0",
    ),
    "rspec": ("bundle exec rspec", "spec/calc_spec.rb", RUBY, "2 examples, 0 failures", "1 example, 0 failures"),
    "maven": ("mvn -B test", "src/test/java/CalcTest.java", JAVA, MAVEN.format(2), MAVEN.format(1)),
}  # fmt: skip
"""Runner → command, file with two tests, its text, the output of a run of both, and of one in which a test is hidden."""


@pytest.mark.parametrize("runner", TWO_TESTS)
def test_hidden_tests_are_noticed_in_the_output_of(runner: str) -> None:
    command, path, text, both, hidden = TWO_TESTS[runner]
    start = tree({path: text})
    report, fewer = read(command, both), read(command, hidden)
    assert (report.run, fewer.run) == (2, 1)
    assert not may_hide(start, command, report)
    assert may_hide(start, command, fewer)
    ran = CommandRan(CommandEnd.EXITED, 0, report=fewer, at_start=report, may_hide=("calc",))
    assert "2 of the same tests did when the loop began" in why_failed(ran, 60)


@pytest.mark.parametrize(
    ("command", "path", "text"),
    [
        ("go test ./...", "calc_test.go", GO),
        ("go test -v -run TestSub ./...", "calc_test.go", GO),
        ("cargo test subs", "src/lib.rs", RUST),
        ("cargo test -p calc", "src/lib.rs", RUST),
        ("npx jest -t subs", "calc.test.js", JS),
        ("npx mocha --grep subs", "test/calc.js", JS),
        ("rspec -e subs", "spec/calc_spec.rb", RUBY),
        ("mvn test -Dtest=CalcTest#subs", "src/test/java/CalcTest.java", JAVA),
    ],
)
def test_a_command_that_selects_tests_or_counts_none_misses_none(command: str, path: str, text: str) -> None:
    runners = ("go", "cargo", "jest", "mocha", "rspec", "maven")
    assert not may_hide(tree({path: text}), command, RunnerReport(runners, passed=1))


@pytest.mark.parametrize(
    "line",
    [
        "it.each(NAMES)('names %s', () => {});",
        "describe.skipIf(!NAMES.length)('calc', () => {});",
        "(NAMES ? it : it.skip)('adds', () => {});",
        "for (const name of NAMES) it(name, () => {});",
        "NAMES.forEach((name) => test(name, () => {}));",
    ],
)
def test_a_test_in_javascript_may_ask_the_product(line: str) -> None:
    many = RunnerReport(("jest",), passed=9)
    for imported in ("import { NAMES } from '../src/calc';", "const { NAMES } = require('./calc');"):
        assert may_hide(tree({"calc.test.js": f"{imported}\n\n{line}\n"}), "npx jest", many)
    for imported in ("const NAMES = ['a', 'b'];", "import { NAMES } from './fixtures/names';"):
        assert not may_hide(tree({"calc.test.js": f"{imported}\n\n{line}\n"}), "npx jest", many)


def read(command: str, output: str) -> RunnerReport:
    reading = Reading(command)
    for line in output.splitlines():
        reading.feed(line)
    assert reading.report is not None
    return reading.report


def test_fewer_tests_than_at_the_start_are_no_proof() -> None:
    before = RunnerReport(("pytest",), passed=3, failed=3)
    now = RunnerReport(("pytest",), passed=3, skipped=3)
    ran = CommandRan(CommandEnd.EXITED, 0, report=now, at_start=before, may_hide=("calc.py",))
    assert why_failed(ran, 60) == (
        "3 tests ran (3 passed, 3 skipped), and 6 of the same tests did when the loop began: "
        "calc.py may keep the others from running"
    )
    enough = CommandRan(CommandEnd.EXITED, 0, report=before, at_start=now, may_hide=("calc.py",))
    assert "when the loop began" not in why_failed(enough, 60)
