"""Lines that fit a terminal: broken between words, with later rows below the words of the first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len

_COLUMN = re.compile(r"\S+(?: \S+)? {2,}(?=\S)(?:[○✓✗] )?")
"""The name of a fact, or a time, before a second column; perhaps with a mark."""
_MARK = re.compile(r"\s+[○✓✗▸!…|•] ")
NARROWEST = 12
"""Columns that are left for words at least, however far the first row is indented."""


def rows(text: str, columns: int) -> list[str]:
    """The line in rows of at most `columns`; a frame is left as it is."""
    if cell_len(text) <= columns or text.startswith(("╭", "╔", "║", "╠", "╚")):
        return [text]
    head, indent = _head(text)
    indent = max(0, min(indent, columns - NARROWEST))
    return list(wrapped(text[len(head) :], columns, head, " " * indent))


def _head(text: str) -> tuple[str, int]:
    """The beginning that is not broken, and the indent of later rows."""
    if head := _COLUMN.match(text) or _MARK.match(text):
        return head[0], cell_len(head[0])
    leading = len(text) - len(text.lstrip())
    return text[:leading], leading + 2


def wrapped(text: str, columns: int, head: str, indent: str) -> Iterator[str]:
    """The words of a text in rows; the first begins with `head`, later ones with `indent`."""
    row, empty = head, True
    for word in text.split():
        longer = row + word if empty else f"{row} {word}"
        if empty or cell_len(longer) <= columns:
            row = longer
        else:
            yield row
            row = indent + word
        while cell_len(row) > columns:
            at = _fitting(row, columns)
            yield row[:at]
            row = indent + row[at:]
        empty = False
    yield row


def _fitting(text: str, columns: int) -> int:
    """How many characters fit into the given columns; at least one."""
    return next((at for at in range(len(text) - 1, 1, -1) if cell_len(text[:at]) <= columns), 1)
