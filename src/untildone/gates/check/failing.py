"""The names of tests that failed, from the lines in which test runners list them."""

from __future__ import annotations

import re

from untildone.core.shell.splitting import simple_commands
from untildone.core.shell.wrappers import unwrapped
from untildone.gates.check.named import named
from untildone.gates.check.programs import runner_of

MOST = 5000
"""Names beyond this are left out; then the failures are not all named."""

# A runner, and a line with which it names one failed test. What follows a pytest name is why it failed.
_LINES = (
    ("pytest", r"(?P<kind>FAILED|ERROR) (?P<name>\S+\.py(?:::(?:(?! - )[^[])+(?:\[.*?\](?= - |$))?)?)(?: - .*)?$"),
    ("unittest", r"(?P<kind>FAIL|ERROR): (?P<name>\S+ \(\S+\).*)$"),
    ("go", r" *(?P<kind>)--- FAIL: (?P<name>\S+) \([\d.]+s\)$"),
    ("cargo", r"(?P<kind>)test (?P<name>\S+(?: - .*)?) \.\.\. FAILED$"),
    ("node", r" *(?P<kind>)✖ (?P<name>.+) \([\d.]+ms\)(?: # .*)?$"),
    ("node", r" *(?P<kind>)not ok \d+ - (?P<name>(?:(?! # ).)+)$"),
    ("tap", r" *(?P<kind>)not ok \d+ - (?P<name>(?:(?! # ).)+)$"),
    ("go", r'\{.*(?P<kind>)"Action":"fail","Package":"(?P<name>[^"]+","Test":"[^"/]+)"'),
    ("jest", r"  (?P<kind>)● (?P<name>(?!Console$|Test suite failed to run$).+)$"),
    ("vitest", r" *(?P<kind>)FAIL +(?P<name>\S+(?: \|[^|]+\|)? > .+)$"),
    ("nextest", r" *(?P<kind>)(?:FAIL|TIMEOUT|SIG[A-Z]+) \[[ >]*[\d.]+s\](?: \( *\d+/\d+\))? (?P<name>\S+ \S+)$"),
    ("rspec", r"(?P<kind>)rspec (?P<name>'?\./\S+ # .+)$"),
    ("phpunit", r"(?P<kind>)\d+\) (?P<name>[\w\\]+::\w+(?: with data set .+)?)$"),
    (
        "maven",
        r"\[ERROR\] +(?P<kind>)(?P<name>[\w.$]+(?:\([^)]*\))?(?:\[\d+\])?) +(?:-- )?Time elapsed: [\d.]+ s +<<< (?:FAILURE|ERROR)!",
    ),
)
_PATTERNS = tuple((runner, re.compile(text)) for runner, text in _LINES)
# Files and packages of failed tests, whose names may be the same in several of them: in a line before them, or after them.
_BEFORE = (
    ("node", re.compile(r"test at (?P<place>.+):\d+:\d+$")),
    ("jest", re.compile(r"FAIL +(?:.*? )?(?P<place>\S+\.[cm]?[jt]sx?)(?: \([\d.]+ m?s\))?$")),
    (
        "cargo",
        re.compile(
            r" +(?:Running (?:unittests )?(?P<place>\S+) \(.*?(?P<crate>[\w-]+)-[0-9a-f]+\)|(?P<docs>Doc-tests \S+))$"
        ),
    ),
)
_AFTER = (
    ("node", re.compile(r" +location: '(?P<place>.+):\d+:\d+'$")),
    ("tap", re.compile(r" +location: '(?P<place>.+):\d+:\d+'$")),
    ("go", re.compile(r"FAIL\t(?P<place>\S+)\t")),
)
_SUITE = re.compile(r" +type: 'suite'$")
"""A group of tests of node, which fails with a test of it and is none itself."""
_MAY_PLACE = re.compile(r"test at | *FAIL\s| +(?:Running|Doc-tests|location:|type:) ")
_MAY_NAME = re.compile(
    r" *(?:FAILED |ERROR[ :]|FAIL[: ]|--- FAIL|test .*FAILED|✖|not ok|!!!|\{|●|TIMEOUT |SIG[A-Z]+ |rspec |\d+\) |\[ERROR\])"
)
# The run ended early, or test files could not be loaded: tests that did not run are unknown.
_STOPPED = re.compile(r"!{3,} .*\bstopping after\b|  ● Test suite failed to run$| *FAIL +\S+ \[ \S+ \]$")
RUNNERS = frozenset(runner for runner, _ in _LINES)
"""The runners, as `patterns` names them, that name what failed."""


