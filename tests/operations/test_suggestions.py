"""Checks that fit a project, by the files that it has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from untildone.operations.creating import check_programs, suggestions

NPM = json.dumps({"scripts": {"test": "jest"}})
PROJECTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "nothing": ({"README.md": "pytest"}, []),
    "pytest by its settings": ({"pytest.ini": "[pytest]\n"}, ["pytest -q"]),
    "pytest by a dependency": ({"pyproject.toml": 'dev = ["pytest"]', "tests/test_a.py": ""}, ["pytest -q"]),
    "pytest without tests": ({"pyproject.toml": 'dev = ["pytest"]'}, []),
    "pytest in an environment": ({"pytest.ini": "", ".venv/bin/python": ""}, [".venv/bin/python -m pytest -q"]),
    "pytest with uv": ({"conftest.py": "", "uv.lock": ""}, ["uv run pytest -q"]),
    "tests that import unittest": ({"test/test_a.py": "import unittest\n"}, ["python3 -m unittest discover test"]),
    "tests in a package": (
        {"tests/__init__.py": "", "tests/test_a.py": "from unittest import TestCase\n"},
        ["python3 -m unittest"],
    ),
    "tests without a runner": ({"tests/test_a.py": "def test_a(): ...\n"}, ["pytest -q"]),
    "npm": ({"package.json": NPM}, ["npm test"]),
    "pnpm": ({"package.json": NPM, "pnpm-lock.yaml": ""}, ["pnpm test"]),
    "a new npm package": (
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        [],
    ),
    "broken package.json": ({"package.json": "{"}, []),
    "package.json of another shape": ({"package.json": "[1]"}, []),
    "cargo": ({"Cargo.toml": '[package]\nname = "x"\n'}, ["cargo test"]),
    "go": ({"go.mod": "module x\n"}, ["go test ./..."]),
    "make": ({"Makefile": "all:\n\ttrue\ntest: all\n\ttrue\n"}, ["make test"]),
    "make with a variable": ({"Makefile": "test := 1\ntest:=2\n"}, []),
    "several": ({"pytest.ini": "", "package.json": NPM, "Makefile": "test:\n"}, ["pytest -q", "npm test", "make test"]),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_checks_follow_from_the_files_of_a_project(name: str, tmp_path: Path) -> None:
    files, expected = PROJECTS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert [each.command for each in suggestions.checks(tmp_path)] == expected


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("go-that-nobody-has test ./...", "go-that-nobody-has"),
        ("CI=1 go-that-nobody-has test", "go-that-nobody-has"),
        ("cd sub && go-that-nobody-has test", ""),
        ("./check.sh", "./check.sh"),
        ("./there.sh --all", ""),
        ("sh -c true", ""),
        ("test -f ok", ""),
        ("! grep -r print src", ""),
        ('"$RUNNER" -q', ""),
        ("", ""),
    ],
)
def test_a_program_that_is_not_there_is_noticed(command: str, missing: str, tmp_path: Path) -> None:
    (tmp_path / "there.sh").touch()
    assert check_programs.missing(command, str(tmp_path), {"PATH": "/usr/bin:/bin"}) == missing
    notice = check_programs.notice(command, str(tmp_path), {"PATH": "/usr/bin:/bin"})
    assert (missing in notice) is bool(missing) or not missing
