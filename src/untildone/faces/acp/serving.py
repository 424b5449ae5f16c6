"""Serves an editor over standard input and output."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from acp import Agent, run_agent, stdio_streams

from untildone.faces.acp.agent import UntilDone

LONGEST_LINE = 50 << 20
"""Bytes of a message: prompts may have files in them."""


async def serve() -> None:
    """Answer an editor until it closes standard input."""
    # The package logs each malformed message with a traceback; the editor gets an error, or nothing, for it.
    logging.disable(logging.CRITICAL)
    lines, writer = await stdio_streams(limit=LONGEST_LINE)
    objects = asyncio.StreamReader(limit=LONGEST_LINE)
    feeding = asyncio.create_task(_feed(lines, objects))
    try:
        # Methods that it lacks are optional: the package answers that they do not exist.
        await run_agent(cast(Agent, UntilDone()), input_stream=writer, output_stream=objects)
    finally:
        feeding.cancel()


async def _feed(lines: asyncio.StreamReader, objects: asyncio.StreamReader) -> None:
    """Pass on the lines that may hold an object: any other value of JSON would end the connection."""
    try:
        while line := await _line(lines):
            if line.lstrip().startswith(b"{"):
                objects.feed_data(line)
    finally:
        objects.feed_eof()


async def _line(lines: asyncio.StreamReader) -> bytes:
    """The next line; a blank one in place of one that is too long."""
    try:
        return await lines.readline()
    except ValueError:
        return b"\n"
