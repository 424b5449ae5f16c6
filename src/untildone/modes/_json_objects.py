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
    decoder, end, spelt = json.JSONDecoder(), 0, "\\u" in text
    parsed: list[dict[str, Any]] = []
    for at in [beginning.start() for beginning in _BEGINNING.finditer(text)][-MOST_TRIED:]:
        if at < end:
            continue
        try:
            value, end = decoder.raw_decode(text, at)
            parsed.append(_sound(value) if spelt else value)
        except (ValueError, RecursionError):
            continue
    return parsed[::-1]


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
