"""Checks the steps of a script: each field alone, then the fields together. An error names the step and the field."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from untildone.core.errors import UsageError
from untildone.testing.modelapi.steps import Fault, Step, ToolCall, Usage


class ScriptError(UsageError):
    """The script is wrong. The sentence names the step and the field."""


def parse_steps(document: object) -> tuple[Step, ...]:
    """Check a list of steps, each a Step or its JSON form."""
    if isinstance(document, str | bytes | Mapping) or not isinstance(document, Iterable):
        raise ScriptError(f"A script is a list of steps, not {_kind(document)}.", 'for example: [{"text": "hello"}]')
    return tuple(_step(number, one) for number, one in enumerate(document, start=1))


def _step(number: int, given: object) -> Step:
    document = given.to_json() if isinstance(given, Step) else given
    if not isinstance(document, Mapping):
        raise ScriptError(f"Step {number} is {_kind(document)}, not an object.", 'for example: {"text": "hello"}')
    step = Step(**{name: _field(number, name, value) for name, value in document.items()})
    _check_together(number, step, document)
    return step


def _field(number: int, name: str, value: object) -> Any:
    if name not in _FIELDS:
        close = get_close_matches(str(name), _FIELDS, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"the fields are: {', '.join(_FIELDS)}"
        raise ScriptError(f"Step {number}, field '{name}': a step has no such field.", hint)
    try:
        return _FIELDS[name](value)
    except ValueError as expected:
        raise ScriptError(f"Step {number}, field '{name}': it must be {expected}, not {_kind(value)}.") from None


def _check_together(number: int, step: Step, document: Mapping[str, object]) -> None:
    """Refuse combinations of fields that contradict each other."""

    def refuse(name: str, sentence: str) -> None:
        raise ScriptError(f"Step {number}, field '{name}': {sentence}.")

    if not document.keys() & {"text", "thinking", "tools", "status", "fault"}:
        raise ScriptError(f"Step {number} says nothing.", "give it text, thinking, tools, status or fault")
    if step.status is not None and step.fault is not None:
        refuse("fault", "a step has a status or a fault, not both")
    if "seconds" in document and step.fault is not Fault.HANG:
        refuse("seconds", 'it belongs to "fault": "hang"')
    if "error" in document and step.status is None and step.fault is not Fault.ERROR_EVENT:
        refuse("error", 'it belongs to a status or to "fault": "error_event"')
    if "headers" in document and step.status is None:
        refuse("headers", "it belongs to a status")


def _kind(value: object) -> str:
    shown = json.dumps(value, default=repr)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a text")
    return value


def _pattern(value: object) -> str:
    try:
        return re.compile(_text(value)).pattern
    except (ValueError, re.error):
        raise ValueError("a regular expression") from None


def _whole(least: int, most: float = math.inf) -> Callable[[object], int]:
    expected = f"a whole number from {least} " + ("up" if most == math.inf else f"to {most}")

    def check(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(expected)
        return value

    return check


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 86400:
        raise ValueError("a number of seconds from 0 to 86400")
    return float(value)


def _repeat(value: object) -> object:
    try:
        return value if value == "forever" else _whole(1)(value)
    except ValueError as expected:
        raise ValueError(f'{expected}, or "forever"') from None


def _fault(value: object) -> Fault:
    if value not in list(Fault):
        raise ValueError(f"one of {', '.join(Fault)}")
    return Fault(str(value))


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError("an object")
    return dict(value)


def _headers(value: object) -> dict[str, str]:
    headers = _object(value)
    if not all(isinstance(text, str) and not set("\r\n") & set(name + text) for name, text in headers.items()):
        raise ValueError("an object of texts, each of one line")
    return headers


def _usage(value: object) -> Usage:
    names = [f.name for f in fields(Usage)]
    given = _object(value)
    if not given.keys() <= set(names):
        raise ValueError(f"an object with some of {', '.join(names)}")
    try:
        return Usage(**{name: _whole(0)(count) for name, count in given.items()})
    except ValueError:
        raise ValueError("an object of token counts, each a whole number from 0 up") from None


def _tools(value: object) -> tuple[ToolCall, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("a list of tools")
    return tuple(_tool(one) for one in value)


def _tool(value: object) -> ToolCall:
    problem = ValueError('a list of tools like {"name": "Bash", "input": {"command": "ls"}}')
    if not isinstance(value, Mapping) or not value.keys() <= {"name", "input", "namespace"}:
        raise problem
    name, given, namespace = value.get("name"), value.get("input", {}), value.get("namespace")
    if not isinstance(name, str) or not isinstance(given, str | Mapping) or not isinstance(namespace, str | None):
        raise problem
    return ToolCall(name, given if isinstance(given, str) else dict(given), namespace)


_FIELDS: Mapping[str, Callable[[object], object]] = {
    "text": _text,
    "thinking": _text,
    "tools": _tools,
    "usage": _usage,
    "stop_reason": _text,
    "status": _whole(300, 599),
    "headers": _headers,
    "error": _object,
    "fault": _fault,
    "seconds": _seconds,
    "delay": _seconds,
    "chunk_delay": _seconds,
    "repeat": _repeat,
    "match": _pattern,
}
