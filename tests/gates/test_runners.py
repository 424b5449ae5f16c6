"""What test runners report in the output of a command: recorded outputs of real runs, by runner."""

from __future__ import annotations

import pytest

from untildone.core.plugins.gate import RunnerReport
from untildone.gates.check import why_not_believed
from untildone.gates.check.failing import can_name
from untildone.gates.check.runners import read

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
    "numbers of another program": "  3 failed\n  0 errors\n  2 skipped\n 4 pass\n  5 pending\n",
    "lines that begin like TAP": "ok 12 files copied\nnot ok 3\n",
    "a range": "1..3\n",
    "a bar": "........ [ 50%]\n................ [100%]\n",
    "a verdict": "Result: PASS\n",
    "numbers in JSON": '{\n    "passes": 0,\n    "failures": 2,\n',
}

# Recorded from real runs, each with a passed, a failed and a skipped test where the runner has them:
# the command, the end of its output, and (passed, failed, skipped, expected failures, unexpected passes).
RECORDED = {
    "pytest 9": (
        "pytest -q | tail -3",
        "FAILED test_b.py::test_bad - assert 0\n1 failed, 3 passed, 1 skipped, 1 xfailed, 1 xpassed in 0.10s\n",
        (3, 1, 1, 1, 1),
    ),
    "pytest 9, very quiet": (
        "pytest -qq",
        "..sxX                                                                    [100%]\n",
        (2, 0, 1, 1, 1),
    ),
    "pytest 9, very quiet, failed": (
        "pytest -qq || true",
        (
            "test_a.py ..sxX                                                         [ 71%]\n"
            "test_b.py F.                                                             [100%]\n"
            "FAILED test_b.py::test_bad - assert 0\n"
        ),
        (3, 1, 1, 1, 1),
    ),
    "pytest-pretty": (
        "pytest",
        "Results (0.04s):\n         1 failed\n         3 passed\n         1 skipped\n         1 xfailed\n         1 xpassed\n",
        (3, 1, 1, 1, 1),
    ),
    "unittest": (
        "python3 -m unittest; true",
        "Ran 7 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1, expected failures=1, unexpected successes=1)\n",
        (2, 3, 1, 1, 0),
    ),
    "unittest, an error while loading": (
        "python3 -m unittest",
        "Ran 1 test in 0.000s\n\nFAILED (errors=1)\n",
        (0, 1, 0, 0, 0),
    ),
    "trial": ("trial a", "Ran 3 tests in 0.002s\n\nFAILED (failures=1, successes=2)\n", (2, 1, 0, 0, 0)),
    "jest 30": (
        "npx jest | tail -5",
        "Test Suites: 1 failed, 1 total\nTests:       1 failed, 1 skipped, 1 todo, 1 passed, 4 total\nSnapshots:   0 total\n",
        (1, 1, 2, 0, 0),
    ),
    "jest 30, a file that cannot be loaded": (
        "jest",
        "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 passed, 1 total\nSnapshots:   0 total\n",
        (1, 1, 0, 0, 0),
    ),
    "jest 30, as JSON": (
        "jest --json 2>/dev/null",
        '{"numFailedTestSuites":2,"numFailedTests":1,"numPassedTestSuites":1,"numPassedTests":2,"numPendingTestSuites":0,'
        '"numPendingTests":1,"openHandles":[' + "0," * 5000 + "0]}\n",
        (2, 1, 0, 0, 0),
    ),
    "vitest 4": (
        "vitest run; echo done",
        " Test Files  1 failed (1)\n      Tests  1 failed | 1 passed | 1 expected fail | 1 skipped | 1 todo (5)\ndone\n",
        (1, 1, 2, 1, 0),
    ),
    "vitest 4, a file that cannot be loaded": (
        "vitest run",
        " Test Files  1 failed | 1 passed (2)\n      Tests  1 passed (1)\n",
        (1, 1, 0, 0, 0),
    ),
    "vitest 4, an error after the test": (
        "vitest run",
        " Test Files  1 passed (1)\n      Tests  1 passed (1)\n     Errors  1 error\n   Start at  06:30:20\n",
        (1, 1, 0, 0, 0),
    ),
    "vitest 4, as JSON": (
        "vitest run --reporter=json",
        (
            '{"numTotalTestSuites":4,"numPassedTestSuites":2,"numFailedTestSuites":2,"numPendingTestSuites":0,"numTotalTests":7,'
            '"numPassedTests":4,"numFailedTests":1,"numPendingTests":1,"numTodoTests":1}\n'
        ),
        (4, 1, 0, 0, 0),
    ),
    "vitest 4, as TAP": (
        "vitest run --reporter=tap",
        "TAP version 13\n1..1\nok 1 - ok.test.js # time=3.07ms {\n    1..1\n}\n",
        (1, 0, 0, 0, 0),
    ),
    "playwright": (
        "npx playwright test",
        "Running 5 tests using 1 worker\n\n  1 failed\n    a.spec.js:1:70 › bad ────\n  1 skipped\n  3 passed (1.4s)\n",
        (3, 1, 1, 0, 0),
    ),
    "playwright, all failed": (
        "playwright test | tail -3",
        "  1 failed\n    a.spec.js:1:70 › bad ────\n",
        (0, 1, 0, 0, 0),
    ),
    "node 20": (
        "node --test | cat",
        "not ok 2 - bad\n  ---\n  ...\n1..4\n# tests 4\n# suites 0\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 1\n",
        (1, 1, 2, 0, 0),
    ),
    "node with symbols": (
        "node --test",
        "ℹ tests 3\nℹ pass 1\nℹ fail 1\nℹ cancelled 1\nℹ skipped 0\nℹ todo 0\n",
        (1, 2, 0, 0, 0),
    ),
    "mocha 11": ("mocha", "  1 passing (6ms)\n  1 pending\n  1 failing\n\n  1) bad:\n", (1, 1, 1, 0, 0)),
    "mocha 11, as TAP": (
        "mocha -R tap",
        "not ok 2 bad\nok 3 s # SKIP -\n# tests 2\n# pass 1\n# fail 1\n1..3\n",
        (1, 1, 0, 0, 0),
    ),
    "mocha 11, as JSON": (
        "mocha -R json",
        '{\n  "stats": {\n    "suites": 0,\n    "tests": 1,\n    "passes": 1,\n    "pending": 0,\n    "failures": 1,\n',
        (1, 1, 0, 0, 0),
    ),
    "ava 6": ("ava", "  ─\n\n  1 test failed\n  1 known failure\n  1 test skipped\n  1 test todo\n", (0, 1, 2, 1, 0)),
    "tape": ("tape a.js", "1..2\n# tests 2\n# pass  1\n# fail  1\n", (1, 1, 0, 0, 0)),
    "jasmine 5": ("npx jasmine", "3 specs, 1 failure, 1 pending spec\nFinished in 0.005 seconds\n", (1, 1, 1, 0, 0)),
    "bun 1": (
        "bun test || true",
        "(fail) bad [0.24ms]\n\n 2 pass\n 1 skip\n 1 todo\n 1 fail\n 1 expect() calls\nRan 5 tests across 2 files. [7.00ms]\n",
        (2, 1, 2, 0, 0),
    ),
    "deno 2": ("deno test", "FAILED | 1 passed | 1 failed | 1 ignored (44ms)\n\nerror: Test failed\n", (1, 1, 1, 0, 0)),
    "go 1.19": (
        "go test ./... || true",
        (
            "# example.com/a/broken [example.com/a/broken.test]\n--- FAIL: TestA (0.00s)\n    a_test.go:3: x\nFAIL\n"
            "FAIL\texample.com/a/bad\t0.003s\nFAIL\texample.com/a/broken [build failed]\nok  \texample.com/a/exit\t0.002s\n"
            "?   \texample.com/a/none\t[no test files]\nok  \texample.com/a/ok\t(cached)\nFAIL\n"
        ),
        (2, 2, 0, 0, 0),
    ),
    "go 1.19, verbose, a test that prints a failure": (
        "go test -v ./exit",
        "=== RUN   TestA\n--- FAIL: TestX (0.00s)\n--- PASS: TestA (0.00s)\nPASS\nok  \texample.com/a/exit\t0.005s\n",
        (1, 0, 0, 0, 0),
    ),
    "go 1.19, as JSON": (
        "go test -json ./...",
        (
            '{"Time":"2026-11-17T06:31:17.53Z","Action":"fail","Package":"example.com/a/bad","Test":"TestA","Elapsed":0}\n'
            '{"Time":"2026-11-17T06:31:17.53Z","Action":"pass","Package":"example.com/a/bad","Test":"TestB","Elapsed":0}\n'
            '{"Time":"2026-11-17T06:31:17.53Z","Action":"skip","Package":"example.com/a/bad","Test":"TestS","Elapsed":0}\n'
            '{"Time":"2026-11-17T06:31:17.53Z","Action":"output","Package":"example.com/a/bad","Output":"FAIL\\n"}\n'
            '{"Time":"2026-11-17T06:31:17.53Z","Action":"fail","Package":"example.com/a/bad","Elapsed":0.003}\n'
        ),
        (1, 1, 1, 0, 0),
    ),
    "gotestsum": ("gotestsum", "DONE 4 tests, 1 skipped, 1 failure in 0.221s\n", (2, 1, 1, 0, 0)),
    "cargo": (
        "cargo test --no-fail-fast | grep result",
        (
            "test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.16s\n"
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
        ),
        (3, 1, 1, 0, 0),
    ),
    "nextest": (
        "cargo nextest run",
        "     Summary [   0.005s] 4 tests run: 2 passed (1 slow), 1 failed, 1 timed out, 1 skipped\n",
        (2, 2, 1, 0, 0),
    ),
    "rspec 3": ("bundle exec rspec", "4 examples, 1 failure, 2 pending\n\nFailed examples:\n", (1, 1, 2, 0, 0)),
    "rspec 3, a file that cannot be loaded": (
        "rspec",
        "No examples found.\n\n0 examples, 0 failures, 1 error occurred outside of examples\n",
        (0, 1, 0, 0, 0),
    ),
    "minitest 5": ("rails test", "4 runs, 2 assertions, 1 failures, 1 errors, 1 skips\n", (1, 2, 1, 0, 0)),
    "test-unit": (
        "ruby tu.rb",
        "4 tests, 2 assertions, 1 failures, 0 errors, 1 pendings, 1 omissions, 0 notifications\n33.3333% passed\n",
        (1, 1, 2, 0, 0),
    ),
    "phpunit 9": (
        "php vendor/bin/phpunit",
        "ERRORS!\nTests: 5, Assertions: 2, Errors: 1, Failures: 1, Skipped: 1, Incomplete: 1.\n",
        (1, 2, 2, 0, 0),
    ),
    "phpunit 9, passed": ("phpunit", "OK (2 tests, 3 assertions)\n", (2, 0, 0, 0, 0)),
    "pest": ("pest", "  Tests:    1 failed, 1 skipped, 3 passed (7 assertions)\n", (3, 1, 1, 0, 0)),
    "bats": (
        "bats a.bats",
        "1..3\nok 1 ok\nnot ok 2 bad\n# (in test file a.bats, line 2)\nok 3 s # skip\n",
        (1, 1, 1, 0, 0),
    ),
    "exunit": ("mix test", "3 tests, 1 failure, 1 skipped\nRandomized with seed 504168\n", (1, 1, 1, 0, 0)),
    "prove": ("prove", "Files=2, Tests=3,  0 wallclock secs ( 0.01 usr  0.01 sys)\nResult: FAIL\n", (2, 1, 0, 0, 0)),
    "maven": (
        "mvn -B test || true",
        (
            "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.097 s <<< FAILURE! -- in ATest\n"
            "[INFO] Results:\n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1\n[INFO] BUILD FAILURE\n"
        ),
        (1, 1, 1, 0, 0),
    ),
    "gradle": (
        "./gradlew test --continue",
        "> Task :compileTestJava\n> Task :testClasses\n> Task :a:test\n> Task :b:test FAILED\n",
        (1, 1, 0, 0, 0),
    ),
    "gradle for Android": ("gradle testDebugUnitTest", "> Task :app:testDebugUnitTest\n", (1, 0, 0, 0, 0)),
    "dotnet 8": (
        "dotnet test",
        (
            "Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 12 ms - a.dll (net8.0)\n"
            "Passed!  - Failed:     0, Passed:     2, Skipped:     0, Total:     2, Duration: 12 ms - b.dll (net8.0)\n"
        ),
        (4, 1, 1, 0, 0),
    ),
    "dotnet 10": (
        "dotnet test",
        "Test run summary: Failed! - bin/a.dll (net10.0)\n  total: 3\n  failed: 1\n  succeeded: 1\n  skipped: 1\n  duration: 1s\n",
        (1, 1, 1, 0, 0),
    ),
    "vstest": (
        "dotnet test",
        "Total tests: 4\n     Passed: 2\n     Failed: 1\n    Skipped: 1\n Total time: 1.2 Seconds\n",
        (2, 1, 1, 0, 0),
    ),
    "ctest": (
        "ctest",
        "33% tests passed, 2 tests failed out of 3\n\nTotal Test time (real) =   0.01 sec\n",
        (1, 2, 0, 0, 0),
    ),
    "googletest": (
        "./build/tests",
        (
            "[==========] Running 3 tests from 1 test suite.\n[==========] 3 tests from 1 test suite ran. (0 ms total)\n"
            "[  PASSED  ] 1 test.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.skip\n[  FAILED  ] 1 test, listed below:\n"
            "[  FAILED  ] A.bad\n\n 1 FAILED TEST\n"
        ),
        (1, 1, 1, 0, 0),
    ),
    "catch2": ("./tests", "test cases: 4 | 1 passed | 1 failed | 1 failed as expected | 1 skipped\n", (1, 1, 1, 1, 0)),
    "doctest": ("./tests", "[doctest] test cases: 2 | 1 passed | 1 failed | 0 skipped\n", (1, 1, 0, 0, 0)),
    "xctest": (
        "swift test",
        (
            "\t Executed 1 test, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\n"
            "\t Executed 3 tests, with 1 test skipped and 1 failure (0 unexpected) in 0.1 (0.1) seconds\n"
        ),
        (1, 1, 1, 0, 0),
    ),
    "swift": ("swift test", "✘ Test run with 2 tests failed after 0.1 seconds with 1 issue.\n", (0, 1, 0, 0, 0)),
    "automake": (
        "make check",
        "# TOTAL: 4\n# PASS:  2\n# SKIP:  0\n# XFAIL: 1\n# FAIL:  1\n# XPASS: 0\n# ERROR: 0\n",
        (2, 1, 0, 1, 0),
    ),
    "junit console": (
        "java -jar junit.jar",
        "[         2 tests successful      ]\n[         1 tests failed          ]\n[         0 tests skipped         ]\n",
        (2, 1, 0, 0, 0),
    ),
}