class Names:
    """The distinct names of failed tests in the output of a command."""

    def __init__(self) -> None:
        self._found: dict[str, set[str]] = {}
        self._placed: dict[str, set[str]] = {}
        """The names with their files or packages."""
        self._place: dict[str, str] = {}
        """The file or package of the tests that come next."""
        self._unplaced: dict[str, dict[str, None]] = {}
        """The names whose file or package may come next, in order."""
        self._stopped = False

    def feed(self, plain: str) -> None:
        """Read a line without escape sequences."""
        if _MAY_PLACE.match(plain):
            self._take_place(plain)
        if not _MAY_NAME.match(plain):
            return
        self._stopped |= _STOPPED.match(plain) is not None
        for runner, pattern in _PATTERNS:
            if sign := pattern.match(plain):
                name = sign["name"].replace('","Test":"', ".")
                self._add(runner, f"{name} ({sign['kind'].lower()})" if sign["kind"] == "ERROR" else name)

    def _add(self, runner: str, name: str) -> None:
        names = self._found.setdefault(runner, set())
        if len(names) >= MOST:
            return
        names.add(name)
        if place := self._place.get(runner):
            self._add_placed(runner, place, name)
        else:
            self._unplaced.setdefault(runner, {})[name] = None
        if runner == "node":
            # It names the place of each test.
            self._place.pop(runner, None)

    def _add_placed(self, runner: str, place: str, name: str) -> None:
        names = self._placed.setdefault(runner, set())
        if len(names) < MOST:
            names.add(f"{place} > {name}")

    def _take_place(self, plain: str) -> None:
        for runner, pattern in _BEFORE:
            if sign := pattern.match(plain):
                self._place[runner] = " ".join(filter(None, sign.groups()))
        for runner, pattern in _AFTER:
            if sign := pattern.match(plain):
                for name in self._unplaced.pop(runner, {}):
                    self._add_placed(runner, sign["place"], name)
        if _SUITE.match(plain):
            for runner in ("node", "tap"):
                for name in [*self._unplaced.pop(runner, {})][-1:]:
                    self._found[runner].discard(name)

    def of(self, runners: tuple[str, ...]) -> tuple[str, ...]:
        """The tests that these runners name, in order; none if a runner stopped at its first failure: the later tests are unknown."""
        if self._stopped:
            return ()
        return tuple(sorted(name for runner in runners for name in self._of(runner)))

    def _of(self, runner: str) -> set[str]:
        return self._placed.get(runner) or self._found.get(runner, set())


def can_name(command: str) -> bool:
    """Whether a command is one run of a runner that names all its failed tests, and its exit code is that of the runner."""
    commands, naming = simple_commands(command), named(command)
    if len(naming.runs) != 1 or naming.negated or naming.indirect or not commands:
        return False
    run, last = naming.runs[0], commands[-1]
    alone = all(each.operator in (";", "&&") and each.ended_by in (";", "&&") and not each.to_file for each in commands)
    is_last = runner_of(unwrapped(last.words)) is not None
    goes_on = _GOES_ON.get(run.name, ())
    runs_all = not any(_STOPS.fullmatch(word) for word in last.words) and (
        not goes_on or bool({*goes_on} & {*last.words})
    )
    return bool(run.runners & RUNNERS) and run.certain and not run.repeats_failed and alone and is_last and runs_all


# Options with which a runner stops at the first failure, and runners that do so without an option.
_STOPS = re.compile(
    r"-[a-z]*[xf]|--exitfirst|--maxfail.*|--failfast|-failfast|--fail-fast.*|-b|--bail.*|--stop-on-.*|--max-fail.*"
)
_GOES_ON = {
    "cargo test": ("--no-fail-fast",),
    "cargo nextest": ("--no-fail-fast",),
    "maven": ("-fae", "--fail-at-end", "-fn", "--fail-never"),
}
