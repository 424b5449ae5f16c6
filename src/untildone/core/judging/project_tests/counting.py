"""How tests are written in the languages whose runners report numbers of tests: a table, to count them and to see who decides which run."""

from __future__ import annotations

import re
from collections.abc import Iterable

from untildone.core.judging.checks.commands import Run
from untildone.core.judging.kinds.classify import language_of
from untildone.core.judging.tables import Language
from untildone.core.values.value import dataclass

_NEVER = re.compile(r"(?!)")
_ANY = re.compile("")


@dataclass(frozen=True, slots=True)
class Written:
    """How tests are written in a language."""

    language: Language
    runners: frozenset[str]
    """Those that report how many tests ran."""
    test: re.Pattern[str]
    """Matches once for each test. It may match less, and what it matches beyond tests costs one more run of the check."""
    selects: re.Pattern[str] = _NEVER
    """Found in a command that runs only some of the tests."""
    skips: re.Pattern[str] = _NEVER
    """Found in tests that skip themselves on a condition; in all tests of a language in which code under test can skip its caller."""
    among_product: bool = False
    """Whether tests lie in the files that they test."""


_TEXT = re.MULTILINE
WRITTEN = (
    Written(
        Language.PYTHON,
        frozenset(("pytest", "unittest")),
        re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*\(", _TEXT),
        re.compile(r"(?:^|\s)(?:-k|-m\s+(?!pytest|unittest)\S|--deselect|--ignore|--lf|--last-failed|--ff|-p\s+no:)"),
        _ANY,
    ),
    Written(
        Language.JAVASCRIPT,
        frozenset(("jest", "vitest", "mocha", "node", "tap", "ava", "jasmine", "bun", "deno")),
        re.compile(r"^[ \t]*(?:x|f)?(?:it|test|specify)(?:\.\w+)*[ \t]*[(`]", _TEXT),
        re.compile(
            r"(?:^|\s)(?:-t|-g|-f|--testNamePattern|--test-name-pattern|--grep|--fgrep|--filter|--match|--shard|--changed|"
            r"--onlyChanged|--findRelatedTests|--testPathPattern|--project)\b"
        ),
        _ANY,
    ),
    Written(
        Language.GO,
        frozenset(("go", "gotestsum")),
        re.compile(r"^func Test(?!Main\()(?![a-z])\w*\(", _TEXT),
        re.compile(r"(?:^|\s)--?(?:run|skip|short|list|tags)\b"),
        re.compile(r"\.Skip(?:f|Now)?\("),
    ),
    Written(
        Language.RUST,
        frozenset(("cargo", "nextest")),
        re.compile(r"#\[(?:\w+::)*(?:test|rstest)\b"),
        re.compile(
            r"(?:^|\s)(?:-p|-E|--package|--exclude|--tests?|--lib|--bins?|--doc|--examples?|--skip|--features|--no-default-features)\b"
            r"|\b(?:test|nextest\s+run)\s+(?!-)\w|\s--\s+(?!-)\w"
        ),
        re.compile(r"cfg_attr\([^]]*\bignore\b"),
        among_product=True,
    ),
    Written(
        Language.RUBY,
        frozenset(("rspec", "minitest")),
        re.compile(r"^[ \t]*(?:(?:it|specify|example|test)[ \t(]|def[ \t]+test_)", _TEXT),
        re.compile(r"(?:^|\s)(?:-e|-n|-t|--example|--name|--tag|--only-failures|TESTOPTS)\b"),
        _ANY,
    ),
    Written(
        Language.JAVA,
        frozenset(("maven", "junit")),
        re.compile(r"^[ \t]*@(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b", _TEXT),
        re.compile(r"(?:^|\s)(?:-pl|-Dtest|-Dgroups|-DexcludedGroups|-Dit\.test|--projects|--tests)\b"),
        _ANY,
    ),
)


def written_for(runners: Iterable[str], runs: Iterable[Run]) -> tuple[Written, ...]:
    """The languages whose tests these runners count, if the command makes them report each test."""
    named = set(runners)
    if "go" in named and not any({"-v", "-json", "--json"}.intersection(run.words) for run in runs):
        named.remove("go")  # it reports packages
    return tuple(each for each in WRITTEN if each.runners & named)


def is_counted_source(path: str) -> bool:
    """Whether a file is source of one of the languages, or decides what is compiled of it."""
    return language_of(path) in _COUNTED or path.rpartition("/")[2] == "Cargo.toml"


_COUNTED = frozenset(each.language for each in WRITTEN)