def counts(report: RunnerReport | None) -> tuple[int, int, int, int, int]:
    assert report is not None
    return (report.passed, report.failed, report.skipped, report.xfailed, report.xpassed)


@pytest.mark.parametrize("case", NONE_RAN)
def test_a_test_run_without_a_test_is_recognised(case: str) -> None:
    report = read(NONE_RAN[case])
    assert report is not None
    assert report.run == 0
    assert why_not_believed(report).startswith("ran no test")


@pytest.mark.parametrize("case", SOME_RAN)
def test_tests_that_ran_are_counted(case: str) -> None:
    output, expected = SOME_RAN[case]
    report = read(output)
    assert report is not None
    assert report.run == expected


@pytest.mark.parametrize("case", NO_RUNNER)
def test_other_programs_are_not_asked_for_tests(case: str) -> None:
    assert read(NO_RUNNER[case]) is None


@pytest.mark.parametrize("case", RECORDED)
def test_every_result_is_read(case: str) -> None:
    command, output, expected = RECORDED[case]
    report = read(output, command)
    assert counts(report) == expected


@pytest.mark.parametrize("case", [case for case in RECORDED if RECORDED[case][2][1]])
def test_a_report_of_failures_is_not_believed_whatever_the_exit_code(case: str) -> None:
    command, output, _ = RECORDED[case]
    report = read(output, command)
    assert report is not None
    assert why_not_believed(report).startswith("the exit code is 0, but ")
    assert f"{report.failed} failed" in why_not_believed(report)


