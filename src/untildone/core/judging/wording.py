"""Sentences about judge files, for people and for the agent."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from untildone.core.judging.survey import JudgeFile
from untildone.core.values.printable import printable

MOST_NAMED = 8


def described(file: JudgeFile) -> str:
    """One line about a judge file: `tests/test_calc.py (edited; its name is that of a test)`."""
    return f"{printable(file.path)} ({file.change.value}; {file.why})"


def names(paths: Iterable[str]) -> str:
    """The paths in one line, bounded."""
    listed = list(map(printable, paths))
    more = f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
    return ", ".join(listed[:MOST_NAMED]) + more


def for_agent(paths: Iterable[str]) -> str:
    """What the agent is told about judge files that it changed."""
    return (
        f"You changed files that decide what the check means: {names(paths)}. The check counts with these files as they were when the "
        "task began. Make the work pass with the original files; put them back unless the task asks for the change. New tests belong "
        "in new files. If the task cannot be done without changing them, say so and name the files."
    )


def for_person(paths: Iterable[str], loop_id: str = "LOOP") -> str:
    """What a person can do about refused changes."""
    listed = list(paths)
    return (
        f"To accept the change: untildone approve {loop_id} {shlex.join(listed[:MOST_NAMED])}. If the task is to change tests, start the "
        "loop with --tests free."
    )


_CHANGES = (
    r"updat\w+|chang\w+|rewrit\w+|adapt\w*|adjust\w*|renam\w+|refactor\w*|remov\w+|delet\w+|migrat\w+|convert\w*|replac\w+|edit\w*|modif\w+"
    r"|regenerat\w+|reorgani[sz]\w+|simplif\w+|port|mov(?:e|es|ed|ing)|clean(?:ing)? up|split\w*|merg(?:e|es|ed|ing)|moderni[sz]\w+"
)
_TESTS = r"(?:tests?|test (?:suite|file|case|data)s?|specs?|fixtures?|snapshots?|conftest|golden files?|expected (?:output|value)s?)"
_BETWEEN = r"(?:[^\w.!?;:\n]+(?!(?:so|that|until|while|to|for|because|when|if|make|and|but|with|by)\b)[\w'-]+){0,4}?[^\w.!?;:\n]+"
_ENGLISH = re.compile(rf"\b(?:{_CHANGES})\b{_BETWEEN}{_TESTS}\b", re.IGNORECASE)
_CHINESE = re.compile(
    r"(?:更新|修改|重写|改写|调整|重命名|重构|删除|移除|迁移|替换|整理|修正)[^。！？\n]{0,12}?(?:测试|用例|快照|夹具|fixture)"
)
_DENIES = re.compile(
    r"(?:\b(?:not|never|without|no|avoid|don.?t|cannot|can.?t|leave)\b[^.!?\n]{0,30}"
    r"|(?:不要|请勿|不得|禁止|不能|不可|勿|别|无需|不)[^。！？\n]{0,6})\Z",
    re.IGNORECASE,
)


def asks_to_change_tests(task: str) -> bool:
    """Whether the words of the task suggest that existing tests are to change: "rename the fixtures"."""
    found = [match for pattern in (_ENGLISH, _CHINESE) for match in pattern.finditer(task)]
    return any(not _DENIES.search(task[: match.start()]) for match in found)


HINT_FREE = "The task speaks of changing tests: with --tests free the agent may, and the receipt lists what it changed."
