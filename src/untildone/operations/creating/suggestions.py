"""Suggests checks for a project, from the files that it has and from its last loops."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from untildone.core.errors import UntilDoneError
from untildone.core.values.value import dataclass
from untildone.store import Store

LARGEST = 1 << 20
_NO_TEST = "no test specified"
"""What npm writes into a new package."""
_IMPORTS_UNITTEST = re.compile(r"^\s*(?:import|from)\s+unittest\b", re.MULTILINE)
_MAKE_TEST = re.compile(r"^test\s*:(?!=)", re.MULTILINE)
_RUNNERS = {
    "pnpm-lock.yaml": "pnpm test",
    "yarn.lock": "yarn test",
    "bun.lock": "bun run test",
    "bun.lockb": "bun run test",
}

USED = "used before"
"""The reason of a check that loops of the project had."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A check that fits a project."""

    command: str
    reason: str
    """The file that it follows from, or `USED`."""


def checks(folder: Path) -> tuple[Suggestion, ...]:
    """The checks that fit the project in a folder, best first."""
    suggested = (*_pytest(folder), *_npm(folder), *_cargo(folder), *_go(folder), *_make(folder))
    return tuple({each.command: each for each in suggested}.values())


def used(store: Store, loop_ids: Iterable[str]) -> tuple[Suggestion, ...]:
    """The checks of these loops, in their order. A loop that cannot be read has none."""
    commands = (check for loop_id in loop_ids for check in _checks_of(store, loop_id))
    return tuple(Suggestion(check, USED) for check in dict.fromkeys(commands))


def _checks_of(store: Store, loop_id: str) -> tuple[str, ...]:
    try:
        return store.load(loop_id).settings.checks
    except UntilDoneError:
        return ()


def _pytest(folder: Path) -> Iterator[Suggestion]:
    named = next(
        (name for name in ("pytest.ini", "conftest.py", "tests/conftest.py") if (folder / name).is_file()), None
    )
    reason = named or _mentions_pytest(folder)
    if reason and (named or any(_python_tests(folder))):
        yield Suggestion(_pytest_command(folder), reason)
    elif not reason:
        yield from _by_test_files(folder)


def _by_test_files(folder: Path) -> Iterator[Suggestion]:
    """A check for Python tests in a project that names no runner: by what the first of them imports."""
    first = next(_python_tests(folder), None)
    if first is not None:
        is_unittest = _IMPORTS_UNITTEST.search(_text(first))
        command = _unittest(folder, first.parent) if is_unittest else _pytest_command(folder)
        yield Suggestion(command, str(first.relative_to(folder)))


def _unittest(folder: Path, tests: Path) -> str:
    """Tests in a folder that is no package are found only if it is named."""
    is_found = tests == folder or (tests / "__init__.py").is_file()
    where = "" if is_found else f" discover {shlex.quote(str(tests.relative_to(folder)))}"
    python = "uv run python" if (folder / "uv.lock").is_file() else _own_python(folder) or "python3"
    return f"{python} -m unittest{where}"


def _mentions_pytest(folder: Path) -> str | None:
    names = ("pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt", "Pipfile")
    return next((name for name in names if "pytest" in _text(folder / name)), None)


def _python_tests(folder: Path) -> Iterator[Path]:
    patterns = ("test_*.py", "tests/**/test_*.py", "test/**/test_*.py", "src/**/test_*.py")
    return (path for pattern in patterns for path in sorted(folder.glob(pattern)))


def _pytest_command(folder: Path) -> str:
    if (folder / "uv.lock").is_file():
        return "uv run pytest -q"
    own = _own_python(folder)
    return f"{own} -m pytest -q" if own else "pytest -q"


def _own_python(folder: Path) -> str:
    """The Python of the project's own environment; empty: it has none."""
    own = (f"{name}/bin/python" for name in (".venv", "venv"))
    return next((path for path in own if (folder / path).exists()), "")


def _npm(folder: Path) -> Iterator[Suggestion]:
    try:
        scripts = json.loads(_text(folder / "package.json")).get("scripts", {})
        test = scripts.get("test", "")
    except (ValueError, AttributeError):
        return
    if isinstance(test, str) and test.strip() and _NO_TEST not in test:
        command = next((command for lock, command in _RUNNERS.items() if (folder / lock).exists()), "npm test")
        yield Suggestion(command, "package.json")


def _cargo(folder: Path) -> Iterator[Suggestion]:
    try:
        if tomllib.loads(_text(folder / "Cargo.toml")):
            yield Suggestion("cargo test", "Cargo.toml")
    except tomllib.TOMLDecodeError:
        return


def _go(folder: Path) -> Iterator[Suggestion]:
    if _text(folder / "go.mod"):
        yield Suggestion("go test ./...", "go.mod")


def _make(folder: Path) -> Iterator[Suggestion]:
    name = next((name for name in ("GNUmakefile", "makefile", "Makefile") if (folder / name).is_file()), None)
    if name and _MAKE_TEST.search(_text(folder / name)):
        yield Suggestion("make test", name)


def _text(path: Path) -> str:
    """The text of a small file; empty if there is none."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
