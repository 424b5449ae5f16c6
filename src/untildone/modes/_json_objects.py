"""Finds the JSON objects in a text of an agent."""

from __future__ import annotations

import json
import re
from typing import Any

MOST_TRIED = 2_000
"""How many possible starts of an object are tried: the last ones. Each failed try takes time linear in the text before it."""
_BEGINNING = re.compile(r"\{\s{0,200}[\"}]")


def objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a text, the last one first; an object inside another one does not count on its own."""
    return [value for _, _, value in _found(text)][::-1]


def without_objects(text: str) -> str:
    """The text without its JSON objects, and without the code fences around them."""
    kept, position = [], 0
    for start, end, _ in _found(text):
        kept.append(text[position:start])
        position = end
    return _EMPTY_FENCE.sub("", "".join((*kept, text[position:]))).strip()


_EMPTY_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})\w*\s*\1[ \t]*$\n?", re.MULTILINE)


def _found(text: str) -> list[tuple[int, int, dict[str, Any]]]:
    """Start, end and value of each object, in the order of the text."""
    decoder, end, spelt = json.JSONDecoder(), 0, "\\u" in text
    parsed: list[tuple[int, int, dict[str, Any]]] = []
    for at in [beginning.start() for beginning in _BEGINNING.finditer(text)][-MOST_TRIED:]:
        if at < end:
            continue
        try:
            value, end = decoder.raw_decode(text, at)
            parsed.append((at, end, _sound(value) if spelt else value))
        except (ValueError, RecursionError):
            continue
    return parsed


def _sound(value: Any) -> Any:
    """The value without lone surrogates, which JSON can contain and UTF-8 cannot."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list():
            return [_sound(item) for item in value]
        case dict():
            return {_sound(name): _sound(item) for name, item in value.items()}
        case _:
            return value
