"""Which files look like judges of the work, not like the product, though nothing but a mention leads to them."""

from __future__ import annotations

import re

from untildone.core.judging.checks import mentions, references
from untildone.core.judging.checks.commands import Run, runs_of
from untildone.core.judging.checks.script_texts import (
    COMPARING,
    GIVES_UP,
    JUDGING_CODE,
    LAUNCHES_TESTS,
    STARTS,
    is_for_developers,
    is_shell_script,
    judging_name,
    lines_of,
)
from untildone.core.judging.globs import words
from untildone.core.judging.tables import CHECKERS, RUNNERS
from untildone.core.judging.trees import Tree, parent

DEEPEST = 4
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


class Likeness:
    """Says which files of the start look like judges. Each is read once."""

    def __init__(self, start: Tree) -> None:
        self._start = start
        self._like: dict[tuple[str, bool, bool], bool] = {}

    def is_like_judge(self, path: str, depth: int = 0, *, by_name: bool, decides: bool) -> bool:
        """Whether a file that some text mentions looks like a judge, not like the product: it judges by name, or runs programs that judge.
        `decides`: whether what mentions it leaves the judging to others."""
        key = (path, by_name, decides)
        if key not in self._like:
            self._like[key] = False
            self._like[key] = self._looks_like_judge(path, depth, by_name=by_name, decides=decides)
        return self._like[key]

    def _looks_like_judge(self, path: str, depth: int, *, by_name: bool, decides: bool) -> bool:
        text = self._start.text(path)
        is_shell = is_shell_script(path, text, Run((path,)))
        if path.rpartition("/")[2] in MAKEFILES or path.endswith(".mk"):
            return by_name
        if not (is_shell or references.is_code(path) or text.startswith("#!")):
            return False
        if decides and judging_name(path) and (by_name or is_shell):
            return True
        if not is_shell:
            weak = JUDGING_CODE.search(text) or GIVES_UP.search(text)
            is_own = is_for_developers(path) or text.startswith("#!") or re.search(r"^assert\b", text, re.MULTILINE)
            launches = LAUNCHES_TESTS.search(text) and (by_name or STARTS.search(text))
            return bool(launches or (decides and by_name and weak and is_own) or self.mentions_judge(path, text, depth))
        if programs_in(text) & (CHECKERS if decides else RUNNERS.keys()):
            return True
        return bool(decides and by_name and COMPARING.search(text)) or self.mentions_judge(path, text, depth)

    def mentions_judge(self, path: str, text: str, depth: int = 0) -> bool:
        """Whether a script leaves the judging to another one."""
        is_shell = is_shell_script(path, text, Run((path,)))
        if depth >= DEEPEST:
            return False
        if not is_shell and any(self.launches(file) for file in references.imports(path, text, self._start)):
            return True
        if not (is_shell or STARTS.search(text)):
            return False
        runs = runs_of("\n".join(lines_of(text))) if is_shell else ()
        decides = is_shell and not mentions.judges_itself(text)
        found = mentions.mentioned(text, runs, ("", parent(path)), self._start, all_folders=False)
        return any(
            self.is_like_judge(each.path, depth + 1, by_name=False, decides=decides)
            for each in found
            if each.path != path
        )

    def launches(self, path: str) -> bool:
        """Whether a file starts tests in another program."""
        text = self._start.text(path)
        return LAUNCHES_TESTS.search(text) is not None and STARTS.search(text) is not None


_HEAD = re.compile(
    r"\A(?:(?:function\s+)?[\w:-]+\s*\(\s*\)\s*\{?|\(?[^\s()|;&$`]+(?:\s*\|\s*[^\s()|;&$`]+)*\)(?=\s|\Z))"
)
"""The beginning of a line that is the head of a function, or a label of `case`."""


_PLAIN_RUNNERS = words(
    "pytest py.test unittest nose2 tox nox jest vitest mocha jasmine rspec phpunit ctest gotestsum nextest"
)
"""Test runners whose names are no other words: a program by its path that is given one may run it."""


def programs_in(text: str) -> set[str]:
    """The programs and Python modules that a shell script runs."""
    runs = [run for line in lines_of(text) for run in runs_of(_HEAD.sub("", line))]
    modules = {run.words[2] for run in runs if run.words[1:2] == ("-m",) and len(run.words) > 2}
    given = {word for run in runs if "/" in run.words[0] for word in run.words[1:5]} & _PLAIN_RUNNERS
    return {run.program for run in runs} | modules | given
