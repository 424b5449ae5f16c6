"""Where loops are kept: the journal is the truth, the checkpoint a quick copy of what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from untildone.core.events import Entry, Event, LoopCreated
from untildone.core.hints import Protocol
from untildone.core.loop import Loop
from untildone.store.live import LiveFile


class Journal(Protocol):
    """One loop's journal, open for reading and appending. `loop` is everything read so far, folded."""

    @property
    def loop(self) -> Loop: ...

    def append(self, *events: Event, sync: bool = True, after: int | None = None) -> tuple[Entry, ...]:
        """Write events after whatever others wrote meanwhile, and return all that is new, theirs first.

        With `after`, the events follow from the state as of that entry: if somebody wrote since, they are not written.

        With `sync`, everything is on disk when this returns.
        """

    def catch_up(self) -> tuple[Entry, ...]:
        """Read and fold what others wrote since the last look."""

    def entries(self) -> Iterator[Entry]:
        """Every entry from the beginning up to the last one in `loop`: what comes after is for `catch_up`."""

    def close(self) -> None: ...


class Store(Protocol):
    def create(self, event: LoopCreated) -> Loop: ...

    def ids(self) -> tuple[str, ...]:
        """Every loop there is, oldest first."""

    def find(self, name: str) -> str:
        """The id that a person means: an id, a unique part of one, or `last`; LoopNotFound if that is none, or several."""

    def live_ids(self) -> tuple[str, ...]:
        """The loops that are not in the history."""
        ...

    def load(self, loop_id: str) -> Loop: ...

    def open(self, loop_id: str) -> Journal:
        """For control: read, and append requests."""

    def claim(self, loop_id: str, host: str = "terminal") -> AbstractContextManager[Journal]:
        """For the one runner, of one kind of host: exclusive while it lasts; LoopBusy if another runner has it."""

    def is_driven(self, loop_id: str) -> bool:
        """Whether a live runner has claimed the loop."""

    def output(self, loop_id: str, name: str) -> Path:
        """Where what an agent prints is spooled."""

    def add_to_document(self, loop_id: str, name: str, text: str) -> None:
        """Add to one of the documents that people read beside the journal: `progress.md`, …"""

    def live_file(self, loop_id: str, workspace: str) -> LiveFile:
        """The live state file of a loop whose mode has one."""

    def keep_checkpoint(self, loop: Loop, live_state: str | None) -> None:
        """Keep a full copy of the state, which later checkpoints do not replace; of many, the newest."""

    def documents(self, loop_id: str) -> Mapping[str, str]:
        """What people read beside the journal, by file name."""

    def progress(self, loop_id: str) -> Path:
        """The loop's own folder, for what people and agents read."""

    def archive(self, loop_id: str, receipt: str, report: str) -> None:
        """Move an ended loop to the history, with its receipt and report."""


Clock = Callable[[], float]