FAILED_UNITTEST = "Ran 2 tests in 0.001s\n\nFAILED (failures=1)\n"
PASSED_UNITTEST = "Ran 2 tests in 0.001s\n\nOK\n"
FAILED_CARGO = "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
# Outputs of honest commands with the exit code 0: the command, its output, and how many tests passed.
HONEST = {
    "a test prints the summary of another runner": ("pytest -s", f"{FAILED_CARGO}{FAILED_UNITTEST}4 passed in 0.1s", 4),
    "a linter before the tests": (
        "ruff check && pytest -s",
        f"All checks passed!\n{FAILED_CARGO}4 passed in 0.1s\n",
        4,
    ),
    "failed tests run again": ("pytest -q || pytest -q --lf", "1 failed, 3 passed in 0.1s\n1 passed in 0.1s\n", 1),
    "either of two runners": ("npx vitest run || npx jest", "Tests:       2 passed, 2 total\n", 2),
    "two runs": ("pytest a && pytest b", "1 passed in 0.1s\n2 passed in 0.1s\n", 3),
    "a run for each folder": ("for d in a b; do pytest $d || exit 1; done", "1 passed in 0.1s\n2 passed in 0.1s\n", 3),
    "two runners": ("pytest && (cd web && npx jest)", "1 passed in 0.1s\nTests:       2 passed, 2 total\n", 3),
    "a package without tests": ("npm test", "Tests:       5 passed, 5 total\nNo tests found, exiting with code 0\n", 5),
    "a package with skipped tests last": (
        "npm test",
        "Tests:       5 passed, 5 total\nTests:       2 skipped, 2 total\n",
        5,
    ),
    "output that goes into a file and is shown": (
        "pytest > log 2>&1; rc=$?; cat log; exit $rc",
        "4 passed in 0.1s\n",
        4,
    ),
    "tests that passed unexpectedly": ("pytest", "1 passed, 2 xpassed in 0.1s", 1),
    "cargo without a test in one binary": ("cargo test", CARGO.format(2) + CARGO.format(0), 2),
    "a script that names the runner": ("sh -c 'cd a && pytest -q'", "4 passed in 0.1s\n", 4),
    "a retry of gradle": (
        "gradle test",
        "> Task :compileTestKotlin UP-TO-DATE\n> Task :test UP-TO-DATE\nBUILD SUCCESSFUL in 1s\n",
        1,
    ),
}


