"""Edits of JSON text: a value is inserted, replaced or removed, and every other byte stays.

Comments are skipped, because some agents allow them in their settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Path = tuple[str | int, ...]
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null')
DEEPEST = 200


class Broken(ValueError):
    """The text is not JSON, or does not have the required structure. The message says where and why."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place in the text. `entries`: the values inside, by name or index; `starts`: where each entry begins."""

    start: int
    end: int
    plain: Any
    entries: Mapping[str | int, Node] = field(default_factory=dict)
    starts: Mapping[str | int, int] = field(default_factory=dict)


def parse(text: str) -> Node:
    """The root node of a JSON object. Raises `Broken` for anything else."""
    reader = _Reader(text)
    node = reader.value(reader.blank(1 if text.startswith("\ufeff") else 0), 0)
    if reader.blank(node.end) != len(text):
        raise reader.broken(node.end, "unexpected text after the end of the object")
    if not isinstance(node.plain, dict):
        raise Broken("it is not a JSON object")
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def broken(self, at: int, why: str) -> Broken:
        line = self._text.count("\n", 0, at) + 1
        return Broken(f"line {line}: {why}")

    def blank(self, at: int) -> int:
        blank = _BLANK.match(self._text, at)
        return blank.end() if blank else at

    def value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.broken(at, "it is nested too deeply")
        match self._text[at : at + 1]:
            case "{":
                return self._inside(at, depth, "}")
            case "[":
                return self._inside(at, depth, "]")
            case "":
                raise self.broken(at, "the text ends too early")
            case _:
                return self._scalar(at)

    def _scalar(self, at: int) -> Node:
        scalar = _SCALAR.match(self._text, at)
        try:
            plain = json.loads(scalar[0]) if scalar else None
        except ValueError:
            scalar = None
        if scalar is None:
            raise self.broken(at, f"expected a value, got {self._text[at : at + 10]!r}")
        return Node(at, scalar.end(), plain)

    def _inside(self, start: int, depth: int, close: str) -> Node:
        entries: dict[str | int, Node] = {}
        starts: dict[str | int, int] = {}
        at = self.blank(start + 1)
        while self._text[at : at + 1] != close:
            if entries:
                if self._text[at : at + 1] != ",":
                    raise self.broken(at, f"expected ',' or '{close}'")
                at = self.blank(at + 1)
            name: str | int = len(entries)
            begins = at
            if close == "}":
                name, at = self._name(at)
                if name in entries:
                    raise self.broken(begins, f"{name!r} is defined twice")
            node = self.value(at, depth + 1)
            entries[name], starts[name] = node, begins
            at = self.blank(node.end)
        plain = {name: node.plain for name, node in entries.items()}
        return Node(start, at + 1, plain if close == "}" else list(plain.values()), entries, starts)

    def _name(self, at: int) -> tuple[str, int]:
        node = self._scalar(at) if self._text[at : at + 1] == '"' else None
        if node is None or not isinstance(node.plain, str):
            raise self.broken(at, "expected a name in quotes")
        colon = self.blank(node.end)
        if self._text[colon : colon + 1] != ":":
            raise self.broken(colon, "expected ':'")
        return node.plain, self.blank(colon + 1)


def value_at(text: str, path: Path) -> Any:
    """The value at a path; None if there is none there."""
    node = _find(parse(text), path)
    return None if node is None else node.plain


def _find(node: Node | None, path: Path) -> Node | None:
    for step in path:
        node = None if node is None else node.entries.get(step)
    return node


def with_value(text: str, path: Path, value: Any) -> str:
    """The text with `value` in place of the value at `path`. Raises `Broken` if there is none."""
    node = _find(parse(text), path)
    if node is None:
        raise Broken(f"there is no {'.'.join(map(str, path))}")
    written = _written(text, value, _indent_at(text, node.start))
    return text[: node.start] + written + text[node.end :]


def with_member(text: str, path: Path, value: Any) -> str:
    """The text with a new member at `path`. Missing objects around it are created."""
    node, missing = parse(text), path
    while missing[1:] and missing[0] in node.entries:
        node, missing = node.entries[missing[0]], missing[1:]
    if not isinstance(node.plain, dict):
        raise Broken(f"'{path[-len(missing) - 1]}' is not an object")
    for name in reversed(missing[1:]):
        value = {name: value}
    return _inserted(text, node, f"{json.dumps(missing[0], ensure_ascii=False)}: ", value)


def with_item(text: str, path: Path, value: Any) -> str:
    """The text with `value` appended to the list at `path`. A missing list is created."""
    node = _find(parse(text), path)
    if node is None:
        return with_member(text, path, [value])
    if not isinstance(node.plain, list):
        raise Broken(f"'{path[-1]}' is not a list")
    return _inserted(text, node, "", value)


def without(text: str, path: Path) -> str:
    """The text without the value at `path` and its comma; unchanged if there is none."""
    around = _find(parse(text), path[:-1])
    if around is None or path[-1] not in around.entries:
        return text
    names = list(around.entries)
    place = names.index(path[-1])
    node = around.entries[path[-1]]
    if place > 0:
        return text[: around.entries[names[place - 1]].end] + text[node.end :]
    if len(names) > 1:
        return text[: around.starts[path[-1]]] + text[around.starts[names[1]] :]
    return text[: around.start + 1] + text[around.end - 1 :]


def _inserted(text: str, around: Node, name: str, value: Any) -> str:
    """The text with `value` after the last entry of `around`, laid out like the others: one per line, or all on one line."""
    line, unit = _newline(text), _unit(text)
    if not around.entries:
        outer = _indent_at(text, around.start)
        written = _written(text, value, outer + unit)
        return f"{text[: around.start + 1]}{line}{outer}{unit}{name}{written}{line}{outer}{text[around.end - 1 :]}"
    last = list(around.entries)[-1]
    end = around.entries[last].end
    if "\n" not in text[around.start : around.starts[last]]:
        return f"{text[:end]}, {name}{json.dumps(value, ensure_ascii=False)}{text[end:]}"
    indent = _indent_at(text, around.starts[last])
    return f"{text[:end]},{line}{indent}{name}{_written(text, value, indent)}{text[end:]}"


def _written(text: str, value: Any, indent: str) -> str:
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return f"{_newline(text)}{indent}".join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """The indentation of the file; two spaces if it has none."""
    indent = re.search(r"\n([ \t]+)\S", text)
    return indent[1] if indent and len(indent[1]) <= 8 else "  "


def _indent_at(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, at) + 1
    indent = re.compile(r"[ \t]*").match(text, begin)
    return indent[0] if indent else ""
