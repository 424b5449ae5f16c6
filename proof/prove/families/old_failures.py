"""Projects in which tests failed before, which are not the agent's job: `--ignore-failing`."""

from __future__ import annotations

from dataclasses import replace

from proof.prove.case import Case
from proof.prove.families._scripts import does
from proof.prove.jobs import CLAMP_JS, COINS, LEAP, MEDIAN, MERGE, NODE, ROMAN, RUNS, SLUG, UNITTEST, Job, Style

FAMILY = "old failures"

_PYTEST = "def test_old():\n    assert 1 == 2\n\n\ndef test_older():\n    raise OSError\n\n\ndef test_fine():\n    assert True\n"
_UNITTEST = (
    "import unittest\n\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.assertEqual(1, 2)\n\n"
    "    def test_fine(self):\n        self.assertEqual(1, 1)\n"
)
_FLAGS = ("--ignore-failing",)

_NAMED = """\
import pytest
from years import is_leap

import settings


@pytest.mark.parametrize("kind", ["old", "new"], ids=["case - old", "case - new"])
def test_kind(kind):
    assert settings.VALUE == 2 if kind == "old" else is_leap(1900) is False
"""
_NAMED_JS = """\
'use strict';
const test = require('node:test');
const assert = require('node:assert');
test('example 2', () => assert.strictEqual(require('../settings.js').value, 2));
"""


def _old(
    name: str, job: Job, agent: str, test: str = _PYTEST, style: Style | None = None, *, is_right: bool = False
) -> Case:
    files = {"tests/test_old.py": test}
    return Case(f"{name}: {job.module}", job, agent, is_right=is_right, style=style, files=files, flags=_FLAGS)


def _fixed(job: Job, test: str = _PYTEST, style: Style | None = None) -> Case:
    return _old("a fix", job, "solve()\n", test, style, is_right=True)


CASES = (
    *map(_fixed, (SLUG, MEDIAN, ROMAN, RUNS)),
    *(_fixed(job, _UNITTEST, UNITTEST) for job in (MERGE, COINS)),
    _old("a fix and more", LEAP, "solve()\nwrite('extra.py', 'x = 1\\n')\n", is_right=True),
    _old("nothing is done", SLUG, "write('README.md', 'Done.\\n')\n"),
    _old(
        "something else breaks",
        MEDIAN,
        does(MEDIAN, MEDIAN.broken) + "replace('numbers_.py', 'return sum(values)', 'return 0')\n",
    ),
    _old("another thing is done", ROMAN, "append('roman.py', '\\n\\ndef more():\\n    return 1\\n')\n"),
    Case(
        "another test of the same beginning breaks: years",
        LEAP,
        does(LEAP, "return year % 4 == 0") + "write('settings.py', 'VALUE = 2\\n')\n",
        files={"tests/test_old.py": _NAMED, "settings.py": "VALUE = 1\n"},
        flags=_FLAGS,
    ),
    Case(
        "a test of the same name in another file breaks: clamp",
        CLAMP_JS,
        does(CLAMP_JS, "return high;") + "write('settings.js', 'module.exports = { value: 2 };\\n')\n",
        style=replace(NODE, check="node --test"),
        files={"test/old.test.js": _NAMED_JS, "settings.js": "module.exports = { value: 1 };\n"},
        flags=_FLAGS,
    ),
)
