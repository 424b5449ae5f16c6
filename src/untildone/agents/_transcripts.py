"""Defaults and helpers that the readers of transcripts share."""

from __future__ import annotations

from typing import Any

from untildone.core.plugins.transcript import Origin
from untildone.core.values.plain_json import read_object


class CompleteTranscript:
    """A transcript that contains the whole session, also after a fork."""

    def origin(self, path: str, first_line: bytes) -> Origin | None:
        return None


def entry_in(line: bytes, *marks: bytes) -> dict[str, Any]:
    """The JSON object of a line. Empty if the line contains none of `marks` (then it is not parsed), or is no JSON object."""
    if not any(mark in line for mark in marks):
        return {}
    try:
        return read_object(line)
    except (ValueError, RecursionError):
        return {}
