"""Reading what the agent answers in a phase: a JSON object, found and read tolerantly; failing that, plain lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from untildone.core.claims import has_promise
from untildone.core.model import Task, TaskChange, TaskStatus
from untildone.modes._json_objects import objects
from untildone.modes.phases.live_file import PROMISE
from untildone.modes.phases.news import LONGEST_SUMMARY, LONGEST_TEXT, MOST_TASKS, News
from untildone.modes.phases.state import ROUTES

LOOKED_AT = 200_000
_DONE = ("phase_done", "phaseDone", "phase_complete", "done")
_SCORE = ("review_score", "reviewScore", "score")
_SUMMARY = ("summary", "message")
_SUBTASKS = ("subtasks", "tasks", "sub_tasks")
_FINDINGS = ("findings", "issues", "failures")
_TEXT = ("text", "title", "description", "name")
_NEEDS = ("depends_on", "dependsOn", "dependencies", "after")
_NAMES = {"route", *_DONE, *_SCORE, *_SUMMARY, *_SUBTASKS, *_FINDINGS}
_STATUS = {
    TaskStatus.COMPLETED: ("completed", "complete", "done", "finished", "ok", "已完成", "完成"),
    TaskStatus.PENDING: ("pending", "open", "todo", "to do", "in_progress", "in progress", "new", "待办", "未完成"),
    TaskStatus.FAILED: ("failed", "blocked", "error", "失败"),
}
_STATUSES = {word: status for status, words in _STATUS.items() for word in words}
_DROPPED = ("dropped", "removed", "cancelled", "canceled", "skipped", "取消")
_YES, _NO = ("true", "yes", "done", "1"), ("false", "no", "not yet", "0")

_PLAIN_SCORE = re.compile(r"(?:review score|审查评分|评分)\W{0,6}(?<!-)(\d{1,3}(?:\.\d{1,3})?)", re.IGNORECASE)
_PLAIN_ROUTE = re.compile(r"(?:route|路由)\W{1,6}(direct|planned|ralph|architect|ui[_ -]?flow)\b", re.IGNORECASE)
_LONE_ROUTE = re.compile(r"^\W{0,6}(direct|planned|ralph|architect|ui[_ -]?flow)\W{0,6}$", re.IGNORECASE | re.MULTILINE)
_PLAIN_COMPLEXITY = re.compile(r"(?:score|complexity|评分|复杂度)\W{0,6}(?<!-)(\d{1,3})\b", re.IGNORECASE)
_SCALE = ((25, "direct"), (50, "planned"), (80, "ralph"), (101, "architect"))
"""Below which complexity a task takes which route."""


def news_of(text: str, tasks: tuple[Task, ...], prompt: str = "") -> News:
    """What the answer tells. What cannot be made sense of is among the problems; nothing is an error."""
    text = text[-LOOKED_AT:]
    found = next((each for each in objects(text) if _NAMES & each.keys()), {})
    reader = _Reader(found)
    promised = PROMISE in text and has_promise(text, PROMISE, prompt)
    done = reader.flag(_DONE)
    subtasks, dropped = reader.subtasks(tasks)
    return News(
        done=True if done is None and promised else done,
        summaries={0: summary} if (summary := reader.text(_SUMMARY, LONGEST_SUMMARY)) else {},
        tasks=subtasks,
        dropped=dropped,
        score=reader.score() if _has(found, _SCORE) else _plain_score(text),
        findings=reader.texts(_FINDINGS),
        promised=promised,
        problems=tuple(reader.problems),
    )


def route_in(text: str) -> str:
    """The route that the answer chooses: by name, by a plain line, by the score of the task; empty if none can be read."""
    text = text[-LOOKED_AT:]
    for each in objects(text):
        if (name := _route_name(each.get("route"))) or (
            name := _by_complexity(_as_number(_first(each, ("score", "complexity"))))
        ):
            return name
    complexity = _PLAIN_COMPLEXITY.search(text)
    return _plain_route(text) or _by_complexity(float(complexity[1]) if complexity else None)


def route_named_in(text: str) -> str:
    """The route that the answer chooses by its name; empty if it does not."""
    text = text[-LOOKED_AT:]
    return next(filter(None, (_route_name(each.get("route")) for each in objects(text))), "") or _plain_route(text)


def _plain_route(text: str) -> str:
    plain = _PLAIN_ROUTE.search(text) or _LONE_ROUTE.search(text)
    return _route_name(plain[1] if plain else None)


def _route_name(value: Any) -> str:
    name = value.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
    name = "ui_flow" if name == "uiflow" else name
    return name if name in ROUTES else ""


def _by_complexity(score: float | None) -> str:
    return "" if score is None or score < 0 else next((name for below, name in _SCALE if score < below), "")


def _plain_score(text: str) -> float | None:
    found = _PLAIN_SCORE.findall(text)
    return float(found[-1]) if found and float(found[-1]) <= 100 else None


def _has(holder: Mapping[str, Any], names: Iterable[str]) -> bool:
    return _first(holder, names) is not None


def _first(holder: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((holder[name] for name in names if holder.get(name) is not None), None)


def _as_number(value: Any) -> float | None:
    """92, 92.5, "92", "92/100"."""
    if isinstance(value, str):
        found = re.match(r"\s{0,20}(\d{1,3}(?:\.\d{1,3})?)\s{0,3}(?:/\s{0,3}100)?%?\s{0,20}$", value)
        return float(found[1]) if found else None
    fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1_000_000
    return float(value) if fits else None


class _Reader:
    """Reads one object; what has the wrong shape is passed over and noted."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.found = found
        self.problems: list[str] = []

    def flag(self, names: Iterable[str]) -> bool | None:
        value = _first(self.found, names)
        word = value.strip().lower() if isinstance(value, str) else value
        if word is None or isinstance(word, bool):
            return word
        if word in _YES or word in _NO:
            return word in _YES
        self.problems.append("'phase_done' is neither true nor false")
        return None

    def text(self, names: Iterable[str], most: int) -> str:
        value = _first(self.found, names)
        return _cut(value, most) if isinstance(value, str) else ""

    def score(self) -> float | None:
        score = _as_number(_first(self.found, _SCORE))
        if score is None or not 0 <= score <= 100:
            self.problems.append("the review score is no number from 0 to 100")
            return None
        return score

    def texts(self, names: Iterable[str]) -> tuple[str, ...]:
        value = _first(self.found, names)
        items = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        texts = [
            item if isinstance(item, str) else _first(item, _TEXT) for item in items if isinstance(item, str | dict)
        ]
        return tuple(_cut(text) for text in texts[:MOST_TASKS] if isinstance(text, str) and text.strip())

    def subtasks(self, tasks: tuple[Task, ...]) -> tuple[tuple[TaskChange, ...], tuple[str, ...]]:
        """The changes of subtasks, and the ids of those that are not to be done."""
        value = _first(self.found, _SUBTASKS)
        if value is not None and not isinstance(value, list):
            self.problems.append("'subtasks' is no list")
        items = [{"text": item} if isinstance(item, str) else item for item in value] if isinstance(value, list) else []
        named = self._named([item for item in items if isinstance(item, dict)], tasks)
        if len(named) < len(items):
            self.problems.append(f"{len(items) - len(named)} of {len(items)} subtasks cannot be read")
        changes = [self._change(name, item, list(named)) for name, item in named.items()]
        dropped = tuple(name for name, item in named.items() if _word(item.get("status")) in _DROPPED)
        return tuple(change for change in changes if change.task_id not in dropped), dropped

    def _named(self, items: list[dict[str, Any]], tasks: tuple[Task, ...]) -> dict[str, dict[str, Any]]:
        """The items by task id: their own, that of a task with the same text, or a new one."""
        known = {task.task_id for task in tasks}
        by_text = {" ".join(task.text.split()).casefold(): task.task_id for task in tasks}
        named: dict[str, dict[str, Any]] = {}
        for item in items:
            text = _text(item)
            name = _id(item.get("id")) or by_text.get(" ".join(text.split()).casefold(), "")
            name = name or (_free(known | named.keys()) if text else "")
            is_new = name not in known
            if name and (text or not is_new) and len(known | named.keys()) < MOST_TASKS + (not is_new):
                named[name] = {**named.get(name, {}), **item}
        return named

    def _change(self, name: str, item: Mapping[str, Any], told: list[str]) -> TaskChange:
        word = _word(item.get("status")) or ("completed" if item.get("done") is True else "")
        if word and word not in _STATUSES and word not in _DROPPED:
            self.problems.append(f"'{word[:40]}' is no status of a subtask")
        needs = _first(item, _NEEDS)
        listed = needs if isinstance(needs, list) else [] if needs is None else [needs]
        return TaskChange(
            name,
            text=_text(item) or None,
            status=_STATUSES.get(word),
            depends_on=None if needs is None else tuple(_need(each, told) for each in listed if _id(each)),
        )


def _word(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


def _text(item: Mapping[str, Any]) -> str:
    value = _first(item, _TEXT)
    return _cut(value) if isinstance(value, str) else ""


def _cut(text: str, most: int = LONGEST_TEXT) -> str:
    return text.strip()[:most]


def _id(value: Any) -> str:
    fits = isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9)
    return _cut(str(value), 60) if fits else ""


def _need(value: Any, told: list[str]) -> str:
    """A dependency by id, or by its place in the list that was told."""
    name = _id(value)
    place = int(name) if name.isdecimal() and len(name) < 4 else 0
    return told[place - 1] if name not in told and 1 <= place <= len(told) else name


def _free(taken: Iterable[str]) -> str:
    names = set(taken)
    number = len(names) + 1
    while f"s{number}" in names:
        number += 1
    return f"s{number}"
