"""Serves an editor over standard input and output."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from typing import Any, cast

from acp import Agent, run_agent, stdio_streams

from untildone.faces.acp.agent import UntilDone

LONGEST_LINE = 50 << 20
"""Bytes of a message: prompts may have files in them."""
MOST_OPEN = 100
"""Requests that are answered at the same time. No more is read until one of them is answered."""
LEAVE_WITHIN = 1.0
"""Seconds for the last answers, once the editor has closed its side."""
_LASTING = "session/prompt"
"""The request that takes as long as a loop."""


async def serve() -> None:
    """Answer an editor until it closes standard input."""
    # The package logs each malformed message with a traceback; the editor gets an error, or nothing, for it.
    logging.disable(logging.CRITICAL)
    messages = EditorMessages(*await stdio_streams(limit=LONGEST_LINE))
    # Methods that it lacks are optional: the package answers that they do not exist.
    await run_agent(cast(Agent, UntilDone()), input_stream=messages)


class EditorMessages:
    """The messages of an editor, a JSON object a line: the transport of the package, for an editor that may send or leave unread
    anything. A message that would end the connection is skipped."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._sending = asyncio.Lock()
        self._open: Counter[str] = Counter()
        """How many requests are not answered yet, by their ids as JSON; but for the lasting ones."""
        self._answered = asyncio.Event()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None: there are no more."""
        while line := await self._line():
            message = _object(line)
            if message is not None:
                await self._note(message)
                return message
        await self._until_open(0, LEAVE_WITHIN)
        return None

    async def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            async with self._sending:
                self._writer.write(data)
                await self._writer.drain()
        finally:
            if "method" not in message:
                self._open -= Counter((_name(message),))
                self._answered.set()

    async def close(self) -> None:
        """Close the output. What the editor does not read is lost: it may never read again."""
        self._writer.close()

    async def _note(self, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message and message["method"] != _LASTING:
            await self._until_open(MOST_OPEN, None)
            self._open[_name(message)] += 1

    async def _until_open(self, most: int, seconds: float | None) -> None:
        """Wait until no more requests are open than given, or until the time is over."""
        try:
            async with asyncio.timeout(seconds):
                while self._open.total() > most:
                    self._answered.clear()
                    await self._answered.wait()
        except TimeoutError:
            return

    async def _line(self) -> bytes:
        """The next line; a blank one in place of one that is too long."""
        try:
            return await self._reader.readline()
        except ValueError:
            return b"\n"


def _name(message: dict[str, Any]) -> str:
    return json.dumps(message.get("id"))


def _object(line: bytes) -> dict[str, Any] | None:
    """The message in a line; None: there is none that the package can take."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or isinstance(message.get("id"), dict | list):
        return None
    return message if isinstance(message.get("error", {}), dict | None) else None
