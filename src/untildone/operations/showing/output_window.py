"""The output of an agent, read in windows: of a large file, only the part that is shown is read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from untildone.core.model import AgentChoice
from untildone.core.plugins.agent_io import (
    AgentEvent,
    Notice,
    Reader,
    Said,
    SessionKnown,
    Thought,
    ToolEnded,
    ToolStarted,
    Used,
)
from untildone.core.values.value import replace
from untildone.operations.output import reader
from untildone.operations.stores import Spool

WINDOW = 192 * 1024
SHORT_WINDOW = 16 * 1024
LONGEST_LINE = 5 * 1024 * 1024
MOST_BLOCKS = 300
LONGEST_TEXT = 20_000


class Kind(StrEnum):
    """The kind of a block."""

    SAID = "said"
    THOUGHT = "thought"
    TOOLS = "tools"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `ok` is None until its result is there."""

    tool: str
    summary: str
    ok: bool | None = None
    result: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """One block on the page: a text, a thought, a notice, or consecutive tool calls."""

    kind: Kind
    at: int
    """The offset in the file at which it begins."""
    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the output, between two offsets of the file."""

    start: int = 0
    end: int = 0
    size: int = 0
    blocks: tuple[Block, ...] = ()

    @property
    def is_first(self) -> bool:
        return self.start == 0

    @property
    def is_last(self) -> bool:
        return self.end >= self.size


class Output:
    """The output of one turn."""

    def __init__(self, spool: Spool, choice: AgentChoice) -> None:
        self._spool = spool
        self.is_complete = False
        """Whether the turn is over: then a last line without line end counts as a line."""
        self._choice = choice
        self._reader: Reader | None = None
        self._lock = threading.Lock()

    def tail(self) -> Window:
        """The last window."""
        with self._lock:
            return self._tail()

    def end(self) -> tuple[Block, ...]:
        """The last blocks, from a short piece of the output."""
        with self._lock:
            size = self._size()
            return self._read(max(0, size - SHORT_WINDOW), size, size).blocks

    def before(self, window: Window) -> Window:
        """The window that ends where this one starts."""
        with self._lock:
            return self._read(max(0, window.start - WINDOW), window.start, self._size())

    def after(self, window: Window) -> Window:
        """The window that starts where this one ends."""
        with self._lock:
            size = self._size()
            return self._read(window.end, min(size, window.end + WINDOW), size, keep_first=True)

    def followed(self, window: Window) -> Window:
        """The window with the output since then. If that is too much, the last window instead."""
        with self._lock:
            return self._followed(window, self._size())

    def _tail(self) -> Window:
        size = self._size()
        window = self._read(max(0, size - WINDOW), size, size)
        if window.blocks or window.is_first:
            return window
        # The end is one long incomplete line, or has nothing to show.
        return self._read(max(0, window.start - WINDOW), size, size)

    def _followed(self, window: Window, size: int) -> Window:
        if size == window.size and window.is_last:
            return window
        if size < window.end or size - window.end > WINDOW or self._reader is None:
            return self._tail()
        lines, end = self._lines(window.end, size)
        if not lines:
            return window
        blocks = list(window.blocks)
        _take(blocks, self._reader, lines)
        kept = tuple(blocks[-MOST_BLOCKS:])
        start = window.start if len(blocks) <= MOST_BLOCKS else kept[0].at
        # An incomplete last line is read once it is complete.
        return Window(start, end, end, kept)

    def _read(self, start: int, end: int, size: int, *, keep_first: bool = False) -> Window:
        """The window between two offsets. If it has too many blocks, only those at the end that borders on the previous window."""
        self._reader = reader(self._choice)
        start = self._line_start(start)
        lines, reached = self._lines(start, end)
        if reached == start and end < size:
            lines, reached = self._lines(start, min(size, start + LONGEST_LINE))
        blocks: list[Block] = []
        _take(blocks, self._reader, lines)
        if len(blocks) > MOST_BLOCKS and keep_first:
            return Window(start, blocks[MOST_BLOCKS].at, size, tuple(blocks[:MOST_BLOCKS]))
        kept = tuple(blocks[-MOST_BLOCKS:])
        first = start if len(blocks) <= MOST_BLOCKS else kept[0].at
        return Window(first, reached, reached if end == size else size, kept)

    def _size(self) -> int:
        return self._spool.size() or 0

    def _line_start(self, at: int) -> int:
        """The start of the line at an offset; for a very long line, an offset inside it."""
        furthest = max(0, at - LONGEST_LINE)
        while at > furthest:
            start = max(furthest, at - WINDOW)
            line_end = self._spool.read(start, at - start).rfind(b"\n")
            if line_end >= 0:
                return start + line_end + 1
            at = start
        return furthest

    def _lines(self, start: int, end: int) -> tuple[list[tuple[int, bytes]], int]:
        """The complete lines between two offsets, each with its offset, and the end of the last one."""
        if end <= start:
            return [], start
        content = self._spool.read(start, end - start + 1)
        beyond, content = content[end - start :], content[: end - start]
        if self.is_complete and not content.endswith(b"\n") and not beyond:
            content += b"\n"
        whole, _, rest = content.rpartition(b"\n")
        if not whole and rest == content:
            return [], start
        lines, at = [], start
        for line in whole.split(b"\n"):
            lines.append((at, line.removesuffix(b"\r")))
            at += len(line) + 1
        return lines, min(at, end)


def _take(blocks: list[Block], reader: Reader, lines: list[tuple[int, bytes]]) -> None:
    for at, line in lines:
        for event in reader.feed(line):
            for block in _block_of(event, at):
                _add(blocks, block)


def _block_of(event: AgentEvent, at: int) -> Iterator[Block]:
    match event:
        case Said(text) if text.strip():
            yield Block(Kind.SAID, at, _cut(text))
        case Thought(text) if text.strip():
            yield Block(Kind.THOUGHT, at, _cut(text))
        case Notice(text):
            yield Block(Kind.NOTICE, at, _cut(text))
        case ToolStarted(tool, summary):
            yield Block(Kind.TOOLS, at, calls=(Call(tool, _cut(summary)),))
        case ToolEnded(tool, ok, summary):
            yield Block(Kind.TOOLS, at, calls=(Call(tool, "", ok, _cut(summary)),))
        case Said() | Thought() | SessionKnown() | Used():
            return


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def _add(blocks: list[Block], block: Block) -> None:
    last = blocks[-1] if blocks else None
    if last is None or last.kind is not block.kind or block.kind is Kind.NOTICE or len(last.text) > LONGEST_TEXT:
        blocks.append(block)
    elif block.kind is Kind.TOOLS:
        blocks[-1] = replace(last, calls=_joined(last.calls, block.calls[0]))
    else:
        # Some agents print lines, others whole messages, which are paragraphs.
        between = "\n\n" if "\n" in block.text.strip() else "\n"
        blocks[-1] = replace(last, text=f"{last.text.rstrip()}{between}{block.text.lstrip()}")


def _joined(calls: tuple[Call, ...], call: Call) -> tuple[Call, ...]:
    if call.ok is None:
        return (*calls, call)
    waiting = next((i for i, each in enumerate(calls) if each.ok is None and each.tool == call.tool), None)
    if waiting is None:
        return (*calls, call)
    answered = replace(calls[waiting], ok=call.ok, result=call.result)
    return (*calls[:waiting], answered, *calls[waiting + 1 :])
