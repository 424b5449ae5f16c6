"""Finding the JSON objects in what an agent wrote, whatever stands around them."""

from __future__ import annotations

import json
from typing import Any


def objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a text, the last one first; an object inside another one does not count on its own."""
    decoder, at = json.JSONDecoder(), text.find("{")
    found: list[dict[str, Any]] = []
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return found[::-1]
