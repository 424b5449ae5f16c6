"""Dependency files that lead elsewhere: a library of tests that comes from a folder or an address now, a program of a test tool's name that
the project installs itself, and code in a file that only lists packages. Text alone decides: what a line says in a document is compared
with the lines of the start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set

from untildone.core.judging.tables import CHECKERS

Signs = Callable[[str], Set[str]]
_LIBRARY = (
    r"(?:pytest[\w.-]*|_?pytest|pluggy|iniconfig|unittest2?|nose2?|hypothesis|coverage|tox|nox|behave|robotframework|testfixtures"
    r"|(?:rspec|minitest|test-unit|cucumber|capybara|simplecov|shoulda|mocha)[\w-]*|[\w-]*assert[\w-]*|expecttest|mock)"
)
_ELSEWHERE = r"(?:path|url|git|file|directory|editable|workspace)"
_PYTHON = re.compile(
    rf"""^[ \t]*["']?{_LIBRARY}["']?\s*=\s*\[?\s*\{{[^}}\n]*\b{_ELSEWHERE}\s*=[^\n]*"""
    rf"""|["']{_LIBRARY}(?:\[[^\]]*\])?\s*@[^"'\n]*["']|^{_LIBRARY}(?:\[[^\]\n]*\])?\s*@[^\n]*"""
    rf"""|^[ \t]*["']?{_LIBRARY}["']?\.{_ELSEWHERE}\s*=[^\n]*"""
    rf"""|^\[tool\.[\w.-]*(?:sources|dependencies)\.["']?{_LIBRARY}["']?\]\s*\n(?:[^\[\n][^\n]*\n)*?\s*{_ELSEWHERE}\s*=[^\n]*""",
    re.MULTILINE | re.IGNORECASE,
)
_LOCKED = re.compile(
    rf"""name\s*=\s*["']{_LIBRARY}["'](?:(?!\n\[\[)[\s\S])*?\nsource\s*=\s*\{{[^}}\n]*\b(?:path|directory|editable|url|git|virtual)\s*=[^\n]*"""
    rf"""|name\s*=\s*["']{_LIBRARY}["'](?:(?!\n\[\[)[\s\S])*?\n\[package\.source\]\n(?:[^\[\n][^\n]*\n)*?type\s*=\s*["'](?:directory|file|url|git)["']"""
)
_PROGRAM = re.compile(
    rf"""^[ \t]*["']?({"|".join(map(re.escape, sorted(CHECKERS)))})["']?\s*=\s*["']?[\w.]+:\w[^\n]*""", re.MULTILINE
)
_GEM = re.compile(rf"""^[ \t]*gem[ \t(]+['"]{_LIBRARY}['"][^\n]*\b(?:path|git|github)\b[^\n]*$""", re.MULTILINE)
_RUBY_CODE = re.compile(
    r"^(?![ \t]*#)[^\n]*(?:\b(?:exit|exit!|abort|puts|print|system|exec|spawn|at_exit|eval|fork|load|ObjectSpace|TracePoint|Kernel)\b"
    r"|\$std(?:out|err)|%x|`|\brequire(?:_relative)?[ \t(]+['\"]|\bdefine_method\b|\b(?:class|module|def)[ \t]+\w)[^\n]*$",
    re.MULTILINE,
)


def of_python(text: str) -> frozenset[str]:
    """`pyproject.toml`, `setup.cfg`, lists of requirements."""
    return frozenset(found[0].strip() for pattern in (_PYTHON, _PROGRAM) for found in pattern.finditer(text))


def of_locks(text: str) -> frozenset[str]:
    return frozenset(found[0] for found in _LOCKED.finditer(text))


def of_gemfiles(text: str) -> frozenset[str]:
    """`Gemfile` and gemspecs are programs that run before the tests."""
    return frozenset(found[0].strip() for pattern in (_GEM, _RUBY_CODE) for found in pattern.finditer(text))


def leads_elsewhere(signs: Signs, start: str, claimed: str) -> bool:
    return bool(signs(claimed) - signs(start))
