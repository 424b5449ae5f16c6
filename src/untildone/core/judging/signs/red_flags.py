"""Red flags: lines that honest work seldom adds and that often serve to deceive a check. By language."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache

from untildone.core.values.value import dataclass


class SignKind(StrEnum):
    """What a sign of tampering is about."""

    JUDGE_FILE = "judge file"
    EXIT = "ends the process"
    RUNNER = "patches a test runner"
    OBSERVES = "notices that it is tested"
    CALLER = "reads its caller"
    OUTPUT = "forges output"
    SKIP = "skips a test"
    SWALLOWED = "swallows a failure"
    WEAKENED = "asserts nothing"
    ENVIRONMENT = "steers other programs"
    HIDDEN = "hides what it does"
    LINK = "link"
    GIT = "git"
    IGNORED = "ignored file"


class Place(StrEnum):
    """The use of a file, as far as red flags differ by it."""

    TEST = "test"
    SETTINGS = "settings"
    """Settings of runners, scripts of checks, CI."""
    PROGRAM = "program"
    """Source that is a program of its own: it may end its process."""
    SOURCE = "source"


ALL = frozenset(Place)
CODE = frozenset((Place.TEST, Place.SOURCE))
PRODUCT = frozenset((Place.SOURCE, Place.PROGRAM))
TESTS = frozenset((Place.TEST,))
SHELLS = frozenset((Place.SETTINGS, Place.TEST))

PYTHON = (".py",)
JAVASCRIPT = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte")
GO = (".go",)
RUST = (".rs",)
JAVA = (".java", ".kt", ".scala", ".groovy")
RUBY = (".rb",)
PHP = (".php",)
C = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp")
SHELL = (
    *[".sh", ".bash", ".yml", ".yaml", ".mk", ".json", ".toml", ".ini", ".cfg", ".xml", ".gradle", ".kts", ".bats"],
    "",
)
LANGUAGES = PYTHON + JAVASCRIPT + GO + RUST + JAVA + RUBY + PHP + C
ANY: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flag:
    """One red flag. A pattern may reach into the next added line."""

    kind: SignKind
    suffixes: tuple[str, ...]
    """Suffixes of the files in which it counts; empty: all that hold code."""
    places: frozenset[Place]
    says: str
    """Completes the sentence "A new line …"."""
    patterns: str
    """Regular expressions, one a line."""


SKIPS_CALLERS = Flag(
    SignKind.RUNNER,
    PYTHON,
    PRODUCT,
    "skips the tests that call it",
    r"""
        \bpytest\s*\.\s*(?:skip|xfail|importorskip)\b
        ^\s*from\s+_?pytest(?:\.\w+)*\s+import\b.*\b(?:skip|xfail|importorskip|Skipped|XFailed)\b
        ^\s*from\s+unittest(?:\.case)?\s+import\b.*\bSkipTest\b
        \bunittest\s*\.\s*(?:case\s*\.\s*)?SkipTest\b
        \b_pytest\s*\.\s*outcomes\b
        \b(?:import_module|__import__)\(\s*['"]_?pytest
    """,
)
"""A test that the code under test skips proves nothing."""

FLAGS: tuple[Flag, ...] = (
    Flag(SignKind.EXIT, PYTHON, ALL, "ends the process at once", r"""
        \bos\._exit\b
        \bos\.kill\(\s*(?:os\.getpp?id\(\)|0)\s*,
        \bos\.abort\(
    """),
    Flag(SignKind.EXIT, PYTHON, CODE, "ends the process when the module is imported", r"""
        ^(?:sys\.exit|exit|quit)\s*\(
        ^raise SystemExit\b
    """),
    Flag(SignKind.EXIT, PYTHON, CODE, "changes how the process ends", r"""
        \batexit\.register\([^)\n]*(?:exit|kill)
    """),
    Flag(SignKind.EXIT, PYTHON, TESTS, "ends the test run early", r"""
        \bsys\.exit\(\s*0?\s*\)
        \bpytest\.exit\(
    """),
    Flag(SignKind.EXIT, JAVASCRIPT, CODE, "ends the process", r"""
        \bprocess\.(?:reallyExit|abort)\b
        \bprocess\.exit\(\s*0?\s*\)
        \bprocess\.exitCode\s*=\s*0
    """),
    Flag(SignKind.EXIT, GO, CODE, "ends the process as if all were well", r"""
        \bos\.Exit\(\s*0\s*\)
        \bsyscall\.Exit\(
    """),
    Flag(SignKind.EXIT, RUST, CODE, "ends the process as if all were well", r"""
        \bprocess::exit\(\s*0\s*\)
        \blibc::_exit\b
    """),
    Flag(SignKind.EXIT, JAVA, CODE, "ends the process", r"""
        \bSystem\.exit\(\s*0\s*\)
        \bRuntime\.getRuntime\(\)\.halt\(
        \bexitProcess\(\s*0\s*\)
    """),
    Flag(SignKind.EXIT, RUBY, CODE, "ends the process at once", r"""
        (?<![\w.])exit!
        \bat_exit\s*(?:do|\{)[^\n]*exit
    """),
    Flag(SignKind.EXIT, PHP, TESTS, "ends the test run early", r"""
        (?<![\w>$:])(?:exit|die)\s*(?:\(\s*0?\s*\))?\s*;
        \bregister_shutdown_function\b
    """),
    Flag(SignKind.EXIT, C, CODE, "acts outside of the tests", r"""
        (?<![\w.])_[Ee]xit\(\s*0\s*\)
        \bquick_exit\(\s*0\s*\)
        __attribute__\s*\(\(\s*constructor
    """),
    Flag(SignKind.RUNNER, PYTHON, PRODUCT, "reaches into the test runner from the product", r"""
        ^\s*(?:import|from)\s+_pytest\b
        \bsys\.modules\[['"]_?(?:pytest|unittest)
    """),
    Flag(SignKind.RUNNER, PYTHON, ALL, "replaces a part of the test runner", r"""
        \b(?:unittest|_pytest|pytest|pluggy)(?:\.\w+)+\s*=(?!=)
        \b(?:TestCase|TestResult|TextTestRunner)\.\w+\s*=(?!=)
    """),
    Flag(SignKind.RUNNER, PYTHON, PRODUCT, "replaces a part of the test runner", r"""
        \bsetattr\(\s*(?:unittest|_pytest|pytest|pluggy)\b
        \bfrom _pytest\b.*\n\s*\w+\.\w+\s*=(?!=)
    """),
    Flag(SignKind.RUNNER, PYTHON, ALL, "changes the result of a test", r"""
        \.outcome\s*=\s*['"]passed['"]
        \bexitstatus\s*=\s*(?:0|pytest\.ExitCode\.OK)\b
        \.excinfo\s*=\s*None\b
        \bwasxfail\s*=
    """),
    Flag(SignKind.RUNNER, PYTHON, TESTS, "takes over how tests are run", r"""
        def pytest_(?:runtest_protocol|pyfunc_call|report_teststatus|runtest_call|cmdline_main)\b
    """),
    Flag(SignKind.RUNNER, PYTHON, PRODUCT, "is a hook of the test runner in the product", r"""
        def pytest_\w+\(
    """),
    Flag(SignKind.RUNNER, PYTHON, CODE, "replaces a function of Python itself", r"""
        \bbuiltins\.(?:AssertionError|__import__|isinstance|print|exit)\s*=
        \b__builtins__\[
    """),
    Flag(SignKind.RUNNER, PYTHON, PRODUCT, "makes an object that equals everything", r"""
        def __eq__\([^)]*\)[^:\n]*:\s*\n?\s*return True\b
    """),
    Flag(SignKind.RUNNER, JAVASCRIPT, PRODUCT, "replaces a part of the test runner", r"""
        \b(?:global|globalThis)\.(?:expect|test|it|describe|assert)\s*=(?!=)
        \bexpect\.extend\(
        \bassert\.\w+\s*=(?!=)
        \bModule\._load\s*=
    """),
    Flag(SignKind.RUNNER, JAVASCRIPT, ALL, "replaces a function of JavaScript itself", r"""
        \b(?:Object\.is|Array\.prototype\.\w+|Function\.prototype\.call)\s*=(?!=)
    """),
    Flag(SignKind.RUNNER, GO, PRODUCT, "changes the options of the test run", r"""
        \bflag\.Set\(\s*"test\.
    """),
    Flag(SignKind.RUNNER, RUBY, PRODUCT, "replaces a part of the test runner", r"""
        \b(?:Minitest|RSpec)(?:::\w+)+\.(?:class_eval|prepend|define_method)
    """),
    Flag(SignKind.OBSERVES, ANY, ALL, "reads a variable of untildone", r"""
        \bUNTILDONE_\w
    """),
    Flag(SignKind.OBSERVES, PYTHON, PRODUCT, "behaves otherwise under test", r"""
        \bPYTEST_(?:CURRENT_TEST|VERSION|XDIST_WORKER)\b
        ['"]_?pytest['"] (?:not )?in sys\.modules
        \bsys\.gettrace\(\)
    """),
    Flag(SignKind.OBSERVES, JAVASCRIPT, PRODUCT, "behaves otherwise under test", r"""
        \b(?:JEST_WORKER_ID|VITEST_WORKER_ID|VITEST_POOL_ID)\b
    """),
    Flag(SignKind.OBSERVES, GO, PRODUCT, "behaves otherwise under test", r"""
        \bflag\.Lookup\(\s*"test\.
        \btesting\.Testing\(\)
        HasSuffix\(os\.Args\[0\], *"\.test"
    """),
    Flag(SignKind.OBSERVES, RUST, PRODUCT, "behaves otherwise under test", r"""
        \bcfg!\(\s*test\s*\)
        #\[cfg\(not\(test\)\)\]
    """),
    Flag(SignKind.CALLER, PYTHON, PRODUCT, "reads the frame of its caller", r"""
        \b(?:inspect\.(?:currentframe|stack)|sys\._getframe|sys\._current_frames|gc\.get_referrers)\b
        \.f_(?:back|locals|globals)\b
    """),
    Flag(SignKind.CALLER, JAVASCRIPT, PRODUCT, "reads the stack of its caller", r"""
        \barguments\.callee\.caller\b
        \bError\.prepareStackTrace\s*=
    """),
    Flag(SignKind.OUTPUT, ANY, ALL, "reaches around its own output", r"""
        /proc/(?:self|\d+|\$\w+|\{\w+\})/(?:fd|mem|environ)\b
        /dev/fd/\d
    """),
    Flag(SignKind.OUTPUT, PYTHON, CODE, "writes past the test runner", r"""
        \bsys\.__(?:stdout|stderr)__\b
        \bos\.write\(\s*[12]\s*,
        \bos\.dup2\(
    """),
    Flag(SignKind.OUTPUT, PYTHON + JAVASCRIPT + RUBY + GO + RUST, PRODUCT | {Place.SETTINGS}, "looks like the summary of a test run", r"""
        ['"`][^'"`\n]*\d+ passed in [\d.]+ ?s
        ['"`][^'"`\n]*=+ \d+ passed
        ['"`][^'"`\n]*test result: ok\. \d+ passed
        ['"`][^'"`\n]*Tests: +\d+ passed, \d+ total
        ['"`][^'"`\n]*Ran \d+ tests? in [\d.]+s
        ['"`][^'"`\n]*OK \(\d+ tests?, \d+ assertions?\)
        ['"`][^'"`\n]*# pass \d+
        ['"`][^'"`\n]*\d+ examples?, 0 failures
    """),
    Flag(SignKind.SKIP, PYTHON, TESTS, "skips a test, or expects it to fail", r"""
        \bpytest\.mark\.skip\b
        \bpytest\.mark\.xfail\b(?!\(\s*(?!reason|strict|raises|run)\w)
        \bpytest\.(?:skip|xfail)\(
        \bunittest\.(?:skip\(|expectedFailure|SkipTest)
        ^\s*@skip\b
        \bself\.skipTest\(
    """),
    SKIPS_CALLERS,
    Flag(SignKind.SKIP, PYTHON, TESTS, "keeps tests from being collected", r"""
        \b__test__\s*=\s*False
        \bcollect_ignore(?:_glob)?\b\s*(?:=\s*\[\s*['"\w]|\+=|\.(?:append|extend))
    """),
    Flag(SignKind.SKIP, JAVASCRIPT, TESTS, "skips tests", r"""
        (?<![\w.])(?:it|test|describe|suite|context|specify)\.(?:skip|todo|fails|failing|only|fixme)\b
        (?<![\w.])(?:xit|xtest|xdescribe|fit|fdescribe)\(
    """),
    Flag(SignKind.SKIP, GO, TESTS, "skips a test", r"""
        \bt\.Skip(?:Now|f)?\(
    """),
    Flag(SignKind.SKIP, RUST, frozenset(Place), "ignores a test, or expects it to fail", r"""
        ^\s*#\[(?:ignore\b|should_panic\b)
    """),
    Flag(SignKind.SKIP, JAVA, TESTS, "skips a test", r"""
        @(?:Disabled|Ignore)\b
        \bassumeTrue\(\s*false
    """),
    Flag(SignKind.SKIP, RUBY, TESTS, "skips a test", r"""
        ^\s*(?:xit|xdescribe|xcontext|pending|skip)\b
        ,\s*skip:\s*(?:true|['"])
    """),
    Flag(SignKind.SKIP, PHP, TESTS, "skips a test", r"""
        \bmarkTest(?:Skipped|Incomplete)\(
    """),
    Flag(SignKind.SKIP, C, TESTS, "skips a test", r"""
        \bGTEST_SKIP\(\)
        \bTEST\w*\([^,\n]+,\s*DISABLED_
    """),
    Flag(SignKind.SWALLOWED, PYTHON, TESTS, "swallows a failure", r"""
        except(?:\s+\(?(?:Base)?Exception\)?|\s+AssertionError)?(?:\s+as\s+\w+)?\s*:\s*\n?\s*(?:pass|return|\.\.\.)\s*$
    """),
    Flag(SignKind.SWALLOWED, JAVASCRIPT, TESTS, "swallows a failure", r"""
        \bcatch\s*(?:\(\s*\w*\s*\))?\s*\{\s*\}
        \.catch\(\s*\(\s*\)\s*=>\s*\{\s*\}\s*\)
    """),
    Flag(SignKind.SWALLOWED, SHELL, SHELLS, "swallows a failure", r"""
        \|\|\s*(?:true|:|exit 0)(?:\s|$|['"&;)])
        ^\s*set \+e\b
        ;\s*(?:true|exit 0)\s*$
        ^\t-\s*(?!rm\b|mkdir\b|kill|docker|find\b|\$)\w
    """),
    Flag(SignKind.SWALLOWED, SHELL, SHELLS, "lets a failing check pass", r"""
        --passWithNoTests
        --exit-zero
        -DskipTests
        -Dmaven\.test\.(?:skip|failure\.ignore)
        <testFailureIgnore>
        <skipTests>
        \bignoreFailures\b
        continue-on-error:\s*true
        allow_failure:\s*true
        --force-?exit\b
    """),
    Flag(SignKind.SWALLOWED, (".ini", ".cfg", ".toml"), frozenset((Place.SETTINGS,)), "leaves tests out", r"""
        ^\s*['"]?addopts\b.*--(?:ignore|deselect|collect-only|co|markers|fixtures|help|lf|last-failed|maxfail)\b
        ^\s*['"]?addopts\b.*[\s'"=]-[khm]\b
    """),
    Flag(SignKind.WEAKENED, PYTHON, TESTS, "asserts nothing", r"""
        ^[ \t]*assert[ \t]*\(?[ \t]*(?:True|1|not False|not None)[ \t]*\)?[ \t]*(?:,.*)?$
        ^\s*assert\b.*\bor True\b
        \bassertTrue\(\s*True\s*[,)]
    """),
    Flag(SignKind.WEAKENED, JAVASCRIPT, TESTS, "asserts nothing", r"""
        \bexpect\(\s*true\s*\)\.to(?:Be|Equal|StrictEqual)\(\s*true\s*\)
        \bexpect\(\s*1\s*\)\.to(?:Be|Equal)\(\s*1\s*\)
        \bassert\(\s*true\s*\)
        \bassert\.ok\(\s*true\s*\)
    """),
    Flag(SignKind.WEAKENED, RUST, ALL, "asserts nothing", r"""
        \bassert!\(\s*true\s*\)
        \bassert_eq!\(\s*(?P<one>\w+)\s*,\s*(?P=one)\s*\)
    """),
    Flag(SignKind.WEAKENED, JAVA + PHP, TESTS, "asserts nothing", r"""
        \bassertTrue\(\s*true\s*\)
    """),
    Flag(SignKind.WEAKENED, C, TESTS, "asserts nothing", r"""
        \b(?:ASSERT|EXPECT)_TRUE\(\s*(?:true|1)\s*\)
    """),
    Flag(SignKind.ENVIRONMENT, ANY, CODE | {Place.SETTINGS}, "steers programs by a variable", r"""
        \b(?:PYTEST_ADDOPTS|PYTEST_PLUGINS|PYTHONSTARTUP|LD_PRELOAD|DYLD_INSERT_LIBRARIES|RUBYOPT|PERL5OPT)\b
        \b(?:JAVA_TOOL_OPTIONS|RUSTC_WRAPPER|BASH_ENV)\b
    """),
    Flag(SignKind.ENVIRONMENT, (".npmrc", ".yarnrc"), ALL, "changes how package scripts are run", r"""
        ^\s*(?:script-shell|node-options|shell)\s*=
    """),
    Flag(SignKind.ENVIRONMENT, (".mk", ""), ALL, "changes how make runs recipes", r"""
        ^\s*(?:override\s+)?(?:SHELL|\.SHELLFLAGS|MAKEFLAGS)\s*[:?+]?=
        ^\.IGNORE\b
    """),
    Flag(SignKind.ENVIRONMENT, PYTHON, CODE, "changes what Python imports", r"""
        \bsite\.addsitedir\(
        \bsys\.meta_path\.(?:insert|append)\(
        \bsys\.path_hooks\b
    """),
    Flag(SignKind.HIDDEN, LANGUAGES, ALL, "contains characters that change the order in which it is shown", r"""
        [\u202a-\u202e\u2066-\u2069]
    """),
    Flag(SignKind.HIDDEN, LANGUAGES, ALL, "has code far to the right", r"""
        \S[ \t]{120,}\S
    """),
    Flag(SignKind.HIDDEN, PYTHON, ALL, "runs code that cannot be read", r"""
        \b(?:exec|eval)\(\s*(?:compile\()?\s*[\w.]*(?:b64decode|decompress|fromhex|unhexlify|loads)\b
    """),
    Flag(SignKind.HIDDEN, JAVASCRIPT, ALL, "runs code that cannot be read", r"""
        \b(?:eval|Function)\(\s*(?:atob|Buffer\.from|unescape)\b
    """),
)  # fmt: skip


@cache
def compiled(flag: Flag) -> re.Pattern[str]:
    return re.compile("|".join(line.strip() for line in flag.patterns.splitlines() if line.strip()), re.MULTILINE)


@cache
def flags_for(suffix: str, place: Place) -> tuple[Flag, ...]:
    """The red flags of a kind of file."""
    return tuple(flag for flag in FLAGS if place in flag.places and (not flag.suffixes or suffix in flag.suffixes))
