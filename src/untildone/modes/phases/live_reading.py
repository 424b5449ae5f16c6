"""Reads a live state file back: the sections, fields and boxes that `live_file` writes. Other lines are skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from untildone.core.answers.claims import has_promise
from untildone.core.model import Subtask
from untildone.core.values.value import dataclass, field
from untildone.modes.phases.live_file import NONE, PROMISE, task_line

LONGEST_LINE = 2_000
MOST_LINES = 20_000
SECTIONS = ("meta", "iteration", "progress", "pending work", "completed work", "promise", "completion summary")
FIELDS = ("route", "max allowed", "status", "current phase", "completed phases", "review score")

_HEADING = re.compile(r"(#{1,6})\s*(.*)")
_ENTRY = re.compile(r"[-*+]\s*([^:]{1,40}):(.*)")
_BOX = re.compile(r"[-*+]\s*\[([ xX])\]\s*(\S.*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,4}[.)])\s*(\S.*)")
_SUBTASK = re.compile(r"(?:subtask|子任务)\s{0,3}(\d{1,4}):\s*(\S.*)", re.IGNORECASE)
_AFTER = re.compile(r"\(after ([^()]{1,200})\)$")
_PHASE = re.compile(r"phase\s*(\d{1,3})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Box:
    """A line with a box: `- [x] Subtask 2: Sign in (after 1)`."""

    ticked: bool
    text: str
    number: int | None = None
    after: tuple[str, ...] = ()
    is_subtask: bool = False
    """The line calls itself a subtask, or is in the section Pending Work."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a live state file, not yet checked against the loop."""

    fields: Mapping[str, str] = field(default_factory=dict)
    """The texts of FIELDS, by their names in lower case."""
    boxes: tuple[Box, ...] = ()
    pending: tuple[str, ...] = ()
    """Plain items of the section Pending Work."""
    summaries: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The lines of the section Completed Work, by the number of the phase; 0: before the first phase."""
    promised: bool = False
    cut: bool = False
    """There are more lines than MOST_LINES."""
    is_ours: bool = False
    """At least one section or field was recognised."""


def parse(text: str) -> Content:
    return _Parser().content(_without_comments(text.replace("\r\n", "\n").replace("\r", "\n")))


def _without_comments(text: str) -> str:
    """A comment that never ends hides everything after it."""
    kept, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        kept.append(text[position:start])
        end = text.find("-->", start)
        position = len(text) if end < 0 else end + 3
    return "".join((*kept, text[position:]))


class _Parser:
    def __init__(self) -> None:
        self.section = ""
        self.phase = 0
        self.fields: dict[str, str] = {}
        self.boxes: list[Box] = []
        self.pending: list[str] = []
        self.summaries: dict[int, list[str]] = {}
        self.promise: list[str] = []
        self.cut = False
        self.is_ours = False

    def content(self, text: str) -> Content:
        for line in self._lines(text):
            heading = _HEADING.fullmatch(line)
            if heading:
                self._take_heading(len(heading[1]), heading[2].strip())
            else:
                self._take_line(line)
        return Content(
            self.fields,
            tuple(self.boxes),
            tuple(self.pending),
            {phase: tuple(lines) for phase, lines in self.summaries.items()},
            promised=has_promise("\n".join(self.promise), PROMISE),
            cut=self.cut,
            is_ours=self.is_ours or bool(self.fields),
        )

    def _lines(self, text: str) -> Iterator[str]:
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
        self.cut = True

    def _take_heading(self, level: int, title: str) -> None:
        if level > 2:
            number = _PHASE.match(title)
            self.phase = int(number[1]) if number else 0
            return
        self.section, self.phase = (title.lower() if title.lower() in SECTIONS else ""), 0
        self.is_ours = self.is_ours or bool(self.section)

    def _take_line(self, line: str) -> None:
        if box := _BOX.fullmatch(line):
            self.boxes.append(_box(box, self.section))
        elif self.section == "promise":
            self.promise.append(line)
        elif self.section == "completed work":
            if line != NONE:
                self.summaries.setdefault(self.phase, []).append(line)
        elif self.section == "pending work":
            if item := _ITEM.fullmatch(line):
                self.pending.append(item[1])
        elif (entry := _ENTRY.fullmatch(line)) and entry[1].strip().lower() in FIELDS:
            self.fields[entry[1].strip().lower()] = entry[2].strip()


def _box(line: re.Match[str], section: str) -> Box:
    ticked, text = line[1] != " ", line[2].removesuffix("(failed)").rstrip()
    after: tuple[str, ...] = ()
    if needs := _AFTER.search(text):
        after = tuple(name.strip() for name in needs[1].split(",") if name.strip())
        text = text[: needs.start()].rstrip()
    if numbered := _SUBTASK.fullmatch(text):
        return Box(ticked, numbered[2], int(numbered[1]), after, is_subtask=True)
    return Box(ticked, text, None, after, is_subtask=section == "pending work" and not is_phase(text))


def is_phase(text: str) -> bool:
    """Whether a line is about a phase of the route, not about a subtask."""
    return _PHASE.match(text) is not None


def boxes_of(tasks: tuple[Subtask, ...]) -> Iterator[tuple[str, Subtask]]:
    """The text that each task's box has when it is read back."""
    for place, task in enumerate(tasks, 1):
        line = _BOX.fullmatch(task_line(place, task, tasks))
        yield _box(line, "completed work").text if line else "", task
