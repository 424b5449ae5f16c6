"""What known test runners print: one row per kind of line, with the runner, and a pattern that matches from the line's first column.

The groups of a pattern say what the line reports: `total` is a number of tests, `FIELDS` has the other numbers, and a group with
`one_` before such a name stands for one test. `units` is the number of failed files or suites, which counts if no single test failed.
`outcomes` is a list such as `1 failed, 2 skipped` or `failures=1, skipped=2`.
A line without groups reports that no test ran.
"""

from __future__ import annotations

FIELDS = {
    "passed": "passed",
    "measured": "passed",
    "flaky": "passed",
    "failed": "failed",
    "errors": "failed",
    "broken": "failed",
    "skipped": "skipped",
    "pending": "skipped",
    "xfailed": "xfailed",
    "xpassed": "xpassed",
    "total": "total",
    "units": "units",
}
"""What the groups of a pattern count as."""

WORDS = {
    r"passed|succeeded|successful": "passed",
    r"(?:subtests )?failed|failures?|errors?|timed out|exec failed|unexpected successes|invalid|ambiguous": "failed",
    r"skipped|pending|todo|ignored|deselected|excluded|incomplete": "skipped",
    r"xfailed|expected fail(?:ures)?|failed as expected": "xfailed",
    r"xpassed": "xpassed",
    r"total": "total",
}
"""What the words of a list of outcomes count as. Other words, such as `warnings`, count nothing."""

# A runner announces the tests that it is about to run.
STARTED = (
    ("pytest", r"(?:collecting \.\.\. )?collected 0 items(?: / .*)?$"),
    ("pytest", r"(?:collecting \.\.\. )?collected \d+ items? / .*/ (?P<total>\d+) selected"),
    ("pytest", r"(?:collecting \.\.\. )?collected (?P<total>\d+) items?(?: / .*)?$"),
    ("pytest", r"\d+ workers? \[(?P<total>\d+) items?\]$"),
    ("unittest", r"Found (?P<total>\d+) test\(s\)\.$"),
    ("playwright", r"Running (?P<total>\d+) tests? using \d+ workers?"),
    ("cargo", r"running (?P<total>\d+) tests?$"),
    ("tap", r"1\.\.(?P<total>\d+)(?: # .*)?$"),
    ("googletest", r"\[=+\] Running (?P<total>\d+) tests? from \d+ test (?:suite|case)s?\.$"),
)

# A runner reports single tests or classes. A summary that follows replaces them.
PROGRESS = (
    ("pytest", r"(?:\S+\.py )?(?P<dots>[.FEsxXR]+) +\[ *(?P<done>\d+)(?:%|/(?P<of>\d+))\]$"),
    (
        "tap",
        (
            r"(?:(?P<one_xfailed>not ok)(?=.*# (?i:todo))|(?P<one_failed>not ok)|(?P<one_skipped>ok)(?=.*# (?i:skip))|(?P<one_passed>ok))"
            r" \d+(?: .*)?$"
        ),
    ),
    ("go", r"--- (?:(?P<one_passed>PASS)|(?P<one_failed>FAIL)|(?P<one_skipped>SKIP)): \S+ \([\d.]+s\)$"),
)

_PYTEST_OUTCOMES = (
    r"(?=.*\b\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed)\b)\d+ [a-z ]+(?:, \d+ [a-z ]+)*"
)
_GO_END = r"(?:[\d.]+s|\(cached\))"
_TEST_TASK = r"> Task :(?:\S+:)?(?:test(?!Classes|Fixtures)\w*|(?!compile|process|generate|pre|lint)\w*Tests?)"

