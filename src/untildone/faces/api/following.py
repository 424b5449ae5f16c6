"""Event streams that follow journals: one look at each followed journal, however many streams there are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from untildone.core.errors import StoreError, UntilDoneError
from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.store import layout
from untildone.store.files import FileStore
from untildone.store.journal import entries_after

LOOK_EVERY = 0.1
MOST_STREAMS = 200

Signature = tuple[str, int, int] | None


class TooManyStreams(Exception):
    """No more streams can be opened now."""


@dataclass(slots=True)
class _Followed:
    store: FileStore
    signature: Signature
    streams: set[asyncio.Event] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Read:
    entries: tuple[Entry, ...]
    offset: int
    loop: Loop


class Following:
    def __init__(self, most: int = MOST_STREAMS) -> None:
        self.streams = 0
        self._most = most
        self._followed: dict[str, _Followed] = {}
        self._looking: asyncio.Task[None] | None = None

    def reserve(self) -> None:
        """A place for one more stream."""
        if self.streams >= self._most:
            raise TooManyStreams
        self.streams += 1

    def release(self) -> None:
        self.streams -= 1

    async def follow(self, store: FileStore, loop_id: str, after: int) -> AsyncIterator[tuple[Entry | None, Loop]]:
        """Every entry after one, then each new one, until the loop ends: then None."""
        try:
            with self._watching(store, loop_id) as changed:
                offset = 0
                while True:
                    changed.clear()
                    read = await asyncio.to_thread(_read, store, loop_id, offset)
                    for entry in read.entries:
                        if entry.seq > after:
                            yield entry, read.loop
                    if read.offset == offset and read.loop.status.ended:
                        yield None, read.loop
                        return
                    if read.offset == offset:
                        await changed.wait()
                    offset = read.offset
        except UntilDoneError:
            # It was deleted meanwhile, or cannot be read any more: there is nothing to follow.
            return

    @contextmanager
    def _watching(self, store: FileStore, loop_id: str) -> Iterator[asyncio.Event]:
        changed = asyncio.Event()
        followed = self._followed.setdefault(loop_id, _Followed(store, None))
        followed.streams.add(changed)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_around())
        try:
            yield changed
        finally:
            followed.streams.discard(changed)
            if not followed.streams:
                self._followed.pop(loop_id, None)

    async def _look_around(self) -> None:
        while self._followed:
            looked_at = dict(self._followed)
            found = await asyncio.to_thread(_signatures, looked_at)
            for loop_id, signature in found.items():
                followed = looked_at[loop_id]
                if signature != followed.signature:
                    followed.signature = signature
                    for changed in followed.streams:
                        changed.set()
            await asyncio.sleep(LOOK_EVERY)


def _read(store: FileStore, loop_id: str, offset: int) -> _Read:
    """The state first: what is read after it holds at least everything that led to it."""
    loop = store.load(loop_id)
    try:
        entries, end = entries_after(layout.places(store.root, loop_id).journal, offset)
    except StoreError:
        # It went to the history this moment.
        entries, end = entries_after(layout.places(store.root, loop_id).journal, offset)
    return _Read(entries, end, loop)


def _signatures(followed: Mapping[str, _Followed]) -> dict[str, Signature]:
    return {loop_id: _signature(each.store, loop_id) for loop_id, each in followed.items()}


def _signature(store: FileStore, loop_id: str) -> Signature:
    try:
        journal = layout.places(store.root, loop_id).journal
        found = os.stat(journal)
    except (OSError, UntilDoneError):
        return None
    return str(journal), found.st_mtime_ns, found.st_size
