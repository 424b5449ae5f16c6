"""Reads an edit of the live state file: only differences from the text that was written there count.

Taken: ticked and unticked boxes, reworded and new subtasks, completed phases, summaries, the review score, the promise, the
route while none is chosen, and USER_ABORT. The most iterations are taken only if no agent was at work meanwhile: no agent raises
its own budget. Every other change is refused with a sentence, and the loop stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import Subtask, SubtaskChange, SubtaskStatus
from untildone.modes.phases import live_reading as reading
from untildone.modes.phases.live_file import render
from untildone.modes.phases.live_reading import Box, Content
from untildone.modes.phases.news import LONGEST_SUMMARY, LONGEST_TEXT, MOST_TASKS, News
from untildone.modes.phases.state import ROUTES, current_phase, done_phases, route_of

_WHOLE = re.compile(r"[0-9]{1,9}(?![\w.])")
_NUMBER = re.compile(r"\d{1,3}")
_SCORE = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3})?(?![\w.])")
LONGEST_SHOWN = 60


def news_of(loop: Loop, text: str) -> News:
    """The changes in an edited file, compared with the text that was written there before the edit."""
    return _Edits(loop, reading.parse(loop.live_before or render(loop)), reading.parse(text)).news()


class _Edits:
    """Compares the content of the file before and after an edit."""

    def __init__(self, loop: Loop, before: Content, now: Content) -> None:
        self.loop = loop
        self.before = before
        self.now = now
        self.boxes = _BoxFinder(loop.tasks, before)
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

    def _refuse(self, what: str, text: str, why: str) -> None:
        self.problems.append(f"{what} '{text[:LONGEST_SHOWN]}' in the live state file {why}")

    def _aborted(self) -> bool:
        status = self._changed("status")
        if status is None:
            return False
        if status.upper() == "USER_ABORT":
            return True
        self._refuse("Status", status, "changes nothing: only USER_ABORT can be written there")
        return False

    def _max_iterations(self) -> int | None:
        text = self._changed("max allowed")
        if text is None:
            return None
        number = _WHOLE.match(text)
        if number is None or not 1 <= int(number[0]) <= Limit.ITERATIONS.row.most:
            self._refuse("Max Allowed", text, f"is not a number from 1 to {Limit.ITERATIONS.row.most:,}")
            return None
        if self.loop.live_in_turn or self.loop.turn is not None:
            self._refuse(
                "Max Allowed",
                text,
                "was changed while the loop ran and does not count; `untildone budget` changes it",
            )
            return None
        return int(number[0])

    def _route(self) -> str:
        text = self._changed("route")
        if text is None:
            return ""
        name = text.lower()
        if route_of(self.loop) is None and name in ROUTES:
            return name
        self._refuse(
            "Route", text, "changes nothing: " + ("the route is chosen" if name in ROUTES else "there is no such route")
        )
        return ""

    def _score(self) -> float | None:
        text = self._changed("review score")
        if text is None:
            return None
        number = _SCORE.match(text)
        if number is None or float(number[0]) > 100:
            self._refuse("Review Score", text, "is not a number from 0 to 100")
            return None
        return float(number[0])

    def _phases(self) -> tuple[int, ...]:
        route = route_of(self.loop)
        count = len(route.phases) if route else 0
        listed = self._listed_phases(count)
        if (text := self._changed("current phase")) is not None:
            number = _WHOLE.match(text)
            if number is None or not 1 <= int(number[0]) <= count:
                self._refuse("Current Phase", text, f"is not a number from 1 to {count}")
            else:
                listed |= set(range(1, int(number[0])))
        return tuple(sorted(listed - set(done_phases(self.loop))))

    def _listed_phases(self, count: int) -> set[int]:
        text = self._changed("completed phases")
        if text is None:
            return set()
        listed = {int(number) for number in _NUMBER.findall(text[:1000]) if 1 <= int(number) <= count}
        if not listed and text.strip("[] "):
            self._refuse("Completed Phases", text, f"does not contain a number from 1 to {count}")
        if lost := set(done_phases(self.loop)) - listed:
            self._refuse("Completed Phases", text, f"lacks {', '.join(map(str, sorted(lost)))}, which stays done")
        return listed

    def _summaries(self) -> Iterator[tuple[int, str]]:
        for number, lines in self.now.summaries.items():
            if lines != self.before.summaries.get(number):
                yield number or current_phase(self.loop) or 0, "\n".join(lines)[:LONGEST_SUMMARY]

    def _tasks(self) -> Iterator[SubtaskChange]:
        ticked_before = {task.task_id: box.ticked for box in self.before.boxes if (task := self.boxes.task(box))}
        noted = {_key(box.text) for box in self.before.boxes}
        added: dict[str, SubtaskChange] = {}
        for box in self.now.boxes:
            task = self.boxes.task(box)
            if task is not None:
                yield from self._box_change(box, task, ticked_before)
            elif _key(box.text) not in noted:
                self._add(box, added)
        for line in self._new_lines():
            if self.boxes.with_text(line) is None:
                self._add(Box(ticked=False, text=line, is_subtask=True), added)
        yield from added.values()

    def _box_change(self, box: Box, task: Subtask, ticked_before: Mapping[str, bool]) -> Iterator[SubtaskChange]:
        was_ticked = ticked_before.get(task.task_id, task.status is SubtaskStatus.COMPLETED)
        reworded = None if _key(box.text) == self.boxes.keys[task.task_id] else box.text[:LONGEST_TEXT]
        status = None if box.ticked == was_ticked else SubtaskStatus.COMPLETED if box.ticked else SubtaskStatus.PENDING
        if reworded or status:
            yield SubtaskChange(task.task_id, text=reworded, status=status)

    def _new_lines(self) -> Iterator[str]:
        """Plain lines that a person added to Pending Work. An agent describes the remaining work there in its own words."""
        if self.loop.turn is not None or self.loop.live_in_turn:
            return
        known = {*self.before.pending, *reading.parse(render(self.loop)).pending}
        yield from (line for line in self.now.pending if line not in known)

    def _add(self, box: Box, added: dict[str, SubtaskChange]) -> None:
        """A box without a task is a new subtask, unless it only notes something that is done."""
        if (box.ticked and not box.is_subtask) or _key(box.text) in added or reading.is_phase(box.text):
            return
        if len(self.loop.tasks) + len(added) >= MOST_TASKS:
            sentence = f"more than {MOST_TASKS} subtasks are not taken"
            self.problems += [] if sentence in self.problems else [sentence]
            return
        name = _free_name({task.task_id for task in self.loop.tasks} | {change.task_id for change in added.values()})
        status = SubtaskStatus.COMPLETED if box.ticked else SubtaskStatus.PENDING
        needs = tuple(_named(self.loop, need) for need in box.after)
        added[_key(box.text)] = SubtaskChange(name, box.text[:LONGEST_TEXT], status, needs)


class _BoxFinder:
    """Finds the task that a box stands for."""

    def __init__(self, tasks: tuple[Subtask, ...], before: Content) -> None:
        self.keys = {task.task_id: _key(text) for text, task in reading.boxes_of(tasks)}
        """The text of each task's box, by the id of the task."""
        self._by_place = {(place, self.keys[task.task_id]): task for place, task in enumerate(tasks, 1)}
        self._by_text = {self.keys[task.task_id]: task for task in reversed(tasks)}
        self._by_number = {
            box.number: task for box in before.boxes if box.number and (task := self.with_text(box.text)) is not None
        }

    def task(self, box: Box) -> Subtask | None:
        """The task with this number and text, else the first with the text, else the one that had the number before."""
        exact = self._by_place.get((box.number or 0, _key(box.text)))
        return exact or self.with_text(box.text) or self._by_number.get(box.number or 0)

    def with_text(self, text: str) -> Subtask | None:
        return self._by_text.get(_key(text))


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()


def _free_name(taken: set[str]) -> str:
    number = len(taken) + 1
    while f"s{number}" in taken:
        number += 1
    return f"s{number}"


def _named(loop: Loop, need: str) -> str:
    """The id of a subtask that the file calls by its number."""
    place = int(need) if need.isdecimal() and len(need) < 5 else 0
    return loop.tasks[place - 1].task_id if 1 <= place <= len(loop.tasks) else need
