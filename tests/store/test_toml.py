"""Settings written as TOML come back as they were."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from untildone.store import toml

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
