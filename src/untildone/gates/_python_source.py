"""Python source that is edited at the places of its syntax tree, so that all else stays as it is written."""

from __future__ import annotations

import ast

Span = tuple[int, int, bytes]
"""Where bytes begin and end, and what comes in their place."""


def parsed(text: str) -> ast.Module | None:
    """The syntax tree; None: the text does not parse."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


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

    def with_changes(self, spans: list[Span]) -> str:
        made = self._bytes
        for begin, end, content in sorted(spans, reverse=True):
            made = made[:begin] + content + made[end:]
        return made.decode("utf-8", "replace")
