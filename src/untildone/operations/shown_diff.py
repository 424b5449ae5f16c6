"""The patch of a loop as people may see it: without secrets, and without characters that a terminal obeys."""

from __future__ import annotations

import re
from collections.abc import Iterator

from untildone.core.protection.secrets import Redactor

# Control characters but tab and line end, and those that change the order in which text is shown.
_OBEYED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\udc80-\udc9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)"
)
_BOLD, _RED, _GREEN, _CYAN, _PLAIN = (f"\x1b[{code}m" for code in ("1", "31", "32", "36", ""))


def readable(patch: str, redactor: Redactor) -> str:
    """The patch without secrets. An escape sequence in it is shown as `^[[2K` and does nothing."""
    return _OBEYED.sub(lambda match: _visible(match[0]), redactor.text(patch))


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return f"^{chr(code ^ 0x40)}"
    return f"<{code - 0xDC00:02X}>" if code >= 0xDC80 else f"<U+{code:04X}>"


def coloured(patch: str) -> str:
    """A readable patch, or a summary of one, in the colours of git. Git itself must not colour: its colours would look like
    escape sequences of the patched files."""
    return "".join(_coloured_lines(patch.split("\n")))


def _coloured_lines(lines: list[str]) -> Iterator[str]:
    in_hunk = False
    for number, line in enumerate(lines):
        in_hunk = (in_hunk or line.startswith("@@ ")) and not line.startswith("diff --git ")
        end = "\n" if number < len(lines) - 1 else ""
        yield (_of_hunk(line) if in_hunk else _of_head(line)) + end


def _of_hunk(line: str) -> str:
    colour = {"+": _GREEN, "-": _RED, "@": _CYAN}.get(line[:1])
    return f"{colour}{line}{_PLAIN}" if colour else line


def _of_head(line: str) -> str:
    if summary := re.fullmatch(r"( .* \| +\d+ )(\+*)(-*)", line):
        return "".join(
            (
                summary[1],
                *(f"{colour}{marks}{_PLAIN}" for colour, marks in ((_GREEN, summary[2]), (_RED, summary[3])) if marks),
            )
        )
    return f"{_BOLD}{line}{_PLAIN}" if line and not line.startswith(" ") else line
