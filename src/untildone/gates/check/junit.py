"""JUnit reports: which files a command writes them to, and which tests failed by them.

Code under test can write such a file too. So what it says counts against a run, and never for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.parsers import expat

from untildone.core.plugins.gate import CommandEnd, CommandRan, RunnerReport
from untildone.core.shell.splitting import simple_commands
from untildone.core.shell.wrappers import unwrapped
from untildone.core.values.value import dataclass, replace
from untildone.gates.check.named import named

MOST_NAMES = 5000
LONGEST_NAME = 300
RUNNER = "its JUnit report"
_SUREFIRE = ("target/surefire-reports/TEST-*.xml", "*/target/surefire-reports/TEST-*.xml")
# pytest, PHPUnit, RSpec with a JUnit formatter, vitest, `node --test`, jest-junit; each with its value or before it.
_OPTION = re.compile(
    r"(?P<name>--junit-?xml|--log-junit|--outputFile(?:\.junit)?|--test-reporter-destination|--out|-o|JEST_JUNIT_OUTPUT_FILE)(?:=(?P<path>.*))?"
)
_MUST_SAY_JUNIT = frozenset({"--outputFile", "--test-reporter-destination", "--out", "-o"})
_PLAIN = re.compile(r"(?!-)[\w./@+-]*\.xml")
"""A path that means the same to a shell and to the runner."""


def files(command: str) -> tuple[str, ...]:
    """The files to which a command writes JUnit reports, as shell patterns; none if a failure in them may be meant to be there."""
    naming = named(command)
    if naming.negated or any(run.repeats_failed or run.repeated for run in naming.runs):
        return ()
    paths = [path for simple in simple_commands(command) for path in _named_in(simple.words)]
    return tuple(dict.fromkeys((*paths, *(_SUREFIRE if any(run.name == "maven" for run in naming.runs) else ()))))


def _named_in(words: tuple[str, ...]) -> Iterable[str]:
    says_junit = any("junit" in word.lower() for word in words)
    for place, word in enumerate(words):
        option = _OPTION.fullmatch(word)
        if option is None or (option["name"] in _MUST_SAY_JUNIT and not says_junit):
            continue
        path = option["path"] if option["path"] is not None else "".join(words[place + 1 : place + 2])
        if _PLAIN.fullmatch(path):
            yield path
    if _uses_jest_junit(words):
        yield "junit.xml"


def _uses_jest_junit(words: tuple[str, ...]) -> bool:
    return any(re.fullmatch(r"--reporters=jest-junit|jest-junit", word) for word in unwrapped(words))


@dataclass(frozen=True, slots=True)
class Recorded:
    """What JUnit reports say."""

    failed: int = 0
    failing: tuple[str, ...] = ()
    """The failed tests by name, as far as there is room."""

    def __add__(self, other: Recorded) -> Recorded:
        return Recorded(self.failed + other.failed, (*self.failing, *other.failing)[:MOST_NAMES])


class NotJUnit(ValueError):
    """A text is no JUnit report, or one that could be used to do harm."""


class _Reader:
    """Handlers for the elements of a report."""

    def __init__(self) -> None:
        self.failed = 0
        self.failing: list[str] = []
        self.is_known = False
        self.name = ""
        """The test whose element is open, and did not fail so far; empty: none is."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.is_known = self.is_known or tag in ("testsuites", "testsuite")
        if not self.is_known:
            raise NotJUnit(f"it begins with <{tag[:40]}>")
        if tag == "testcase":
            parts = (attributes.get("classname", ""), attributes.get("name", ""))
            self.name = " ".join(".".join(filter(None, parts)).split())[:LONGEST_NAME] or "a test without a name"
        elif tag in ("failure", "error") and self.name:
            self.failed += 1
            if len(self.failing) < MOST_NAMES:
                self.failing.append(self.name)
            self.name = ""

    def end(self, tag: str) -> None:
        if tag == "testcase":
            self.name = ""


def read(content: bytes) -> Recorded:
    """What a report says. NotJUnit if it is none, is cut off, or declares a document type: entities could expand without an end."""
    reader, parser = _Reader(), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.StartDoctypeDeclHandler = _refuse
    parser.buffer_text = True
    try:
        parser.Parse(content, True)  # noqa: FBT003
    except (expat.ExpatError, LookupError, ValueError) as problem:  # the last two: an unknown encoding
        raise NotJUnit(str(problem)) from problem
    return Recorded(reader.failed, tuple(reader.failing))


def _refuse(*_: object) -> None:
    raise NotJUnit("it declares a document type")


def read_all(contents: Iterable[bytes]) -> Recorded:
    """What several reports say together. Those that cannot be read say nothing."""
    total = Recorded()
    for content in contents:
        try:
            total += read(content)
        except NotJUnit:
            continue
    return total


def held_against(ran: CommandRan, recorded: Recorded) -> CommandRan:
    """The run with the failures that only its JUnit reports have."""
    report = ran.report or RunnerReport()
    if ran.end is not CommandEnd.EXITED or not recorded.failed:
        return ran
    names = () if report.failing else recorded.failing
    if recorded.failed <= report.failed:
        return replace(ran, report=replace(report, recorded=names))
    made = replace(report, runners=(*report.runners, RUNNER), failed=recorded.failed, recorded=names)
    return replace(ran, report=made)
