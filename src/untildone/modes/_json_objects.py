"""Finding the JSON objects in what an agent wrote, whatever stands around them."""

from __future__ import annotations

import json
import re
from typing import Any

MOST_TRIED = 2_000
"""Beginnings that are looked at, the last ones: each that leads nowhere costs as much as the text before it is long."""
_BEGINNING = re.compile(r"\{\s{0,200}[\"}]")


def objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a text, the last one first; an object inside another one does not count on its own."""
    decoder, end = json.JSONDecoder(), 0
    found: list[dict[str, Any]] = []
    for at in [beginning.start() for beginning in _BEGINNING.finditer(text)][-MOST_TRIED:]:
        if at < end:
            continue
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        found.append(value)
    return found[::-1]


def sound(text: str) -> str:
    """JSON can spell characters that no file can hold."""
    return text.encode("utf-8", "replace").decode()
