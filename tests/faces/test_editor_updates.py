"""covers: what an editor is sent about a loop, in bounded memory, whatever its agent prints; and which of its messages are taken."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from untildone.core.events import Entry, Event, LoopCreated, StartRequested, TurnEnded, TurnStarted
from untildone.core.loop import output_name
from untildone.core.model import AgentChoice, Answer, Budget, LoopSettings, Role, SessionUse
from untildone.core.plugins.agent_io import Said, ToolStarted
from untildone.faces.acp.live import LiveUpdates
from untildone.faces.acp.serving import EditorMessages
from untildone.faces.acp.updates import MOST_CALLS, Updates
from untildone.store.files import FileStore

MEGABYTE = 1 << 20
MOST = 24 * MEGABYTE
"""More than a chunk and the longest line take, and less than what is printed."""
ASKED = TurnStarted(Role.WORKER, 1, 1, "worker", SessionUse.NEW, "Do it.")


def created(workspace: Path, agent: str) -> LoopCreated:
    kept = LoopSettings("ralph", AgentChoice("worker", agent, command="x"), str(workspace))
    return LoopCreated("loop-a", "t", "t", kept, Budget(iterations=9))


@contextmanager
def in_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


def running(workspace: Path) -> Updates:
    updates = Updates()
    events: tuple[Event, ...] = (created(workspace, "command"), StartRequested(), ASKED)
    for seq, event in enumerate(events, 1):
        updates.of(Entry(seq, 1.0, event))
    return updates


def test_tool_calls_without_an_end_are_ended_when_there_are_too_many(tmp_path: Path) -> None:
    updates = running(tmp_path)
    sent = [each for number in range(3 * MOST_CALLS) for each in updates.of_agent(ToolStarted("run", str(number)))]
    begun = [update.tool_call_id for update in sent if update.session_update == "tool_call"]
    ended = [update.tool_call_id for update in sent if update.session_update == "tool_call_update"]
    assert (len(begun), ended) == (3 * MOST_CALLS, begun[: len(ended)])
    assert len(begun) - len(ended) <= MOST_CALLS + 2


def test_words_without_end_take_no_memory_and_the_answer_is_not_said_twice(tmp_path: Path) -> None:
    updates = running(tmp_path)
    with in_memory():
        for _ in range(100):
            updates.of_agent(Said("many words " * (MEGABYTE // 11)))
        updates.of_agent(Said("It is done."))
    ended = updates.of(Entry(4, 2.0, TurnEnded(Role.WORKER, 1, Answer("It is done."), 1.0)))
    assert not [update for update in ended if update.session_update == "agent_message_chunk"]


def test_output_without_an_end_of_line_and_a_flood_of_lines_are_sent_in_parts(tmp_path: Path) -> None:
    store = FileStore(tmp_path / ".loop")
    store.create(created(tmp_path, "command"), StartRequested())
    with closing(store.open("loop-a")) as journal:
        journal.append(ASKED)
    with closing(store.spool("loop-a", output_name(Role.WORKER, 1))) as spool:
        for _ in range(30):
            spool.write((b"words " * 10_000 + b"\n") * (MEGABYTE // 60_001))
        for _ in range(30):
            spool.write(b"x" * MEGABYTE)
        spool.write(b"\nThe end.\n")
    with closing(LiveUpdates(tmp_path, "loop-a", 0)) as live, in_memory():
        last = ""
        for part in live.fresh():
            said = [update.content.text for update in part if update.session_update == "agent_message_chunk"]
            last = said[-1] if said else last
    assert "The end." in last, json.dumps(last[-200:])


def test_a_message_that_would_end_the_connection_is_skipped() -> None:
    """An answer with an object as its id, or a text as its error, cannot be matched with a question that waits."""
    lines = (
        b'{"id": {}, "result": {}}\n',
        b'{"id": [1], "result": {}}\n',
        b'{"id": 0, "error": "no"}\n',
        b"[1]\n",
        b"7\n",
        b'{"a": ' + b"[" * 100_000 + b"\n",
        b'{"id": 0, "result": {"taken": true}}\n',
    )

    async def taken() -> object:
        reader = asyncio.StreamReader()
        reader.feed_data(b"".join(lines))
        reader.feed_eof()
        messages = EditorMessages(reader, cast(asyncio.StreamWriter, None))
        return [await messages.receive(), await messages.receive()]

    assert asyncio.run(taken()) == [{"id": 0, "result": {"taken": True}}, None]
