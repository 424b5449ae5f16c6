"""The gate `check`: which outputs report tests that ran, and why a command fails."""

from __future__ import annotations

import pytest

from untildone.core.gate import CommandEnd, CommandRan
from untildone.gates.check import why_failed
from untildone.gates.check.runners import count_tests

CARGO = "running {0} tests\ntest result: ok. {0} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"

NONE_RAN = {
    "pytest": "collected 0 items\n\n============ no tests ran in 0.01s ============\n",
    "pytest quiet": "\nno tests ran in 0.00s\n",
    "pytest old": "=========== no tests ran in 0.01 seconds ===========",
    "pytest coloured": "\x1b[33mcollected 0 items\x1b[0m\n\x1b[33m===== \x1b[33mno tests ran\x1b[0m\x1b[33m in 0.01s\x1b[0m =====",
    "pytest all deselected": "collected 3 items / 3 deselected / 0 selected\n\n==== 3 deselected in 0.02s ====",
    "pytest all deselected, no summary": "collected 3 items / 3 deselected / 0 selected\n",
    "pytest only skipped": "ss                            [100%]\n2 skipped, 1 warning in 0.01s\n",
    "pytest only collected": "test_a.py::test_a\n\n1 test collected in 0.00s\n",
    "pytest with workers": "4 workers [0 items]\n\n",
    "unittest": "\n----------\nRan 0 tests in 0.000s\n\nOK\n",
    "unittest of 3.12": "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n",
    "unittest only skipped": "sss\n-----\nRan 3 tests in 0.001s\n\nOK (skipped=3)\n",
    "jest": "No tests found, exiting with code 1\nRun with `--passWithNoTests` to exit with code 0\n",
    "jest passWithNoTests": "No tests found, exiting with code 0\n",
    "jest summary": "Test Suites: 0 total\nTests:       0 total\nSnapshots:   0 total\nTime:        0.1 s\n",
    "jest only skipped": "Test Suites: 1 skipped, 0 of 1 total\nTests:       2 skipped, 2 total\n",
    "vitest": "\nNo test files found, exiting with code 1\n\ninclude: **/*.test.js\n",
    "vitest passWithNoTests": "No test files found, exiting with code 0",
    "vitest only skipped": " Test Files  1 skipped (1)\n      Tests  2 skipped (2)\n   Start at  10:00:00",
    "go without test files": "?   \texample.com/a\t[no test files]\n?   \texample.com/b\t[no test files]\n",
    "go with a filter": "testing: warning: no tests to run\nPASS\nok  \texample.com/a\t0.002s [no tests to run]\n",
    "go cached": "ok  \texample.com/a\t(cached) [no tests to run]\n",
    "go coverage": "\texample.com/a\t\tcoverage: 0.0% of statements\n",
    "go verbose, all skipped": "=== RUN   TestA\n--- SKIP: TestA (0.00s)\nPASS\nok  \texample.com/a\t0.002s\n",
    "cargo": "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.00s\n",
    "cargo only ignored": "running 2 tests\ntest result: ok. 0 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out\n",
    "cargo cut short": "     Running unittests src/lib.rs\n\nrunning 0 tests\n   Doc-tests a\nrunning 0 tests\n",
    "node": "# tests 0\n# suites 0\n# pass 0\n# fail 0\n",
    "node with symbols": "ℹ tests 1\nℹ suites 0\nℹ pass 0\nℹ fail 0\nℹ skipped 1\n",
    "mocha": "\n\n  0 passing (1ms)\n",
    "mocha only pending": "  0 passing (2ms)\n  3 pending\n",
    "rspec": "No examples found.\n\n0 examples, 0 failures\n",
    "phpunit": "No tests executed!\n",
    "maven": "[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0\n",
    "gradle": "> Task :app:test NO-SOURCE\nBUILD SUCCESSFUL in 1s\n",
    "dotnet": "No test is available in /src/bin/a.dll. Make sure that test discoverer is registered.\n",
    "ctest": "No tests were found!!!\n",
    "dotnet 9": "\nTest summary: total: 0, failed: 0, succeeded: 0, skipped: 0, duration: 0.9s\nBuild succeeded in 2.1s\n",
    "dotnet 9 only skipped": "Test summary: total: 2, failed: 0, succeeded: 0, skipped: 2, duration: 0.9s\n",
    "pest": "\n   INFO  No tests found.\n\n",
    "pest only skipped": "  Tests:    2 skipped (0 assertions)\n  Duration: 0.05s\n",
    "googletest": "Note: Google Test filter = Nope*\n[==========] Running 0 tests from 0 test suites.\n"
    "[==========] 0 tests from 0 test suites ran. (0 ms total)\n[  PASSED  ] 0 tests.\n",
    "googletest only skipped": "[==========] Running 1 test from 1 test suite.\n[  SKIPPED ] A.B (0 ms)\n"
    "[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 0 tests.\n[  SKIPPED ] 1 test, listed below:\n",
    "catch2": "===============================================================================\nNo tests ran\n\n",
    "catch2 with a filter": "Filters: nope\nNo test cases matched 'nope'\n",
    "catch2 only skipped": "test cases: 1 | 1 skipped\nassertions: - none -\n",
    "doctest": '[doctest] doctest version is "2.4.11"\n[doctest] test cases: 0 | 0 passed | 0 failed | 0 skipped\n'
    "[doctest] assertions: 0 | 0 passed | 0 failed |\n[doctest] Status: SUCCESS!\n",
    "xctest": "Test Suite 'All tests' passed at 2026-01-01 10:00:00.000.\n"
    "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds\n",
    "xctest only skipped": "\t Executed 2 tests, with 2 tests skipped and 0 failures (0 unexpected) in 0.1 (0.1) seconds\n",
    "swift": "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.001) seconds\n"
    "✔ Test run with 0 tests passed after 0.001 seconds.\n",
    "carriage returns": "collecting ... \rcollected 0 items\r\n",
}

