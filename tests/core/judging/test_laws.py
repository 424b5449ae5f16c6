"""Laws of the pass with the originals, for any change of a tree."""

from __future__ import annotations

import re
import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.judging.test_families import JAVASCRIPT, MAKE, PYPROJECT, RUST
from tests.support.trees import Link, Program, composed, surveyed, tree

from untildone.core.judging.checks import scripts
from untildone.core.judging.checks.commands import runs_of
from untildone.core.judging.kinds.classify import Classifier
from untildone.core.judging.versions import rust
from untildone.core.judging.versions.meaning import is_same

COMMANDS = ("make test", "npm test", "cargo test", "pytest -q")
START = {
    **MAKE,
    **JAVASCRIPT,
    **RUST,
    "conftest.py": "x = 1\n",
    "tox.ini": "[pytest]\naddopts = -x\n\n[other]\na = 1\n",
}

NAMES = st.sampled_from(
    [
        *START,
        "tests",
        "tests/new/test_x.py",
        "pytest.py",
        "GNUmakefile",
        "src/new.py",
        ".npmrc",
        "setup.cfg",
        "docs/a.md",
        "tests/test_calc.py/x",
    ]
)
TEXTS = st.one_of(
    st.none(),
    st.sampled_from(
        [
            "",
            "x = 1\n",
            "[pytest]\naddopts = -h\n",
            "[tool.pytest]\na = 1\n",
            "{}",
            "test:\n\ttrue\n",
            PYPROJECT + "addopts = 'x'\n",
            *START.values(),
        ]
    ),
    st.text(max_size=30),
    st.sampled_from([Link("a"), Link("/etc"), Program("x")]),
)
CHANGES = st.dictionaries(NAMES, TEXTS, max_size=6)


def applied(changes: dict[str, str | None]) -> dict[str, str]:
    """A tree in which no file lies below another."""
    made: dict[str, str] = {}
    for path, text in {**START, **changes}.items():
        inside = any(path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in made)
        if text is not None and not inside:
            made[path] = text
    return made


@settings(max_examples=60, deadline=None)
@given(CHANGES)
def test_putting_back_twice_changes_nothing(changes: dict[str, str | None]) -> None:
    claimed = applied(changes)
    once = composed(START, claimed, surveyed(START, claimed, *COMMANDS).originals)
    again = surveyed(START, once, *COMMANDS)
    assert composed(START, once, again.originals) == once


@settings(max_examples=60, deadline=None)
@given(CHANGES)
def test_every_existing_judge_file_is_as_at_the_start(changes: dict[str, str | None]) -> None:
    claimed = applied(changes)
    seen = surveyed(START, claimed, *COMMANDS)
    passed = composed(START, claimed, seen.originals)
    before, after = tree(START), tree(passed)
    judge = Classifier(before, after, scripts.check_files(COMMANDS, before, after), ())
    for path, text in START.items():
        if judge.existing(path) and path != "Makefile":
            assert passed[path] == text or is_same(path, passed[path].encode(), text.encode())
    assert tomllib.loads(passed["pyproject.toml"])["tool"]["pytest"] == tomllib.loads(PYPROJECT)["tool"]["pytest"]
    assert re.search(r'"test": "jest"', passed["package.json"])
    assert rust.same_tests(START["src/lib.rs"], passed["src/lib.rs"])


@settings(max_examples=40, deadline=None)
@given(CHANGES)
def test_a_tree_stays_a_tree(changes: dict[str, str | None]) -> None:
    claimed = applied(changes)
    passed = composed(START, claimed, surveyed(START, claimed, *COMMANDS).originals)
    folders = {path[: match.start()] for path in passed for match in re.finditer("/", path)}
    assert not folders & set(passed)


@settings(max_examples=40, deadline=None)
@given(CHANGES)
def test_without_a_changed_judge_file_the_passes_are_equal(changes: dict[str, str | None]) -> None:
    claimed = applied(changes)
    seen = surveyed(START, claimed, *COMMANDS)
    if not seen.needs_originals:
        assert composed(START, claimed, seen.originals) == claimed


@given(st.text(max_size=60))
def test_any_command_can_be_read(command: str) -> None:
    assert all(run.words for run in runs_of(command))


@given(st.text(alphabet="{}\"'/*#[]cfgtest() mod\n\\r;", max_size=80))
def test_any_rust_can_be_read(text: str) -> None:
    blocks = rust.test_blocks(text)
    assert blocks is None or all(block.begin < block.end <= len(text) for block in blocks)
