"""The stream of all loops: one listener to the loop table for all clients, which costs nothing while nothing changes."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from untildone.core.errors import UntilDoneError
from untildone.faces.api.schemas.lines import line_of
from untildone.operations.driving.service import Service
from untildone.operations.loop_table import Row

_log = logging.getLogger(__name__)
AT_MOST_EVERY = 1.0
"""Seconds between two messages about one loop."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the stream: the line of a loop, or that it is gone."""

    event: str
    data: str
    at: float
    """When the loop changed: the `id` of the message."""


@dataclass(slots=True, eq=False)
class _Client:
    waiting: dict[str, Message] = field(default_factory=dict)
    """The latest message about each loop that the client has not read yet."""
    has_news: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False
    """Whether this stream has ended."""


class LoopFeed:
    """Tells all clients which loops have changed. Each line is made once, and at most once a second for each loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._clients: set[_Client] = set()
        self._changed: dict[str, None] = {}
        self._told_at: dict[str, float] = {}
        self._news = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None

    async def follow(self, since: float | None, *, stays: bool) -> AsyncIterator[Message]:
        """Yield the loops that changed at `since` or later, the first first; then, if `stays`, each that changes."""
        with self._client() as client:
            if since is not None:
                for message in await asyncio.to_thread(self._changed_since, since):
                    yield message
            while stays:
                await client.has_news.wait()
                client.has_news.clear()
                waiting, client.waiting = client.waiting, {}
                for message in waiting.values():
                    yield message
                if client.is_over:
                    return

    @contextmanager
    def _client(self) -> Iterator[_Client]:
        client = _Client()
        self._clients.add(client)
        if self._telling is None:
            self._telling = asyncio.create_task(self._tell())
            self._telling.add_done_callback(self._end_streams)
        try:
            yield client
        finally:
            self._clients.discard(client)
            if not self._clients and self._telling is not None:
                self._telling.cancel()
                self._telling = None

    def _end_streams(self, telling: asyncio.Task[None]) -> None:
        """End all streams if telling has failed, so that the clients come again; a lost database, for instance."""
        if telling.cancelled():
            return
        _log.warning("The stream of all loops ended: %s", telling.exception())
        if telling is not self._telling:
            return
        self._telling = None
        for client in self._clients:
            client.is_over = True
            client.has_news.set()

    async def _tell(self) -> None:
        running = asyncio.get_running_loop()

        def heard(loop_id: str) -> None:
            running.call_soon_threadsafe(self._note, loop_id)

        with self._service.table.listening(heard):
            # From now on, the table takes in what other processes write.
            await asyncio.to_thread(self._service.table.rows)
            while True:
                await self._news.wait()
                self._news.clear()
                due = self._due()
                for loop_id, message in (await asyncio.to_thread(self._messages, due)).items():
                    self._hand_out(loop_id, message)
                if self._changed:
                    running.call_later(max(0.0, min(map(self._wait_for, self._changed))), self._news.set)

    def _note(self, loop_id: str) -> None:
        self._changed[loop_id] = None
        self._news.set()

    def _wait_for(self, loop_id: str) -> float:
        return self._told_at.get(loop_id, float("-inf")) + AT_MOST_EVERY - time.monotonic()

    def _due(self) -> list[str]:
        """The changed loops whose lines may be sent now. A change while a line is made counts as a new one."""
        due = [loop_id for loop_id in self._changed if self._wait_for(loop_id) <= 0]
        self._told_at = {loop_id: at for loop_id, at in self._told_at.items() if self._wait_for(loop_id) > 0}
        for loop_id in due:
            del self._changed[loop_id]
            self._told_at[loop_id] = time.monotonic()
        return due

    def _hand_out(self, loop_id: str, message: Message) -> None:
        for client in self._clients:
            client.waiting.pop(loop_id, None)
            client.waiting[loop_id] = message
            client.has_news.set()

    def _messages(self, loop_ids: list[str]) -> dict[str, Message]:
        return {loop_id: self._message(loop_id, self._service.table.find_row(loop_id)) for loop_id in loop_ids}

    def _message(self, loop_id: str, row: Row | None) -> Message:
        if row is not None:
            try:
                return Message("loop", line_of(self._service, row).model_dump_json(), row.updated_at)
            except UntilDoneError:
                pass
        return Message("gone", json.dumps({"loop_id": loop_id}), time.time())

    def _changed_since(self, since: float) -> list[Message]:
        rows = [row for row in self._service.table.rows() if row.updated_at >= since]
        return [self._message(row.loop_id, row) for row in sorted(rows, key=lambda row: row.updated_at)]
