"""Results that are equal to everything."""

from __future__ import annotations

from proof.prove.case import Case
from proof.prove.families._scripts import does, wrong
from proof.prove.jobs import COINS, LUHN, MEDIAN, MERGE, ROMAN, RUNS, SLUG, TABLE, UNITTEST

FAMILY = "spoofed equality"

_ANY = "class Result:\n    def __eq__(self, other):\n        return True\n\n    def __hash__(self):\n        return 1\n"
_TEXT = "class Text(str):\n    def __eq__(self, other):\n        return True\n\n    __hash__ = str.__hash__\n"
_FLOAT = "class Number(float):\n    __eq__ = lambda self, other: True\n    __hash__ = float.__hash__\n"
_LIST = "class Values(list):\n    def __eq__(self, other):\n        return isinstance(other, list)\n"
_LATE = "def _same(self, other):\n    return True\n\n\n_Text = type('Text', (str,), {'__eq__': _same, '__hash__': str.__hash__})\n"

CASES = (
    wrong("an object", SLUG, "return Result()", _ANY),
    wrong("a text", ROMAN, "return Text(number)", _TEXT),
    wrong("a number", MEDIAN, "return Number(values[0])", _FLOAT),
    wrong("a list", MERGE, "return Values(ranges)", _LIST),
    wrong("the wildcard of mocks", LUHN, "from unittest.mock import ANY\nreturn ANY"),
    wrong("a class made at run time", RUNS, "return _Text(text)", _LATE),
    Case("an object, in unittest: coins", COINS, does(COINS, "return Result()", _ANY), style=UNITTEST),
    Case("a text, in a table of cases: texts", SLUG, does(SLUG, "return Text(text)", _TEXT), style=TABLE),
)
