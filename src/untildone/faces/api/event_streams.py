"""Event streams that follow journals. Each followed journal is polled once, however many streams follow it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from untildone.core.errors import UntilDoneError
from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.operations.stores import Store

LOOK_EVERY = 0.1
MOST_STREAMS = 200


class TooManyStreams(Exception):
    """No more streams can be opened now."""


@dataclass(slots=True)
class _Followed:
    store: Store
    signature: object
    streams: set[asyncio.Event] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Read:
    entries: tuple[Entry, ...]
    offset: int
    loop: Loop


class EventStreams:
    """The open event streams of the server."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self.streams = 0
        self._most = most
        self._followed: dict[str, _Followed] = {}
        self._looking: asyncio.Task[None] | None = None

    def reserve(self) -> None:
        """Count one more stream. TooManyStreams if the limit is reached."""
        if self.streams >= self._most:
            raise TooManyStreams
        self.streams += 1

    def release(self) -> None:
        self.streams -= 1

    async def follow(
        self, store: Store, loop_id: str, after: int, *, stays: bool
    ) -> AsyncIterator[tuple[Entry | None, Loop]]:
        """Yield each entry after `after`; then, if `stays`, each new one. Yields None as the last entry of an ended loop."""
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
                    if read.offset == offset and not stays:
                        return
                    if read.offset == offset:
                        await changed.wait()
                    offset = read.offset
        except UntilDoneError:
            # The loop was deleted meanwhile, or cannot be read any more.
            return

    @contextmanager
    def _watching(self, store: Store, loop_id: str) -> Iterator[asyncio.Event]:
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
            signatures = await asyncio.to_thread(_signatures, looked_at)
            for loop_id, signature in signatures.items():
                followed = looked_at[loop_id]
                if signature != followed.signature:
                    followed.signature = signature
                    for changed in followed.streams:
                        changed.set()
            await asyncio.sleep(LOOK_EVERY)


def _read(store: Store, loop_id: str, offset: int) -> _Read:
    """Read the state before the entries: then the entries contain everything that led to the state."""
    loop = store.load(loop_id)
    entries, end = store.entries_after(loop_id, offset)
    return _Read(entries, end, loop)


def _signatures(followed: Mapping[str, _Followed]) -> dict[str, object]:
    return {loop_id: _signature(each.store, loop_id) for loop_id, each in followed.items()}


def _signature(store: Store, loop_id: str) -> object:
    try:
        return store.signature(loop_id)
    except UntilDoneError as problem:
        return problem.sentence
