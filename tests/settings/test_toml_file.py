"""A settings file that is changed keeps its comments and order. Covers: settings/toml_file.py."""

from __future__ import annotations

import sys
import tomllib

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from untildone.core.errors import UsageError
from untildone.settings.toml_file import edited

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = TEXT | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = PLAIN | st.lists(PLAIN, max_size=3)
TABLES = st.dictionaries(
    TEXT, st.recursive(VALUES, lambda inner: st.dictionaries(TEXT, inner, max_size=3), max_leaves=8)
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
        (
            {**SAID, "profiles": {**PROFILES, "old": {"agent": "gemini", "model": "m"}, "new": {"agent": "codex"}}},
            f'{FILE}model = "m"\n\n[profiles.new]\nagent = "codex"\n',
        ),
        (
            {**SAID, "profiles": {**PROFILES, "fast": {"agent": "codex", "env": {"KEY": "c"}}}},
            FILE.replace('"a # b"', '"c"'),
        ),
        (
            {**SAID, "profiles": {**PROFILES, "fast": {**PROFILES["fast"], "model": "m"}}},
            FILE.replace("}\n\n# Not", '}\nmodel = "m"\n\n# Not'),
        ),
    ],
    ids=["same", "changed", "added", "removed", "many lines", "new table", "table in a line", "added to a table"],
)
def test_only_the_lines_that_change_are_written_anew(wanted: dict[str, object], text: str) -> None:
    assert edited(FILE, wanted) == text
    assert tomllib.loads(text) == wanted


def test_a_removed_table_leaves_the_comments_of_the_others() -> None:
    text = edited(FILE, {**SAID, "profiles": {"fast": PROFILES["fast"]}})
    assert text.startswith(FILE[: FILE.index("\n# Not used")])


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# only a comment",
        "[[list]]\na = 1\n",
        "a.b = 1\na.c = 2\n",
        "[a]\r\nb = 1\r\n",
        "[a.x]\nb = 1\n[c]\n[a.y]\n",
    ],
)
def test_any_file_can_be_changed(before: str) -> None:
    assert tomllib.loads(edited(before, SAID)) == SAID


@given(TABLES, TABLES)
def test_any_file_becomes_any_other(before: dict[str, object], after: dict[str, object]) -> None:
    assert tomllib.loads(edited(tomlkit.dumps(before), after)) == after


def test_what_is_none_is_left_out() -> None:
    assert edited("", {"model": None, "profiles": {"a": {"agent": "b", "model": None}}}) == edited(
        "", {"profiles": {"a": {"agent": "b"}}}
    )


def test_without_tomlkit_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    with pytest.raises(UsageError, match="tomlkit") as raised:
        edited("", {"mode": "ralph"})
    assert raised.value.hint.endswith("uv tool install '.[serve]', or pipx install --force '.[serve]'")