@pytest.mark.parametrize("case", HONEST)
def test_an_honest_run_is_believed(case: str) -> None:
    command, output, passed = HONEST[case]
    report = read(output, command)
    assert report is not None
    assert (why_not_believed(report), report.passed) == ("", passed)


# Outputs with the exit code 0 that prove nothing: the command, its output, and the reason.
EARLIER = ", in a summary before the last one (if a test prints that one, let the runner capture output)"
REFUSED = {
    "a better summary after the real one": (
        "pytest -q",
        "3 failed, 3 passed in 0.1s\n6 passed in 0.1s\n",
        f"the exit code is 0, but pytest reports 3 failed, 6 passed{EARLIER}",
    ),
    "a better summary after that of the second run": (
        "pytest a; pytest b",
        "1 passed in 0.1s\n2 failed in 0.1s\n2 passed in 0.1s\n",
        "the exit code is 0, but pytest reports 2 failed, 2 passed",
    ),
    "a better summary in a suite that make runs": (
        "make test",
        FAILED_UNITTEST + PASSED_UNITTEST,
        f"the exit code is 0, but unittest reports 1 failed, 3 passed{EARLIER}",
    ),
    "silence": ("pytest -q", "", "pytest printed no summary: no sign that tests ran"),
    "only other words": ("npx jest", "hello\n", "jest printed no summary: no sign that tests ran"),
    "the line of another runner": (
        "pytest -q",
        "# tests 3\n# pass 3\n# fail 0\n",
        "pytest printed no summary: no sign that tests ran",
    ),
    "a list of jest": ("jest", "/src/a.test.js\n", "jest printed no summary: no sign that tests ran"),
    "a list of pytest": ("pytest", "test_a.py::test_a\n\n1 test collected in 0.00s\n", "ran no test"),
    "a list of cargo": (
        "cargo test",
        "t::bad: test\n\n4 tests, 0 benchmarks\n",
        "cargo test printed no summary: no sign that tests ran",
    ),
    "help": (
        "pytest",
        "usage: pytest [options] [file_or_dir] [file_or_dir] [...]\n",
        "pytest printed no summary: no sign that tests ran",
    ),
    "ended in the middle": (
        "pytest",
        "collected 6 items\n\ntest_a.py ..",
        "pytest printed no summary: no sign that tests ran",
    ),
    "ended after a file": (
        "pytest",
        "test_a.py ...      [ 50%]\n",
        "pytest printed no summary: no sign that tests ran",
    ),
    "ended in the middle, in make": (
        "make test",
        "collected 6 items\n\ntest_a.py ..",
        "pytest announced tests without a result: 6",
    ),
    "one of two binaries ended": (
        "cargo test",
        "running 4 tests\n" + CARGO.format(2),
        "cargo announced tests without a result: 4",
    ),
    "one of two runs ended": (
        "pytest a; pytest b",
        "3 passed in 0.1s\n",
        "pytest printed 1 of 2 summaries: no sign that all tests ran",
    ),
    "one of two runners silent": (
        "pytest && npx jest",
        "3 passed in 0.1s\n",
        "jest printed no summary: no sign that tests ran",
    ),
    "the first of two runs failed": (
        "pytest a | tail -1; pytest b | tail -1",
        "1 failed in 0.1s\n3 passed in 0.1s\n",
        "the exit code is 0, but pytest reports 1 failed, 3 passed",
    ),
    "a run in a loop failed": (
        "for d in a b; do pytest $d; done",
        "1 failed in 0.1s\n3 passed in 0.1s\n",
        "the exit code is 0, but pytest reports 1 failed, 3 passed",
    ),
    "one of two runners in make failed": (
        "make test",
        "Tests:       1 failed, 1 total\n3 passed in 0.1s\n",
        "the exit code is 0, but jest and pytest report 1 failed, 3 passed",
    ),
    "output in a file": (
        "pytest -q > log 2>&1",
        "",
        "pytest printed no summary: no sign that tests ran (its output goes into a file: write `| tee FILE` instead of `> FILE`)",
    ),
    "only expected failures": ("pytest", "6 xfailed in 0.1s\n", "ran no test: 6 expected to fail"),
    "only deselected": ("pytest -k a", "3 deselected in 0.02s", "ran no test: 3 skipped"),
    "TAP that ends early": ("bats a.bats", "1..3\nok 1 a\n", "bats printed no summary: no sign that tests ran"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_run_that_proves_nothing_is_refused(case: str) -> None:
    command, output, reason = REFUSED[case]
    report = read(output, command)
    assert report is not None
    assert why_not_believed(report) == reason


def test_tests_that_the_command_wants_to_fail_are_judged_by_the_exit_code() -> None:
    assert read("1 failed in 0.1s", "! pytest -q tests/test_bug.py") is None


@pytest.mark.parametrize(
    ("command", "output", "failing"),
    [
        (
            "pytest -q",
            (
                "F.F.E\n=== short test summary info ===\nFAILED tests/test_a.py::test_one - assert 0\n"
                "FAILED tests/test_a.py::test_p[c d] - AssertionError: a - b\nERROR tests/test_a.py::test_err - OSError: x\n"
                "2 failed, 2 passed, 1 error in 0.60s\n"
            ),
            ("tests/test_a.py::test_err (error)", "tests/test_a.py::test_one", "tests/test_a.py::test_p[c d]"),
        ),
        (
            "python3 -m unittest",
            "F.\n======\nFAIL: test_u (test_a.TestU.test_u) (i=0)\n------\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n",
            ("test_u (test_a.TestU.test_u) (i=0)",),
        ),
        (
            "go test ./...",
            "--- FAIL: TestAdd (0.00s)\n    calc_test.go:9: 3\nFAIL\nFAIL\texample.com/calc\t0.002s\n",
            ("example.com/calc > TestAdd",),
        ),
        (
            "cargo test",
            (
                "running 2 tests\ntest adds ... FAILED\ntest other ... ok\n\n"
                "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
            ),
            ("adds",),
        ),
        (
            "node --test",
            "TAP version 13\n# Subtest: one\nnot ok 1 - one\nok 2 - two\n1..2\n# tests 2\n# pass 1\n# fail 1\n",
            ("one",),
        ),
        (
            "npx jest",
            (
                "FAIL t/calc.test.js (5.149 s)\n  ● calc › adds numbers\n\n    Expected: 5\n\n  ● calc › deep › adds more\n\n"
                "    Expected: 4\n\nTest Suites: 1 failed, 1 total\nTests:       2 failed, 1 passed, 3 total\n"
            ),
            ("t/calc.test.js > calc › adds numbers", "t/calc.test.js > calc › deep › adds more"),
        ),
        (
            "npx vitest run",
            (
                "⎯⎯⎯ Failed Tests 2 ⎯⎯⎯\n\n FAIL  v/calc.test.mjs > calc > adds numbers\nAssertionError: expected -1 to be 5\n"
                "\x1b[41m\x1b[1m FAIL \x1b[22m\x1b[49m v/calc.test.mjs\x1b[2m > \x1b[22mcalc\x1b[2m > \x1b[22madds 1 and 1\n"
                " Test Files  1 failed (1)\n      Tests  2 failed | 1 passed (3)\n"
            ),
            ("v/calc.test.mjs > calc > adds 1 and 1", "v/calc.test.mjs > calc > adds numbers"),
        ),
        (
            "go test -json ./...",
            (
                '{"Time":"2026-01-02T03:04:05Z","Action":"fail","Package":"example.com/calc","Test":"TestAdd/deep","Elapsed":0}\n'
                '{"Time":"2026-01-02T03:04:05Z","Action":"fail","Package":"example.com/calc","Test":"TestAdd","Elapsed":0}\n'
                '{"Time":"2026-01-02T03:04:05Z","Action":"pass","Package":"example.com/calc","Test":"TestTwo","Elapsed":0}\n'
            ),
            ("example.com/calc.TestAdd",),
        ),
        (
            "cargo nextest run --no-fail-fast",
            (
                "        PASS [   0.004s] calc tests::two\n        FAIL [   0.005s] calc tests::adds\n"
                "     Summary [   0.010s] 2 tests run: 1 passed, 1 failed, 0 skipped\n        FAIL [   0.005s] calc tests::adds\n"
            ),
            ("calc tests::adds",),
        ),
        (
            "bundle exec rspec",
            (
                "Finished in 0.01 seconds (files took 0.1 seconds to load)\n2 examples, 1 failure\n\nFailed examples:\n\n"
                "rspec ./spec/calc_spec.rb:4 # Calc adds numbers\n"
            ),
            ("./spec/calc_spec.rb:4 # Calc adds numbers",),
        ),
        (
            "vendor/bin/phpunit",
            (
                "There were 2 failures:\n\n1) App\\CalcTest::testAdd\nFailed asserting that -1 matches expected 5.\n\n"
                '2) App\\CalcTest::testMore with data set "two"\nFailed.\n\nFAILURES!\nTests: 3, Assertions: 3, Failures: 2.\n'
            ),
            ("App\\CalcTest::testAdd", 'App\\CalcTest::testMore with data set "two"'),
        ),
        (
            "mvn test -fae",
            (
                "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in app.CalcTest\n"
                "[ERROR] app.CalcTest.adds -- Time elapsed: 0.01 s <<< FAILURE!\n"
                "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n"
            ),
            ("app.CalcTest.adds",),
        ),
    ],
)
def test_failed_tests_have_names(command: str, output: str, failing: tuple[str, ...]) -> None:
    report = read(output, command)
    assert report is not None
    assert report.failing == failing
    assert report.names_all


TAP = """\
not ok 1 - works
  ---
  location: '/code/test/{}.test.js:2:1'
  failureType: 'testCodeFailure'
  ...
    not ok 1 - deep
      ---
      location: '/code/test/a.test.js:3:33'
      ...
not ok 3 - group
  ---
  type: 'suite'
  location: '/code/test/a.test.js:3:6'
  ...
# tests 5
# suites 1
# pass 3
# fail 2
"""
SPEC = """\
✖ works (1.8ms)
▶ group
  ✖ deep (0.3ms)
✖ group (0.7ms)
ℹ tests 5
ℹ pass 3
ℹ fail 2

✖ failing tests:

test at test/{}.test.js:2:1
✖ works (1.8ms)

test at test/a.test.js:3:33
✖ deep (0.3ms)
"""
GO = "--- FAIL: TestParse (0.00s)\n    x_test.go:3: no\nFAIL\nFAIL\texample.com/{}\t0.002s\nok  \texample.com/c\t0.001s\n"
CARGO = (
    "     Running unittests src/lib.rs (target/debug/deps/{}-8f3a21)\n\nrunning 1 test\ntest adds ... FAILED\n\n"
    "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
)
JEST = (
    "FAIL t/{}.test.js (5.1 s)\n  ● adds\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 passed, 2 total\n"
)
IDS = "FAILED t.py::test_p[{} - b] - assert [1] == 2\nFAILED t.py::test_p[c] - x[0]\n2 failed, 1 passed in 0.1s\n"


@pytest.mark.parametrize(
    ("command", "output", "name"),
    [
        ("node --test", TAP, "/code/test/b.test.js > works"),
        ("node --test --test-reporter=spec", SPEC, "test/b.test.js > works"),
        ("go test ./...", GO, "example.com/b > TestParse"),
        ("cargo test --no-fail-fast", CARGO, "src/lib.rs b > adds"),
        ("npx jest", JEST, "t/b.test.js > adds"),
        ("pytest -q", IDS, "t.py::test_p[b - b]"),
    ],
    ids=["tap", "node", "go", "cargo", "jest", "pytest"],
)
def test_tests_of_one_name_in_several_files_are_told_apart(command: str, output: str, name: str) -> None:
    one, other = (read(output.format(file), command) for file in ("a", "b"))
    assert one
    assert other
    assert (one.names_all, other.names_all) == (True, True)
    assert name in other.failing
    assert name not in one.failing


@pytest.mark.parametrize(
    "output",
    [
        "FAILED a.py::test_a - x\n!!!!!! stopping after 1 failures !!!!!!\n1 failed, 1 passed in 0.1s\n",
        "SUBFAILED a.py::test_u - x\nFAILED a.py::test_u - x\n2 failed, 1 passed in 0.1s\n",
        "FAILED a.py::test_a - x\nFAILED a.py::printed_by_a_test - x\n1 failed, 1 passed in 0.1s\n",
    ],
)
def test_names_that_do_not_tell_all_failures_apart_are_noticed(output: str) -> None:
    report = read(output, "pytest -q")
    assert report is not None
    assert not report.names_all


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (
            "npx jest",
            "  ● adds\n  ● Test suite failed to run\nTest Suites: 2 failed, 2 total\nTests:       1 failed, 1 passed, 2 total\n",
        ),
        (
            "npx vitest run",
            " FAIL  a.test.ts [ a.test.ts ]\n FAIL  b.test.ts > adds\n Test Files  2 failed (2)\n      Tests  1 failed | 1 passed (2)\n",
        ),
    ],
)
def test_files_that_could_not_be_loaded_have_tests_without_names(command: str, output: str) -> None:
    report = read(output, command)
    assert report is not None
    assert not report.names_all


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("pytest -q", True),
        ("npx jest", True),
        ("npx jest --bail", False),
        ("cargo nextest run", False),
        ("cargo nextest run --no-fail-fast", True),
        ("mvn test", False),
        ("vendor/bin/phpunit --stop-on-failure", False),
        ("cd sub && python -m pytest", True),
        ("node --test", True),
        ("make test", False),
        ("pytest -qx", False),
        ("pytest --maxfail=2", False),
        ("cargo test", False),
        ("cargo test --no-fail-fast", True),
        ("pytest -q | tail -3", False),
        ("pytest && ruff check", False),
        ("pytest || true", False),
        ("! pytest", False),
        ("pytest > out.txt", False),
        ("ruff check", False),
        ("for x in a b; do pytest $x; done", False),
    ],
)
def test_which_commands_name_the_tests_that_fail(command: str, names: bool) -> None:
    assert can_name(command) is names
