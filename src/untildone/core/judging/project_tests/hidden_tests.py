"""Whether the code under test may decide which of its tests run: then their number is compared with the start of the loop.

A test that is skipped if a constant of the product says so, or by an exception of the product, that runs once for each entry of a table of
the product, or whose class has a base in the product, can be made to vanish by honest-looking changes of the product alone. This module
only says whether that may be so; a run of the check on the tree of the start says whether it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from untildone.core.judging.checks.commands import runs_of
from untildone.core.judging.kinds.classify import is_test_source, language_of
from untildone.core.judging.project_tests.counting import Written, written_for
from untildone.core.judging.tables import Language
from untildone.core.judging.trees import Tree, resolved
from untildone.core.plugins.gate import RunnerReport

MOST_FILES = 400
"""Test files that are read."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+([^\n#]+))", re.MULTILINE
)
_DECIDES = re.compile(
    r"(?:skipif|skipIf|skipUnless|importorskip|parametrize|pytest_generate_tests|SkipTest|skipTest|__test__)\b"
    r"|^class[ \t]+\w+(?=\()|^if\b",
    re.MULTILINE,
)
_IMPORT_JS = re.compile(
    r"^[ \t]*(?:import|const|let|var)[ \t]+([^;=]+?)[ \t]*(?:from|=[ \t]*(?:await[ \t]+import|require)[ \t]*\()[ \t]*"
    r"['\"]((?:\.|@/|~/|src/)[^'\"]*)['\"]",
    re.MULTILINE,
)
_DECIDES_JS = re.compile(
    r"^(?=.*(?:\.(?:each|skipIf|runIf|forEach|map)\b|\?\s*(?:it|test|describe)\b)|[ \t]{0,4}(?:if|for)\b)", re.MULTILINE
)
_HELPER_JS = re.compile(r"test|spec|mock|fixture|helper", re.IGNORECASE)
LONGEST = 4000
"""Characters of one expression that are looked at."""


def may_hide(start: Tree, command: str, report: RunnerReport, folder: str = "") -> bool:
    """Whether tests of the start may not have run although nothing says so."""
    runs = runs_of(command, folder)
    return any(_may_hide(start, command, report, each, folder) for each in written_for(report.runners, runs))


def _may_hide(start: Tree, command: str, report: RunnerReport, how: Written, folder: str) -> bool:
    paths = list(_test_files(start, command, how, folder))
    start.fetch(paths)
    texts = [start.text(path) for path in paths]
    reported = report.run + report.skipped + report.xfailed
    written = 0 if how.selects.search(command) else sum(len(how.test.findall(text)) for text in texts)
    skipped = bool(report.skipped or report.xfailed) and any(map(how.skips.search, texts))
    return written > reported or skipped or any(_asks_product(text, how.language, start.files) for text in texts)


def _test_files(start: Tree, command: str, how: Written, folder: str) -> Iterable[str]:
    """The files of the start with tests that a command runs, as far as it names them."""
    found = [
        path
        for path in start.files
        if language_of(path) is how.language and (how.among_product or is_test_source(path))
    ]
    words = [word.partition("::")[0] for run in runs_of(command, folder) for word in run.operands]
    named = [place for word in words if (place := resolved(word, folder)) and _is_there(place, found)]
    chosen = [path for path in found if not named or any(_is_below(path, place) for place in named)]
    return chosen[:MOST_FILES]


def _is_there(place: str, paths: Iterable[str]) -> bool:
    return any(_is_below(path, place) for path in paths)


def _is_below(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def _asks_product(text: str, language: Language, files: Collection[str]) -> bool:
    """Whether an expression that decides which tests run has a name of the product."""
    match language:
        case Language.PYTHON:
            names, decides = _product_names(text, files), _DECIDES
        case Language.JAVASCRIPT:
            names, decides = _product_names_js(text), _DECIDES_JS
        case _:
            return False
    found = (_expression(text, match.end()) for match in decides.finditer(text)) if names else ()
    return any(names.intersection(re.findall(r"\w+", expression)) for expression in found)


def _product_names_js(text: str) -> set[str]:
    """The names that a test file in JavaScript imports from files of the workspace which are no tests."""
    found = (imported for imported, path in _IMPORT_JS.findall(text) if not _HELPER_JS.search(path))
    return {name for imported in found for name in re.findall(r"[\w$]+", imported)} - {"as", "default", "type"}


def _expression(text: str, begin: int) -> str:
    """The rest of a line, with the lines after it up to the end of its parentheses."""
    depth = 0
    for at, character in enumerate(text[begin : begin + LONGEST], begin):
        depth += (character in "([{") - (character in ")]}")
        if depth < 0 or (character == "\n" and depth == 0):
            return text[begin:at]
    return text[begin : begin + LONGEST]


def _product_names(text: str, files: Collection[str]) -> set[str]:
    """The names that a test file imports from modules of the workspace which are no tests."""
    names: set[str] = set()
    for module, imported, modules in _IMPORT.findall(text):
        if module and _is_product(module, files):
            names.update(re.findall(r"\w+", re.sub(r"\w+\s+as\s+", "", imported)))
        for each in modules.split(",") if modules else ():
            name, _, alias = each.strip().partition(" as ")
            if _is_product(name, files):
                names.add((alias or name.partition(".")[0]).strip())
    return names


def _is_product(module: str, files: Collection[str]) -> bool:
    top = module.lstrip(".").partition(".")[0]
    if not top or module.startswith(".") or top in ("tests", "test", "conftest"):
        return False
    return f"{top}.py" in files or any(path.startswith((f"{top}/", f"src/{top}/", f"src/{top}.py")) for path in files)
