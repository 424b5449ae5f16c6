"""Settings files and variables: any input gives settings or one sentence, and the last word wins whatever came before."""

from __future__ import annotations

import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import example, given
from hypothesis import strategies as st
from tests.fuzz.mutations import any_json, check_error, damaged_bytes, misshapen, tried

from untildone import modes, settings
from untildone.core.errors import UsageError
from untildone.core.limits import Limit
from untildone.modes.phases import skillpack
from untildone.settings import Settings, guidance
from untildone.store import places

TOML = b"""\
mode = "phases"
agent = "careful"
checks = ["ruff check", 'pytest -q', \"\"\"a
b\"\"\"]
max_iterations = 12
max_cost = 1.5e1
review = true

[profiles.careful]
agent = "claude"
args = ["--max-turns", "80"]
env = { A = "1", "B.c" = "\\u00e9" }
"""
SKILLPACK: dict[str, Any] = {
    "loop": {
        "max_iterations": 30,
        "warning_threshold": 20,
        "auto_checkpoint_interval": 2,
        "timeout_per_iteration_minutes": 5,
    },
    "other": [1, {"a": None}],
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "mode": st.sampled_from(("ralph", "supervise", "phases")),
    "max_iterations": st.integers(1, 100),
    "max_minutes": st.floats(1, 500),
    "review": st.booleans(),
    "promise": st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20),
    "checks": st.lists(
        st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=9).map("run {}".format), min_size=1, max_size=3
    ),
}
chosen = st.fixed_dictionaries({}, optional=VALUES)


def loaded(folder: Path, environment: dict[str, str], flags: dict[str, Any] | None = None) -> Settings | None:
    """The settings, or None if one sentence said why there are none."""
    try:
        return settings.load(folder, flags or {}, {"HOME": str(folder / "home"), **environment})
    except UsageError as problem:
        check_error(problem)
        return None


@tried()
@given(draws=st.data())
def test_a_damaged_file(draws: st.DataObject) -> None:
    content = draws.draw(damaged_bytes(TOML, most=4) | st.binary(max_size=80))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / places.PROJECT_FILE
        path.write_bytes(content)
        found = loaded(Path(folder), {})
        if found is not None:
            # Lines may end as on any system.
            assert tomllib.loads(path.read_text("utf-8")) is not None, "only what is TOML is taken"


@pytest.mark.parametrize("content", [b"a = " + b"[" * 10_000, b"max_iterations = " + b"9" * 5000])
def test_a_hostile_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / places.PROJECT_FILE).write_bytes(content)
    assert loaded(tmp_path, {}) is None


@tried()
@given(draws=st.data())
def test_a_wrong_value_anywhere(draws: st.DataObject) -> None:
    told = draws.draw(misshapen(tomllib.loads(TOML.decode())))
    with tempfile.TemporaryDirectory() as folder:
        loaded(Path(folder), {}, told if isinstance(told, dict) else {"mode": told})


@tried()
@given(
    name=st.sampled_from(sorted(settings.every())),
    value=st.text(st.characters(exclude_characters="\x00"), max_size=20) | any_json.map(json.dumps),
)
@example(name="profiles", value="a word")
@example(name="profiles", value="[1]")
@example(name="checks", value="[" * 10_000)
@example(name="args", value="7")
@example(name="mode", value="a\nb")
def test_any_variable(name: str, value: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        loaded(Path(folder), {f"{settings.PREFIX}{name.upper()}": value})


@tried(0.4)
@given(own=chosen, project=chosen, variables=chosen, flags=chosen)
def test_the_last_word_wins(
    own: dict[str, Any], project: dict[str, Any], variables: dict[str, Any], flags: dict[str, Any]
) -> None:
    """The reference is the sentence itself: defaults, own file, project's file, environment, flags."""
    with tempfile.TemporaryDirectory() as folder:
        home, place = Path(folder) / "home", Path(folder)
        (home / ".config" / "untildone").mkdir(parents=True)
        (home / ".config" / "untildone" / "config.toml").write_text(tomlkit.dumps(own), encoding="utf-8")
        (place / places.PROJECT_FILE).write_text(tomlkit.dumps(project), encoding="utf-8")
        found = loaded(
            place, {f"{settings.PREFIX}{name.upper()}": as_variable(value) for name, value in variables.items()}, flags
        )
    assert found is not None
    expected = {**own, **project, **variables, **flags}
    for name in VALUES:
        value = expected.get(name, settings.every()[name].default)
        assert getattr(found, name) == (tuple(value) if isinstance(value, list) else value), name


def as_variable(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@tried()
@given(values=chosen)
def test_what_is_saved_is_what_is_read(values: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / places.PROJECT_FILE
        settings.save(path, values)
        assert settings.read(path) == values


@tried()
@given(told=misshapen(SKILLPACK), draws=st.data())
@example(told={"loop": None}, draws=None)
@example(told=[1], draws=None)
def test_skillpackrc(told: Any, draws: st.DataObject | None) -> None:
    content = json.dumps(told).encode()
    if draws is not None and draws.draw(st.booleans()):
        content = draws.draw(damaged_bytes(content))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / skillpack.FILE).write_bytes(content)
        try:
            found = guidance.from_files(modes.find("phases"), Path(folder))
        except UsageError as problem:
            check_error(problem)
            return
    kept = found.options["skillpack"]
    assert set(kept) <= set(skillpack.NAMES)
    assert all(type(number) is int and 1 <= number <= Limit.ITERATIONS.row.most for number in kept.values())
    assert (found.iterations, found.warn_from) == (kept.get("max_iterations"), kept.get("warning_threshold"))