SUMMARIES = (
    ("pytest", r"(?:=+ )?no tests ran in [\d.]+ ?s"),
    ("pytest", r"(?:=+ )?(?:no|\d+(?:/\d+)?) tests? collected(?: \(.*\))?(?:, .*)? in [\d.]+s"),
    ("pytest", rf"(?:=+ )?(?P<outcomes>{_PYTEST_OUTCOMES}) in [\d.]+ ?s(?:econds)?(?: \([^)]*\))?(?: =+)?$"),
    ("pytest", r"(?P<heading>Results) \([\d.]+s\):$"),
    ("unittest", r"Ran (?P<total>\d+) tests? in [\d.]+s$"),
    ("unittest", r"(?:OK|FAILED|PASSED) \((?P<outcomes>[a-z ]+=\d+(?:, [a-z ]+=\d+)*)\)$"),
    ("unittest", r"NO TESTS RAN(?: \((?P<outcomes>.*)\))?$"),
    ("jest", r"No tests found(?:,? exiting with code \d+| related to files changed)"),
    ("jest", r"(?P<suites>Test Suites): +(?:(?P<units>\d+) failed, )?(?:\d+ [a-z]+, )*(?:\d+ of )?\d+ total$"),
    ("jest", r"Tests: +(?P<outcomes>(?:\d+ [a-z]+, )*\d+ total)$"),
    (
        "jest",
        (
            r'\{"numFailedTestSuites":(?P<units>\d+),"numFailedTests":(?P<failed>\d+),"numPassedTestSuites":\d+,'
            r'"numPassedTests":(?P<passed>\d+)'
        ),
    ),
    ("vitest", r"No test files found\b"),
    ("vitest", r" *(?P<heading>Test Files)  (?:(?P<units>\d+) failed)?.*\(\d+\)$"),
    ("vitest", r" *(?P<heading_tests>Tests)  (?P<outcomes>no tests|\d+ [a-z ]+(?: \| \d+ [a-z ]+)* \(\d+\))$"),
    (
        "vitest",
        (
            r'\{"numTotalTestSuites":\d+,"numPassedTestSuites":\d+,"numFailedTestSuites":(?P<units>\d+),"numPendingTestSuites":\d+,'
            r'"numTotalTests":\d+,"numPassedTests":(?P<passed>\d+),"numFailedTests":(?P<failed>\d+)'
        ),
    ),
    ("playwright", r"Error: No tests found"),
    ("playwright", r"  (?P<passed>\d+) passed \([\d.]+m?s?\)$"),
    ("go", r"\?\s+\S+\s+\[no test files\]$"),
    ("go", r"\t+\S+\t+coverage: [\d.]+% of statements"),
    ("go", rf"ok\s+\S+\s+{_GO_END}.*\[no tests to run\]$"),
    ("go", rf"(?P<package_passed>ok)\s+\S+\s+{_GO_END}"),
    ("go", r"(?P<package_failed>FAIL)\s+\S+\s+(?:[\d.]+s|\[(?:build|setup) failed\])$"),
    ("go", r"(?:testing: warning: no tests to run|no tests to run|no packages to test)$"),
    ("go", r'\{.*"Action":"(?P<one_passed>pass)","Package":"[^"]+","Test":"[^"/]+"'),
    ("go", r'\{.*"Action":"(?P<one_failed>fail)","Package":"[^"]+","Test":"[^"/]+"'),
    ("go", r'\{.*"Action":"(?P<one_units>fail)","Package":"[^"]+"'),
    ("go", r'\{.*"Action":"(?P<one_skipped>skip)","Package":"[^"]+","Test":"[^"/]+"'),
    (
        "gotestsum",
        (
            r"DONE (?P<total>\d+) tests?(?:, (?P<skipped>\d+) skipped)?(?:, (?P<failed>\d+) failures?)?"
            r"(?:, (?P<errors>\d+) errors?)? in [\d.]+s$"
        ),
    ),
    (
        "cargo",
        r"test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored; (?:(?P<measured>\d+) measured)?",
    ),
    ("nextest", r"error: no tests to run$"),
    ("nextest", r" *Summary \[.*\] +\d+(?:/\d+)? tests? run: (?P<outcomes>.*)$"),
    ("node", r"ℹ tests +(?P<total>\d+)$"),
    ("node", r"ℹ (?:pass +(?P<passed>\d+)|fail +(?P<failed>\d+)|cancelled +(?P<errors>\d+))$"),
    ("node", r"ℹ (?:skipped +(?P<skipped>\d+)|todo +(?P<pending>\d+))$"),
    ("tap", r"# (?P<heading>tests) +(?P<total>\d+)$"),
    ("tap", r"# (?:pass +(?P<passed>\d+)|fail +(?P<failed>\d+)|cancelled +(?P<errors>\d+))$"),
    ("mocha", r" *(?P<passed>\d+) (?P<heading>passing)(?: \([\d.]+\w+\))?$"),
    ("mocha", r" *(?P<failed>\d+) failing$"),
    ("ava", r"  (?P<passed>\d+) (?P<heading_passed>tests?) passed$"),
    ("ava", r"  (?P<failed>\d+) (?P<heading_failed>tests?) failed$"),
    ("jasmine", r"(?P<total>\d+) specs?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending specs?)?$"),
    ("bun", r"Ran (?P<total>\d+) tests? across \d+ files?\."),
    ("deno", r"error: No test modules found"),
    (
        "deno",
        r"(?:ok|FAILED) \| (?P<passed>\d+) passed.*? \| (?P<failed>\d+) failed(?:.* \| (?P<skipped>\d+) ignored)?",
    ),
    ("rspec", r"No examples found\.$"),
    (
        "rspec",
        r"(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?(?:, (?P<errors>\d+) errors? occurred)?",
    ),
    (
        "minitest",
        (
            r"(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors,"
            r"(?: (?P<pending>\d+) pendings,)? (?P<skipped>\d+) (?:skips|omissions)\b"
        ),
    ),
    (
        "exunit",
        r"(?:\d+ (?:doctests?|properties|property), )*(?P<total>\d+) tests?, (?P<failed>\d+) failures?(?P<outcomes>(?:, \d+ \w+)*)$",
    ),
    ("phpunit", r"No tests executed!$"),
    ("phpunit", r"OK \((?P<total>\d+) tests?, \d+ assertions?\)$"),
    ("phpunit", r"Tests: (?P<total>\d+), Assertions: \d+(?P<outcomes>(?:, [A-Z][\w ]*: \d+)*)\.?$"),
    ("pest", r" *INFO +No tests found\.$"),
    ("pest", r" *Tests: +(?P<outcomes>\d+ [a-z]+(?:, \d+ [a-z]+)*) \(\d+ assertions?\)$"),
    ("maven", r"\[INFO\] No tests to run\.$"),
    (
        "maven",
        r"(?:\[\w+\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), Skipped: (?P<skipped>\d+)$",
    ),
    ("junit", r"\[ +(?P<passed>\d+) tests successful +\]$"),
    ("junit", r"\[ +(?P<failed>\d+) tests failed +\]$"),
    ("junit", r"\[ +(?P<skipped>\d+) tests skipped +\]$"),
    ("gradle", rf"{_TEST_TASK} (?:NO-SOURCE|SKIPPED)$"),
    ("gradle", rf"(?P<one_failed>{_TEST_TASK}) FAILED$"),
    ("gradle", rf"(?P<one_passed>{_TEST_TASK})(?: UP-TO-DATE| FROM-CACHE)?$"),
    ("dotnet", r"No test (?:is available in|matches the given testcase filter) "),
    (
        "dotnet",
        r"(?:Passed|Failed|Skipped)! +- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+)(?:, Skipped: +(?P<skipped>\d+))?",
    ),
    (
        "dotnet",
        r" *Test summary: total: \d+, failed: (?P<failed>\d+), succeeded: (?P<passed>\d+), skipped: (?P<skipped>\d+)",
    ),
    ("dotnet", r"(?:(?P<heading>Test run summary: )|(?P<heading_total>Total tests): (?P<total>\d+)$)"),
    ("ctest", r"No tests were found!!!$"),
    ("ctest", r"\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)"),
    ("googletest", r"\[  PASSED  \] (?P<passed>\d+) tests?\.$"),
    ("googletest", r"\[  FAILED  \] (?P<failed>\d+) tests?, listed below:$"),
    ("googletest", r"\[  SKIPPED \] (?P<skipped>\d+) tests?, listed below:$"),
    ("catch2", r"No (?:tests ran|test cases matched .*)$"),
    ("catch2", r"All tests passed \((?:\d+|no) assertions? in (?P<total>\d+) test cases?\)$"),
    ("catch2", r"test cases: +\d+ \|(?P<outcomes>(?: +\d+ [a-z ]+(?:\||$))+)$"),
    ("doctest", r"\[doctest\] test cases: +\d+ \| +(?P<passed>\d+) passed \| +(?P<failed>\d+) failed"),
    (
        "xctest",
        r"\s*Executed (?P<total>\d+) tests?, with (?:(?P<skipped>\d+) tests? skipped and )?(?P<failed>\d+) failures? ",
    ),
    ("xctest", r"(?P<one_errors>\*\* TEST FAILED \*\*)$"),
    ("swift", r"\W{0,3}Test run with (?P<total>\d+) tests?(?: in \d+ suites?)? passed after "),
    ("swift", r"\W{0,3}Test run with \d+ tests?(?: in \d+ suites?)? (?P<one_failed>failed) after "),
    ("prove", r"(?P<heading>Files)=\d+, Tests=(?P<total>\d+), "),
    ("automake", r"# PASS: +(?P<passed>\d+)$"),
    ("automake", r"# (?:FAIL: +(?P<failed>\d+)|ERROR: +(?P<errors>\d+)|XPASS: +(?P<broken>\d+))$"),
    ("automake", r"# SKIP: +(?P<skipped>\d+)$"),
    ("automake", r"# XFAIL: +(?P<xfailed>\d+)$"),
)

