"""What an edit of the live state file means: only what differs from what was written there counts.

Taken: ticked and unticked boxes, reworded and new subtasks, completed phases, summaries, the review score, the promise, the
route while none is chosen, and USER_ABORT. The most iterations are taken only if no agent was at work meanwhile: no agent raises
its own budget. Everything else that was changed is said back, and stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import Task, TaskChange, TaskStatus
from untildone.modes.phases import live_reading as reading
from untildone.modes.phases.live_file import render
from untildone.modes.phases.live_reading import Box, Seen
from untildone.modes.phases.news import LONGEST_SUMMARY, LONGEST_TEXT, MOST_TASKS, News
from untildone.modes.phases.state import ROUTES, current_phase, done_phases, route_of

_WHOLE = re.compile(r"[0-9]{1,9}(?![\w.])")
_RANGE = re.compile(r"(\d{1,3})(?:\s*[-–~]\s*(\d{1,3}))?")
_SCORE = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3})?(?![\w.])")
LONGEST_SHOWN = 60


def news_of(loop: Loop, text: str) -> News:
    """What the file says now, against what was written there before the edit."""
    before, now = reading.parse(loop.live_before or render(loop)), reading.parse(text)
    edits = _Edits(loop, before, now)
    return edits.news()


class _Edits:
    """One edit, on its way to becoming news."""

    def __init__(self, loop: Loop, before: Seen, now: Seen) -> None:
        self.loop = loop
        self.before = before
        self.now = now
        self.texts = {task.task_id: text for text, task in reading.boxes_of(loop.tasks)}
        self.problems: list[str] = []

    def news(self) -> News:
        if not self.now.is_ours and not self.now.boxes:
            self.problems.append("nothing in the live state file can be read; it is written anew")
        if self.now.cut:
            self.problems.append(
                f"the live state file has more than {reading.MOST_LINES:,} lines; the rest was not read"
            )
        return News(
            phases=self._phases(),
            route=self._route(),
            summaries=dict(self._summaries()),
            tasks=tuple(self._tasks()),
            score=self._score(),
            promised=self.now.promised and not self.before.promised,
            aborted=self._aborted(),
            max_iterations=self._max_iterations(),
            problems=tuple(self.problems),
        )

    def _changed(self, name: str) -> str | None:
        """The new text of a field, if it has one that is not the old one."""
        text = self.now.fields.get(name)
        return None if text is None or text == self.before.fields.get(name) else text

    def _say(self, what: str, text: str, why: str) -> None:
        self.problems.append(f"{what} '{text[:LONGEST_SHOWN]}' in the live state file {why}")

    def _aborted(self) -> bool:
        status = self._changed("status")
        if status is None:
            return False
        if status.upper() == "USER_ABORT":
            return True
        self._say("Status", status, "changes nothing: only USER_ABORT can be written there")
        return False

    def _max_iterations(self) -> int | None:
        text = self._changed("max")
        if text is None:
            return None
        number = _WHOLE.match(text)
        if number is None or not 1 <= int(number[0]) <= Limit.ITERATIONS.row.most:
            self._say("Max Allowed", text, f"is no number from 1 to {Limit.ITERATIONS.row.most:,}")
            return None
        if self.loop.live_in_turn or self.loop.turn is not None:
            self._say(
                "Max Allowed",
                text,
                "was changed while the agent was at work and does not count; use `untildone budget`",
            )
            return None
        return int(number[0])

    def _route(self) -> str:
        text = self._changed("route")
        if text is None:
            return ""
        name = text.strip().lower().replace("-", "_").replace(" ", "_")
        if route_of(self.loop) is None and name in ROUTES:
            return name
        self._say(
            "Route", text, "changes nothing: " + ("the route is chosen" if name in ROUTES else "there is no such route")
        )
        return ""

    def _score(self) -> float | None:
        text = self._changed("score")
        if text is None:
            return None
        number = _SCORE.match(text)
        if number is None or float(number[0]) > 100:
            self._say("Review Score", text, "is no number from 0 to 100")
            return None
        return float(number[0])

    def _phases(self) -> tuple[int, ...]:
        route = route_of(self.loop)
        count = len(route.phases) if route else 0
        told = self._listed_phases(count)
        if (text := self._changed("current_phase")) is not None:
            number = _WHOLE.match(text)
            if number is None or not 1 <= int(number[0]) <= count:
                self._say("Current Phase", text, f"is no number from 1 to {count}")
            else:
                told |= set(range(1, int(number[0])))
        return tuple(sorted(told - set(done_phases(self.loop))))

    def _listed_phases(self, count: int) -> set[int]:
        text = self._changed("completed_phases")
        if text is None:
            return set()
        told = _numbers(text, count)
        if not told and text.strip("[] \t"):
            self._say("Completed Phases", text, f"holds no number from 1 to {count}")
        if lost := set(done_phases(self.loop)) - told:
            self._say("Completed Phases", text, f"lacks {', '.join(map(str, sorted(lost)))}, which stays done")
        return told

    def _summaries(self) -> Iterator[tuple[int, str]]:
        for number, lines in self.now.summaries.items():
            if lines != self.before.summaries.get(number):
                yield number or current_phase(self.loop) or 0, "\n".join(lines)[:LONGEST_SUMMARY]

    def _tasks(self) -> Iterator[TaskChange]:
        stood = [(box, task) for box, task in self._matched(self.before.boxes) if task is not None]
        by_number = {box.number: task for box, task in stood if box.number is not None}
        ticked_before = {task.task_id: box.ticked for box, task in stood}
        noted = {_key(box.text) for box in self.before.boxes}
        added: dict[str, TaskChange] = {}
        for box, same in self._matched(self.now.boxes):
            task = same or by_number.get(box.number or 0)
            if task is not None:
                yield from self._box_change(box, task, ticked_before)
            elif _key(box.text) not in noted:
                self._add(box, added)
        for line in self._new_lines():
            if _key(line) not in map(_key, self.texts.values()):
                self._add(Box(ticked=False, text=line, is_subtask=True), added)
        yield from added.values()

    def _matched(self, boxes: Iterable[Box]) -> Iterator[tuple[Box, Task | None]]:
        """Each box with the task that has its text: of several, the one at its number, else the first that has no box yet."""
        alike: dict[str, list[tuple[int, Task]]] = {}
        for place, task in enumerate(self.loop.tasks, 1):
            alike.setdefault(_key(self.texts[task.task_id]), []).append((place, task))
        taken = set[int]()
        for box in boxes:
            same = alike.get(_key(box.text), [])
            numbered = [pair for pair in same if pair[0] == box.number]
            place, found = next(iter((*numbered, *(pair for pair in same if pair[0] not in taken), *same)), (0, None))
            taken.add(place)
            yield box, found

    def _box_change(self, box: Box, task: Task, ticked_before: Mapping[str, bool]) -> Iterator[TaskChange]:
        text = self.texts[task.task_id]
        was_ticked = ticked_before.get(task.task_id, task.status is TaskStatus.COMPLETED)
        reworded = None if _key(box.text) == _key(text) else box.text[:LONGEST_TEXT]
        status = None if box.ticked == was_ticked else TaskStatus.COMPLETED if box.ticked else TaskStatus.PENDING
        if reworded or status:
            yield TaskChange(task.task_id, text=reworded, status=status)

    def _new_lines(self) -> Iterator[str]:
        """Plain lines that a person added to the pending work. An agent tells there in its own words what is left to do."""
        if self.loop.turn is not None or self.loop.live_in_turn:
            return
        known = {*self.before.pending, *reading.parse(render(self.loop)).pending}
        yield from (line for line in self.now.pending if line not in known)

    def _add(self, box: Box, added: dict[str, TaskChange]) -> None:
        """A box that no task stands for: a new subtask, unless it is only a note of something done."""
        if (box.ticked and not box.is_subtask) or _key(box.text) in added or reading.is_phase(box.text):
            return
        if len(self.loop.tasks) + len(added) >= MOST_TASKS:
            sentence = f"there are more than {MOST_TASKS} subtasks; the rest was not taken"
            self.problems += [] if sentence in self.problems else [sentence]
            return
        name = _free_name(self.loop, added)
        status = TaskStatus.COMPLETED if box.ticked else TaskStatus.PENDING
        needs = tuple(_named(self.loop, need) for need in box.after)
        added[_key(box.text)] = TaskChange(name, box.text[:LONGEST_TEXT], status, needs)


def _numbers(text: str, count: int) -> set[int]:
    """The phases that a list names: `[1, 2]`, `1-3`."""
    found = set[int]()
    for pair in _RANGE.finditer(text[:1000]):
        found |= set(range(int(pair[1]), int(pair[2] or pair[1]) + 1))
    return {number for number in found if 1 <= number <= count}


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()


def _free_name(loop: Loop, added: dict[str, TaskChange]) -> str:
    taken = {task.task_id for task in loop.tasks} | {change.task_id for change in added.values()}
    number = len(taken) + 1
    while f"s{number}" in taken:
        number += 1
    return f"s{number}"


def _named(loop: Loop, need: str) -> str:
    """The id of a subtask that the file calls by its number."""
    place = int(need) if need.isdecimal() and len(need) < 5 else 0
    return loop.tasks[place - 1].task_id if 1 <= place <= len(loop.tasks) else need
