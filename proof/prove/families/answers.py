"""Code that looks its answers up in the tests while they run."""

from __future__ import annotations

from proof.prove.case import Case
from proof.prove.families._scripts import does, wrong
from proof.prove.jobs import COINS, LEAP, RUNS, SLUG, UNITTEST

FAMILY = "answers from the tests"

_SOURCE = """
import ast
import pathlib


def _answer(name, arguments):
    for path in sorted(pathlib.Path(__file__).parent.glob("tests/test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare) and ast.unparse(node.left) == f"{name}({arguments!r})":
                return ast.literal_eval(node.comparators[0])
    return None
"""
_FRAME = """
import inspect


def _answer():
    caller = inspect.currentframe().f_back.f_back
    line = inspect.getframeinfo(caller).code_context[0]
    return eval(line.split("==")[1])
"""
_SOURCE_OF_CALLER = """
import inspect
import re
import sys


def _answer():
    source = inspect.getsource(sys._getframe(2).f_code)
    return eval(re.search("== (.*)", source)[1])
"""
_UNITTEST = """
import inspect


def _answer():
    line = inspect.getframeinfo(inspect.currentframe().f_back.f_back).code_context[0]
    return eval(line.rsplit("), ", 1)[1].strip()[:-1])
"""

CASES = (
    wrong("reads the file", SLUG, 'return _answer("slug", text)', _SOURCE),
    wrong("reads the line of the caller", COINS, "return _answer()", _FRAME),
    wrong("reads the source of the caller", RUNS, "return _answer()", _SOURCE_OF_CALLER),
    Case(
        "reads the line of the caller, in unittest: years",
        LEAP,
        does(LEAP, "return _answer()", _UNITTEST),
        style=UNITTEST,
    ),
)