# Lines of a summary that other programs print as well. These stand before a line of the runner that no other program prints, and
# count if there is one, or if the command names the runner.
LEADING = (
    ("playwright", r"  (?P<failed>\d+) failed$"),
    ("playwright", r"  (?P<errors>\d+) (?:interrupted|errors? (?:was|were) not a part of any test).*$"),
    ("playwright", r"  (?:(?P<skipped>\d+) skipped|(?P<pending>\d+) did not run|(?P<flaky>\d+) flaky)$"),
    ("mocha", r'    "(?:passes": (?P<passed>\d+)|pending": (?P<skipped>\d+)|failures": (?P<failed>\d+)),$'),
    ("bun", r" +(?:(?P<passed>\d+) pass|(?P<failed>\d+) fail|(?P<errors>\d+) errors?)$"),
    ("bun", r" +(?:(?P<skipped>\d+) skip|(?P<pending>\d+) todo)$"),
)
# These count after a line with a group whose name begins with `heading`.
FOLLOWING = (
    ("pytest", r" {5,12}(?:(?P<passed>\d+) passed|(?P<failed>\d+) failed|(?P<errors>\d+) error)$"),
    ("pytest", r" {5,12}(?:(?P<skipped>\d+) skipped|(?P<xfailed>\d+) xfailed|(?P<xpassed>\d+) xpassed)$"),
    ("vitest", r" *Errors  (?P<errors>\d+) errors?$"),
    ("tap", r"# (?:skip(?:ped)? +(?P<skipped>\d+)|todo +(?P<pending>\d+))$"),
    ("mocha", r" *(?P<skipped>\d+) pending$"),
    ("ava", r"  (?P<errors>\d+) (?:uncaught exceptions?|unhandled rejections?|tests? remained pending.*)$"),
    ("ava", r"  (?:(?P<skipped>\d+) tests? skipped|(?P<pending>\d+) tests? todo|(?P<xfailed>\d+) known failures?)$"),
    ("prove", r"Result: (?P<one_failed>FAIL)$"),
    ("dotnet", r"  +(?:(?:failed|Failed): +(?P<failed>\d+)|(?:succeeded|Passed): +(?P<passed>\d+))$"),
    ("dotnet", r"  +(?:skipped|Skipped): +(?P<skipped>\d+)$"),
)

# These print a summary for each part of one run (a binary, a package, a module): all of them count. Any other runner prints one
# summary at the end of a run: what looks like one before it is text, such as the output of a test that tests a test runner.
SUMMARY_OF_EACH_PART = frozenset({"go", "cargo", "maven", "gradle", "dotnet", "googletest", "catch2", "doctest"})

# These report passed and failed tests on different lines, so that a filter can show the ones and hide the others.
SPREAD = frozenset({
    "node", "tap", "mocha", "ava", "go", "bun", "googletest", "unittest", "prove", "junit", "playwright", "gradle", "automake", "swift",
    "xctest", "catch2", "ctest",
})  # fmt: skip

# These announce exactly the tests that they report on: an announcement without a result is a run that was cut short.
REPORT_ALL_THEY_ANNOUNCE = frozenset({"cargo", "googletest"})
