"""What an agent printed, a window at a time: however large the file is, only the part that is looked at is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from untildone import agents
from untildone.agents import AgentEvent, Notice, Reader, Request, Said, SessionKnown, Thought, ToolEnded, ToolStarted
from untildone.core.model import AgentChoice

WINDOW = 192 * 1024
LONGEST_LINE = 5 * 1024 * 1024
MOST_BLOCKS = 300
LONGEST_TEXT = 20_000


class Kind(StrEnum):
    SAID = "said"
    THOUGHT = "thought"
    TOOLS = "tools"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Call:
    """A use of a tool; `ok` is None until it came back."""

    tool: str
    summary: str
    ok: bool | None = None
    result: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """What is shown as one piece: a text, a thought, a notice, or tool calls that followed each other."""

    kind: Kind
    at: int
    """Where in the file it begins."""
    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the output: what lies between two places of the file."""

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
    """The output of one turn. Not for two threads at once."""

    def __init__(self, locate: Callable[[], Path], choice: AgentChoice) -> None:
        self._locate = locate
        """Where the file is now: an ended loop moves to the history."""
        self._choice = choice
        self._reader: Reader | None = None

    def tail(self) -> Window:
        size = self._size()
        return self._read(max(0, size - WINDOW), size, size)

    def before(self, window: Window) -> Window:
        return self._read(max(0, window.start - WINDOW), window.start, self._size())

    def after(self, window: Window) -> Window:
        size = self._size()
        return self._read(window.end, min(size, window.end + WINDOW), size)

    def followed(self, window: Window) -> Window:
        """The window with what was printed since; a flood moves it to the end."""
        size = self._size()
        if size == window.size and window.is_last:
            return window
        if size < window.end or size - window.end > WINDOW or self._reader is None:
            return self.tail()
        lines, end = self._lines(window.end, size)
        blocks = list(window.blocks)
        _take(blocks, self._reader, lines)
        kept = tuple(blocks[-MOST_BLOCKS:])
        start = window.start if len(blocks) <= MOST_BLOCKS else kept[0].at
        # The last line may not be complete yet: it is read when it is.
        return Window(start, end, max(end, size) if end == size else end, kept)

    def _read(self, start: int, end: int, size: int) -> Window:
        self._reader = agents.find(self._choice.agent).reader(Request(prompt="", command=self._choice.command))
        start = self._line_start(start)
        lines, reached = self._lines(start, end)
        if reached == start and end < size:
            lines, reached = self._lines(start, min(size, start + LONGEST_LINE))
        blocks: list[Block] = []
        _take(blocks, self._reader, lines)
        whole = end == size
        kept = tuple(blocks[-MOST_BLOCKS:] if whole else blocks[:MOST_BLOCKS])
        if len(blocks) > MOST_BLOCKS:
            start, reached = (kept[0].at, reached) if whole else (start, blocks[MOST_BLOCKS].at)
        return Window(start, reached, reached if whole else size, kept)

    def _size(self) -> int:
        try:
            return self._locate().stat().st_size
        except FileNotFoundError:
            return 0

    def _line_start(self, at: int) -> int:
        """The beginning of the line that a place lies in, or of the next one if that is far away."""
        if at == 0:
            return 0
        with open(self._locate(), "rb") as file:
            file.seek(max(0, at - WINDOW))
            before = file.read(at - max(0, at - WINDOW))
            if before.endswith(b"\n"):
                return at
            found = before.rfind(b"\n")
            if found >= 0:
                return at - len(before) + found + 1
            if at <= WINDOW:
                return 0
            return at + len(file.readline(LONGEST_LINE))

    def _lines(self, start: int, end: int) -> tuple[list[tuple[int, bytes]], int]:
        """The whole lines between two places, each with its own, and where the last one ends."""
        if end <= start:
            return [], start
        with open(self._locate(), "rb") as file:
            file.seek(start)
            content = file.read(end - start)
        whole, _, rest = content.rpartition(b"\n")
        if not whole and rest == content:
            return [], start
        lines, at = [], start
        for line in whole.split(b"\n"):
            lines.append((at, line.removesuffix(b"\r")))
            at += len(line) + 1
        return lines, at


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
        case Said() | Thought() | SessionKnown():
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
        # Programs that stream send a text in pieces; whole messages are paragraphs of their own.
        blocks[-1] = replace(last, text=f"{last.text.rstrip()}\n\n{block.text.lstrip()}")


def _joined(calls: tuple[Call, ...], call: Call) -> tuple[Call, ...]:
    if call.ok is None:
        return (*calls, call)
    waiting = next((i for i, each in enumerate(calls) if each.ok is None and each.tool == call.tool), None)
    if waiting is None:
        return (*calls, call)
    answered = replace(calls[waiting], ok=call.ok, result=call.result)
    return (*calls[:waiting], answered, *calls[waiting + 1 :])


def names(folder: Path) -> tuple[str, ...]:
    """The outputs there are, by their file names without ending, in the order of the rounds."""
    try:
        found = [name for name in os.listdir(folder) if name.endswith(".jsonl")]
    except FileNotFoundError:
        return ()
    return tuple(sorted(name.removesuffix(".jsonl") for name in found))
