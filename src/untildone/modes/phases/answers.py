"""Reads the JSON object at the end of an answer, in the one form that the prompts ask for.

A field in another form is refused with a sentence, which the next prompt repeats to the agent. The other fields count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from untildone.core.answers.claims import has_promise
from untildone.core.model import Subtask, SubtaskChange, SubtaskStatus
from untildone.modes._json_objects import objects
from untildone.modes.phases.live_file import PROMISE
from untildone.modes.phases.news import LONGEST_SUMMARY, LONGEST_TEXT, MOST_TASKS, News
from untildone.modes.phases.state import ROUTES

LOOKED_AT = 200_000
LONGEST_ID = 60
FIELDS = frozenset({"phase_done", "summary", "route", "score", "review_score", "findings", "subtasks"})
SUBTASK_FIELDS = frozenset({"id", "text", "status", "depends_on"})
DROPPED = "dropped"
_KINDS = {bool: "true or false", str: "a text", list: "a list"}


def news_of(text: str, tasks: tuple[Subtask, ...], prompt: str = "") -> News:
    """The content of the last such object in the answer. An answer without one is valid and gives empty news."""
    text = text[-LOOKED_AT:]
    reader = _Reader(next((each for each in objects(text) if FIELDS & each.keys()), {}))
    promised = PROMISE in text and has_promise(text, PROMISE, prompt)
    done: bool | None = reader.typed(reader.fields, "phase_done", bool)
    summary: str = reader.typed(reader.fields, "summary", str) or ""
    subtasks, dropped = reader.subtasks(tasks)
    return News(
        done=True if done is None and promised else done,
        route=reader.route(),
        summaries={0: summary.strip()[:LONGEST_SUMMARY]} if summary.strip() else {},
        tasks=subtasks,
        dropped=dropped,
        score=reader.score(),
        findings=tuple(reader.texts(reader.fields, "findings") or ()),
        promised=promised,
        problems=tuple(dict.fromkeys(reader.problems)),
    )


class _Reader:
    """Reads one object and collects a sentence for each part that it refuses."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields
        self.problems = list(_unknown(fields, FIELDS, "the answer"))

    def typed(self, holder: Mapping[str, Any], name: str, kind: type) -> Any:
        """A field of that type; None if it is absent, null or refused."""
        value = holder.get(name)
        if value is not None and not isinstance(value, kind):
            self.problems.append(f"'{name}' must be {_KINDS[kind]}")
            return None
        return value

    def texts(self, holder: Mapping[str, Any], name: str) -> list[str] | None:
        """A list of texts, cut to a sensible length; None if it is absent or refused."""
        values: list[Any] | None = self.typed(holder, name, list)
        if values is None:
            return None
        if not all(isinstance(value, str) for value in values):
            self.problems.append(f"'{name}' must be a list of texts")
            return None
        return [value.strip()[:LONGEST_TEXT] for value in values[:MOST_TASKS] if value.strip()]

    def route(self) -> str:
        """The name of the route that the answer chooses; empty: none."""
        name: str = self.typed(self.fields, "route", str) or ""
        if name and name.lower() not in ROUTES:
            self.problems.append(f"'{name[:40]}' is not a route: {', '.join(ROUTES)}")
            return ""
        return name.lower()

    def score(self) -> float | None:
        value = self.fields.get("review_score")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
            self.problems.append("'review_score' must be a number from 0 to 100")
            return None
        return float(value)

    def subtasks(self, tasks: tuple[Subtask, ...]) -> tuple[tuple[SubtaskChange, ...], tuple[str, ...]]:
        """The changes of subtasks, and the ids of those that are not to be done."""
        known = {task.task_id for task in tasks}
        changes, dropped = [], []
        for item in self.typed(self.fields, "subtasks", list) or ():
            change = self._change(item, known)
            if change is None:
                continue
            known.add(change.task_id)
            if item.get("status") == DROPPED:
                dropped.append(change.task_id)
            else:
                changes.append(change)
        return tuple(changes), tuple(dropped)

    def _change(self, item: Any, known: set[str]) -> SubtaskChange | None:
        """The change of one subtask; None if it is refused."""
        name = item.get("id") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name.strip():
            self.problems.append("a subtask must be an object with an `id`, which is a text")
            return None
        name, text = name.strip()[:LONGEST_ID], self.typed(item, "text", str)
        if name not in known and not (text and text.strip()):
            self.problems.append(f"subtask '{name}' is new and has no `text`")
            return None
        if name not in known and len(known) >= MOST_TASKS:
            self.problems.append(f"more than {MOST_TASKS} subtasks are not taken")
            return None
        self.problems += _unknown(item, SUBTASK_FIELDS, "a subtask")
        needs = self.texts(item, "depends_on")
        return SubtaskChange(
            name,
            text=text.strip()[:LONGEST_TEXT] or None if text else None,
            status=self._status(item),
            depends_on=None if needs is None else tuple(need[:LONGEST_ID] for need in needs),
        )

    def _status(self, item: Mapping[str, Any]) -> SubtaskStatus | None:
        word: str = self.typed(item, "status", str) or ""
        if not word or word == DROPPED:
            return None
        if word not in SubtaskStatus.__members__.values():
            self.problems.append(f"'{word[:40]}' is not a status of a subtask: pending, completed, failed or dropped")
            return None
        return SubtaskStatus(word)


def _unknown(fields: Mapping[str, Any], names: frozenset[str], what: str) -> Iterator[str]:
    unknown = sorted(str(name)[:40] for name in fields if name not in names)
    if unknown:
        yield f"{what} has unknown fields: {', '.join(unknown[:5])}"
