"""Reads the JSON object in the answer to an action. Text around the object is ignored; its fields are checked strictly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from untildone.core.answers.subtasks import changed
from untildone.core.model import EMPTY, Subtask, SubtaskChange, SubtaskStatus
from untildone.core.values.value import dataclass, field
from untildone.modes._json_objects import objects

LARGEST = 1_000_000
MOST_TASKS = 200
MOST_HYPOTHESES = 20
LONGEST_TEXT = 2_000


class NotTheAnswer(ValueError):
    """The answer is not the JSON that was asked for; the message says why."""


@dataclass(frozen=True, slots=True)
class ActionAnswer:
    """The answer to an action."""

    message: str = ""
    goes_on: bool = True
    """False: the agent asks for a person."""
    tasks: tuple[SubtaskChange, ...] = ()
    debug: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    passed: bool | None = None
    failures: tuple[str, ...] = ()


def parse(text: str, tasks: tuple[Subtask, ...]) -> ActionAnswer:
    """The last JSON object in the text that looks like an answer. Raises NotTheAnswer if there is none, or if it is invalid."""
    if len(text) > LARGEST:
        raise NotTheAnswer(f"the answer has {len(text):,} characters, more than {LARGEST:,}")
    answer = next((each for each in objects(text) if _NAMES & each.keys()), None)
    if answer is None:
        raise NotTheAnswer("there is no JSON object with skillStateUpdates, continue or message in it")
    updates = _typed(answer, "skillStateUpdates", dict, {})
    debug, validate = (_typed(updates, name, dict, {}) for name in ("debug", "validate"))
    return ActionAnswer(
        message=_typed(answer, "message", str, "")[:LONGEST_TEXT],
        goes_on=_typed(answer, "continue", bool, default=True),
        tasks=_task_changes(_typed(updates, "develop", dict, {}), tasks),
        debug=_debug(debug),
        passed=_typed(validate, "passed", bool, None),
        failures=tuple(_texts(validate, "failures")),
    )


_NAMES = {"skillStateUpdates", "continue", "message"}


def _typed(holder: Mapping[str, Any], name: str, kind: type, default: Any = None) -> Any:
    value = holder.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise NotTheAnswer(f"'{name}' is {_kind(value)} where {_KINDS[kind]} belongs")
    return value


_KINDS = {dict: "an object", str: "a text", bool: "true or false", list: "a list"}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return next((word for kind, word in _KINDS.items() if isinstance(value, kind)), "a number")


def _texts(holder: Mapping[str, Any], name: str) -> Iterator[str]:
    for value in _typed(holder, name, list, [])[:MOST_TASKS]:
        if not isinstance(value, str):
            raise NotTheAnswer(f"'{name}' holds {_kind(value)} where a text belongs")
        yield value[:LONGEST_TEXT]


def _task_changes(develop: Mapping[str, Any], tasks: tuple[Subtask, ...]) -> tuple[SubtaskChange, ...]:
    listed = _typed(develop, "tasks", list, [])
    known = {task.task_id: task for task in tasks}
    if len(listed) > MOST_TASKS:
        raise NotTheAnswer(f"{len(listed)} tasks are more than {MOST_TASKS}")
    if odd := [each for each in listed if not isinstance(each, dict)]:
        raise NotTheAnswer(f"a task is {_kind(odd[0])} where an object belongs")
    changes = tuple(_task_change(each, known, number) for number, each in enumerate(listed, len(tasks) + 1))
    left = unfinished(changed(tasks, changes))
    if left > MOST_TASKS:
        raise NotTheAnswer(f"{left} unfinished tasks are more than {MOST_TASKS}")
    return changes


def unfinished(tasks: tuple[Subtask, ...]) -> int:
    return sum(task.status is not SubtaskStatus.COMPLETED for task in tasks)


def _task_change(fields: Mapping[str, Any], known: Mapping[str, Subtask], number: int) -> SubtaskChange:
    name = str(fields["id"])[:60] if isinstance(fields.get("id"), str | int) else ""
    text = _typed(fields, "text", str) or _typed(fields, "description", str) or _typed(fields, "title", str)
    if not name:
        name = next((task.task_id for task in known.values() if task.text == text), f"t{number}")
    if name not in known and not text:
        raise NotTheAnswer(f"task '{name}' is new and has no text")
    return SubtaskChange(name, text=text and text[:LONGEST_TEXT], status=_status(_typed(fields, "status", str)))


def _status(word: str | None) -> SubtaskStatus | None:
    if word is None:
        return None
    plain = {"done": "completed", "in_progress": "pending", "todo": "pending"}.get(word.lower(), word.lower())
    if plain not in SubtaskStatus.__members__.values():
        raise NotTheAnswer(f"'{word[:60]}' is not a status of a task: pending, completed or failed")
    return SubtaskStatus(plain)


def _debug(fields: Mapping[str, Any]) -> dict[str, Any]:
    hypotheses = [_hypothesis(each) for each in _typed(fields, "hypotheses", list, [])[-MOST_HYPOTHESES:]]
    confirmed = _typed(fields, "confirmed_hypothesis", str)
    named = {"hypotheses": hypotheses} if hypotheses else {}
    return {**named, "confirmed_hypothesis": confirmed[:LONGEST_TEXT]} if confirmed else named


def _hypothesis(fields: Any) -> dict[str, str]:
    if not isinstance(fields, dict):
        raise NotTheAnswer(f"a hypothesis is {_kind(fields)} where an object belongs")
    return {name: _typed(fields, name, str, "")[:LONGEST_TEXT] for name in ("text", "status", "evidence")}
