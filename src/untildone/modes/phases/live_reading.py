"""Reading a live state file in whatever shape people and agents leave it: what can be read counts, nothing is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from untildone.core.claims import has_promise
from untildone.core.model import Task
from untildone.modes.phases.live_file import PROMISE, task_line

LONGEST_LINE = 2_000
MOST_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Box:
    """A line with a box: `- [x] Subtask 2: Sign in (after 1)`."""

    ticked: bool
    text: str
    number: int | None = None
    after: tuple[str, ...] = ()
    is_subtask: bool = False
    """The line calls itself a subtask, or stands under pending work."""


@dataclass(slots=True)
class Seen:
    """What can be read of a live state file; nothing of it has been believed yet."""

    fields: dict[str, str] = field(default_factory=dict)
    boxes: list[Box] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    """Plain lines under pending work."""
    summaries: dict[int, list[str]] = field(default_factory=dict)
    """What stands under completed work, by phase; 0: under no phase."""
    promised: bool = False
    cut: bool = False
    is_ours: bool = False
    """At least one section or field was recognised."""


_SECTIONS = {
    "meta": ("meta", "元信息", "元数据"),
    "iteration": ("iteration", "迭代"),
    "progress": ("progress", "进度"),
    "pending": ("pending work", "pending", "待完成工作", "待办工作", "剩余工作", "未完成工作"),
    "completed": ("completed work", "completed", "已完成工作", "完成工作"),
    "promise": ("promise", "承诺", "完成承诺"),
    "summary": ("completion summary", "完成摘要", "完成总结"),
}
_FIELDS = {
    "route": ("route", "路由"),
    "max": ("max allowed", "max iterations", "最大允许", "最大迭代", "最大迭代次数"),
    "status": ("status", "状态"),
    "current_phase": ("current phase", "当前阶段"),
    "completed_phases": ("completed phases", "已完成阶段"),
    "score": ("review score", "审查评分", "评分", "审查得分"),
}
_SECTION = {word: name for name, words in _SECTIONS.items() for word in words}
_FIELD = {word: name for name, words in _FIELDS.items() for word in words}
_NOTHING = ("(none)", "none", "（无）", "(无)", "无", "n/a", "-")

_HEADING = re.compile(r"(#{1,6})\s*(.*)")
_ENTRY = re.compile(r"[-*+]?\s*([^:：]{1,40})[:：](.*)")
_BOX = re.compile(r"[-*+]\s*\[([ xX✓✔])\]\s*(\S.*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,4}[.)、])\s*(\S.*)")
_SUBTASK = re.compile(
    r"(?:sub-?\s?task|subtask|子任务|[^\W\d_]{1,20})\s{0,3}(\d{1,4})\s{0,3}[:：]\s*(\S.*)", re.IGNORECASE
)
_AFTER = re.compile(r"\(after ([^()]{1,200})\)$", re.IGNORECASE)
_PHASE = re.compile(r"(?:phase|阶段|第)\s*\d", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,3}")


def parse(text: str) -> Seen:
    seen, section, phase = Seen(), "", 0
    visible = _without_comments(text.replace("\r\n", "\n").replace("\r", "\n"))
    for line in _lines(visible, seen):
        heading = _HEADING.fullmatch(line)
        if heading and len(heading[1]) <= 2:
            section, phase = _SECTION.get(_word(heading[2]), ""), 0
            seen.is_ours = seen.is_ours or bool(section)
        elif heading:
            phase = int(number[0]) if (number := _NUMBER.search(heading[2])) else 0
        else:
            _take_line(seen, section, phase, line)
    seen.promised = PROMISE in visible and has_promise(visible, PROMISE)
    return seen


def _without_comments(text: str) -> str:
    """A comment that never ends hides everything after it."""
    kept, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        kept.append(text[position:start])
        end = text.find("-->", start)
        position = len(text) if end < 0 else end + 3
    return "".join((*kept, text[position:]))


def _lines(text: str, seen: Seen) -> Iterator[str]:
    position = 0
    for _ in range(MOST_LINES):
        if position >= len(text):
            return
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line = text[position : min(end, position + LONGEST_LINE)].strip()
        position = end + 1
        if line:
            yield line
    seen.cut = True


def _word(text: str) -> str:
    return text.strip(" \t*:：#_`").lower()


def _take_line(seen: Seen, section: str, phase: int, line: str) -> None:
    if box := _BOX.fullmatch(line):
        seen.boxes.append(_box(box, section))
    elif section == "completed":
        if line.lower() not in _NOTHING:
            seen.summaries.setdefault(phase, []).append(line)
    elif section == "pending":
        item = _ITEM.fullmatch(line)
        if item and line.lower() not in _NOTHING and item[1].lower() not in _NOTHING:
            seen.pending.append(item[1])
    elif (entry := _ENTRY.fullmatch(line)) and _word(entry[1]) in _FIELD:
        seen.fields[_FIELD[_word(entry[1])]] = entry[2].strip(" \t*`")
        seen.is_ours = True


def _box(found: re.Match[str], section: str) -> Box:
    ticked, text = found[1] != " ", found[2].removesuffix("(failed)").rstrip()
    after: tuple[str, ...] = ()
    if needs := _AFTER.search(text):
        after = tuple(name.strip() for name in needs[1].split(",") if name.strip())
        text = text[: needs.start()].rstrip()
    numbered = _SUBTASK.fullmatch(text)
    if numbered and not is_phase(text):
        return Box(ticked, numbered[2], int(numbered[1]), after, is_subtask=True)
    return Box(ticked, text, None, after, is_subtask=section == "pending" and not is_phase(text))


def is_phase(text: str) -> bool:
    """Whether a line speaks of a phase of the route, not of a subtask."""
    return _PHASE.match(text) is not None


def boxes_of(tasks: tuple[Task, ...]) -> Iterator[tuple[str, Task]]:
    """The text that each task's box has when it is read back."""
    for place, task in enumerate(tasks, 1):
        found = _BOX.fullmatch(task_line(place, task, tasks))
        yield _box(found, "completed").text if found else "", task