SOME_RAN = {
    "dotnet 9": ("Test summary: total: 5, failed: 1, succeeded: 3, skipped: 1, duration: 1.2s\n", 4),
    "pest": ("  Tests:    1 failed, 1 skipped, 3 passed (7 assertions)\n", 4),
    "googletest": ("[==========] Running 3 tests from 2 test suites.\n[  PASSED  ] 3 tests.\n", 3),
    "googletest with a failure": (
        "[==========] Running 3 tests from 1 test case.\n[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:\n",
        3,
    ),
    "catch2": ("All tests passed (12 assertions in 3 test cases)\n", 3),
    "catch2 with a failure": ("test cases:  3 |  2 passed | 1 failed\nassertions: 12 | 11 passed | 1 failed\n", 3),
    "doctest": ("[doctest] test cases:  2 |  1 passed | 1 failed | 0 skipped\n", 2),
    "xctest": ("\t Executed 3 tests, with 1 test skipped and 1 failure (0 unexpected) in 0.1 (0.1) seconds\n", 2),
    "swift": (
        "\t Executed 0 tests, with 0 failures (0 unexpected) in 0 (0) seconds\n✔ Test run with 2 tests in 1 suite passed after 0.1 s",
        2,
    ),
    "pytest": ("collected 3 items\n\n===== 2 passed, 1 skipped in 0.12s =====", 2),
    "pytest long": ("===== 3 failed, 197 passed, 2 warnings in 65.32s (0:01:05) =====", 200),
    "pytest errors": ("collected 0 items / 1 error\n==== 1 error in 0.10s ====", 1),
    "pytest with a plugin's word": ("1 passed, 2 snapshots updated in 0.05s", 1),
    "unittest": ("Ran 3 tests in 0.001s\n\nOK (skipped=1)\n", 2),
    "jest": ("Tests:       1 failed, 1 skipped, 3 passed, 5 total\n", 4),
    "vitest": (" Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n", 3),
    "go, one of two": ("?   \texample.com/a\t[no test files]\nok  \texample.com/b\t0.003s\n", 1),
    "go verbose": ("--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\nok  \texample.com/b\t0.003s\n", 1),
    "cargo, doc tests without": (CARGO.format(2) + "   Doc-tests a\n\n" + CARGO.format(0), 2),
    "cargo crashed": ("running 2 tests\nerror: test failed", 2),
    "node": ("# tests 3\n# pass 1\n# fail 1\n# skipped 1\n", 2),
    "mocha failing": ("  0 passing (2ms)\n  1 failing\n", 1),
    "two runners": ("Ran 0 tests in 0.000s\n\nOK\n==== 4 passed in 0.1s ====\n", 4),
    "told in ordinary output": ("no tests ran in 0.01s\nRan 0 tests in 0.000s\n# tests 0\n12 passed in 0.10s\n", 12),
}

NO_RUNNER = {
    "nothing": "",
    "lint": "All checks passed!\nFound 0 errors in 3 files\n",
    "build": "20 modules transformed in 1.2s\n3 warnings in 0.5s\n",
    "make": "make: Nothing to be done for 'lint'.\n",
    "words in a sentence": "warning: docs/a.md says that no tests ran in 0.01s\nfixed: report when no tests to run are left\n",
    "a file that was found": "README.md:10:collected 0 items\n",
    "compiler": "error: 0 tests could be compiled, tests: 0 total errors",
}


@pytest.mark.parametrize("case", NONE_RAN)
def test_a_test_run_without_a_test_is_recognised(case: str) -> None:
    assert count_tests(NONE_RAN[case]) == 0


@pytest.mark.parametrize("case", SOME_RAN)
def test_tests_that_ran_are_counted(case: str) -> None:
    output, expected = SOME_RAN[case]
    assert count_tests(output) == expected


@pytest.mark.parametrize("case", NO_RUNNER)
def test_other_programs_are_not_asked_for_tests(case: str) -> None:
    assert count_tests(NO_RUNNER[case]) is None


@pytest.mark.parametrize(
    ("ran", "reason"),
    [
        (CommandRan(CommandEnd.EXITED, 0), ""),
        (CommandRan(CommandEnd.EXITED, 0, tests=3), ""),
        (CommandRan(CommandEnd.EXITED, 2), "exit code 2"),
        (CommandRan(CommandEnd.EXITED, 0, tests=0), "ran no test"),
        (CommandRan(CommandEnd.EXITED, 137, killed_by=9), "killed by signal 9"),
        (CommandRan(CommandEnd.TIMED_OUT, -15), "timed out after 5 s"),
        (CommandRan(CommandEnd.TIMED_OUT, -15, problem="the host had 2 s left"), "the host had 2 s left"),
        (CommandRan(CommandEnd.INTERRUPTED, -15), "interrupted"),
        (
            CommandRan(CommandEnd.NOT_STARTED, problem="could not be started: no shell"),
            "could not be started: no shell",
        ),
    ],
)
def test_a_failure_has_a_reason_and_success_has_none(ran: CommandRan, reason: str) -> None:
    assert why_failed(ran, timeout=5) == reason
