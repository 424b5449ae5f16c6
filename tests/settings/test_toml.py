"""Settings written as TOML come back as they were; a file that is changed keeps its comments."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untildone.settings import toml
from untildone.settings.toml_edits import edited

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = TEXT | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = PLAIN | st.lists(PLAIN, max_size=3)
TABLES = st.dictionaries(
    TEXT, st.recursive(VALUES, lambda inner: st.dictionaries(TEXT, inner, max_size=3), max_leaves=8)
)


@given(TABLES)
def test_what_is_written_is_read(values: dict[str, object]) -> None:
    assert tomllib.loads(toml.text(values)) == values


def test_it_looks_as_a_person_would_write_it() -> None:
    values = {
        "mode": "ralph",
        "review": True,
        "model": None,
        "profiles": {"my own": {"agent": "claude", "env": {"A": "b"}}},
    }
    assert toml.text(values) == (
        'mode = "ralph"\nreview = true\n\n[profiles."my own"]\nagent = "claude"\n\n[profiles."my own".env]\nA = "b"\n'
    )


FILE = """\
# How we work here.
agent = "claude"  # the best "#1"
max_iterations = 7

# Commands that must pass.
checks = [
    "pytest -q",  # quick
    "ruff check",
]

# My own names.
[profiles.fast]
agent = "codex"
env = { KEY = "a # b" }

# Not used any more.
[profiles.old]
agent = "gemini"
"""
SAID = tomllib.loads(FILE)
PROFILES = SAID["profiles"]


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (SAID, FILE),
        ({**SAID, "agent": "codex"}, FILE.replace('agent = "claude"', 'agent = "codex"')),
        ({**SAID, "review": True}, FILE.replace("]\n\n# My", "]\nreview = true\n\n# My")),
        (
            {name: value for name, value in SAID.items() if name != "max_iterations"},
            FILE.replace("max_iterations = 7\n", ""),
        ),
        (
            {**SAID, "checks": ["true"]},
            FILE[: FILE.index("checks")] + 'checks = ["true"]' + FILE[FILE.index("\n\n# My") :],
        ),
        ({**SAID, "profiles": {"fast": PROFILES["fast"]}}, FILE[: FILE.index("\n# Not used")]),
        (
            {**SAID, "profiles": {**PROFILES, "old": {"agent": "gemini", "model": "m"}, "new": {"agent": "codex"}}},
            f'{FILE}model = "m"\n\n[profiles.new]\nagent = "codex"\n',
        ),
        (
            {**SAID, "profiles": {**PROFILES, "fast": {"agent": "codex", "env": {"KEY": "c"}}}},
            FILE.replace('env = { KEY = "a # b" }\n', "") + '\n[profiles.fast.env]\nKEY = "c"\n',
        ),
    ],
    ids=["same", "changed", "added", "removed", "many lines", "no table", "new table", "table in a line"],
)
def test_only_the_lines_that_change_are_written_anew(wanted: dict[str, object], text: str) -> None:
    assert edited(FILE, wanted) == text
    assert tomllib.loads(text) == wanted


@pytest.mark.parametrize(
    "before", ["", "# only a comment", "[[list]]\na = 1\n", "a.b = 1\na.c = 2\n", "[a]\r\nb = 1\r\n"]
)
def test_whatever_was_there_it_says_what_is_wanted(before: str) -> None:
    assert tomllib.loads(edited(before, SAID)) == SAID


@given(TABLES, TABLES)
def test_any_file_becomes_any_other(before: dict[str, object], after: dict[str, object]) -> None:
    assert tomllib.loads(edited(toml.text(before), after)) == after
