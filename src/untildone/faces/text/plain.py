"""Text that is safe to print at a terminal: without escape sequences, control characters and those that change the order of others."""

from __future__ import annotations

import re

LONGEST_LINE = 300
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)?")


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """The text on one line, cut to `longest` characters."""
    flat = " ".join(_UNPRINTABLE.sub(" ", _ESCAPE.sub("", text[: longest * 4])).split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def harmless(text: str) -> str:
    """The text with its line breaks."""
    return "\n".join(_UNPRINTABLE.sub(" ", line) for line in _ESCAPE.sub("", text).replace("\t", "    ").split("\n"))
