"""Python source that is edited at the places of its syntax tree, so that all else stays as it is written."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence

from untildone.core.values.value import dataclass

Span = tuple[int, int, bytes]
"""Where bytes begin and end, and what comes in their place."""


SLOW = ("punycode", "idna")
"""Encodings that take a time which grows with the square of the length."""


def decoded(content: bytes | None) -> tuple[str, str]:
    """A source as Python reads it, and its encoding: one that it names, or that its first bytes show."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content or b"").readline)
        return (content or b"").decode("utf-8" if encoding in SLOW else encoding), encoding
    except (SyntaxError, LookupError, ValueError):
        return (content or b"").decode("utf-8", "replace"), "utf-8"


@dataclass(frozen=True, slots=True)
class Versions:
    """A file as it was and as it is."""

    before: str
    after: str
    encoding: str
    """That of the second version."""
    are_read: bool
    """Whether both are sources that could be read."""

    def encoded(self, text: str) -> bytes:
        """A change of the second version as bytes."""
        return text.encode(self.encoding, "replace")


def versions(before: bytes | None, after: bytes | None) -> Versions:
    """Both versions of a file; None: there was no such file, or it cannot be read."""
    (was, _), (now, encoding) = decoded(before), decoded(after)
    are_read = after is not None and parsed(was) is not None and parsed(now) is not None
    return Versions(was, now, encoding, are_read)


def parsed(text: str) -> ast.Module | None:
    """The syntax tree; None: the text does not parse."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def inside(body: Sequence[ast.AST], without: tuple[type[ast.AST], ...] = ()) -> Iterator[ast.AST]:
    """What a body holds, in the order of the source. Python 3.11 does not know the places of what is inside of an f-string."""
    left: list[ast.AST] = list(body)
    while left:
        node = left.pop(0)
        yield node
        if not isinstance(node, (ast.JoinedStr, *without)):
            left[:0] = ast.iter_child_nodes(node)


class Source:
    """A text in which the places of syntax trees can be replaced."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode()
        lines = self._bytes.splitlines(keepends=True)
        self._begins = [0]
        for line in lines:
            self._begins.append(self._begins[-1] + len(line))

    def span(self, node: ast.expr, made: bytes) -> Span:
        return (self.begin(node), self.end(node), made)

    def begin(self, node: ast.expr | ast.stmt) -> int:
        return self._begins[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self._begins[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    @property
    def whole(self) -> tuple[int, int]:
        """Where the text begins and ends."""
        return (0, len(self._bytes))

    def part(self, node: ast.expr | ast.stmt) -> bytes:
        return self._bytes[self.begin(node) : self.end(node)]

    def line_after(self, node: ast.stmt) -> int:
        """Where the line after a statement begins."""
        return self._begins[node.end_lineno or node.lineno]

    def with_changes(self, spans: list[Span]) -> str:
        return _changed(self._bytes, 0, spans).decode("utf-8", "replace")

    def twin(self, function: ast.FunctionDef, name: str, spans: list[Span]) -> bytes:
        """The lines of a function with its decorators, under another name and with some changes inside of it; empty: it has no lines of
        its own."""
        first = min((function.lineno, *(each.lineno for each in function.decorator_list)))
        begin, end = self._begins[first - 1], self.end(function)
        at = self.begin(function)
        named = re.compile(rb"def[ \t]+(\w+)").match(self._bytes, at)
        if named is None or self._bytes[begin : begin + function.col_offset].strip():
            return b""
        return _changed(self._bytes[begin:end], begin, [*spans, (named.start(1), named.end(1), name.encode())])


def _changed(content: bytes, offset: int, spans: list[Span]) -> bytes:
    """A part of a text, which begins at an offset, with changes."""
    for begin, end, made in sorted(spans, reverse=True):
        content = content[: begin - offset] + made + content[end - offset :]
    return content
