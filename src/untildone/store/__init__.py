"""Storage of loops. The journal is authoritative; a checkpoint is a copy of the state that it leads to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from untildone.core.events import Entry, Event, LoopCreated
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.core.protection.secrets import Redactor
from untildone.core.values.hints import Protocol
from untildone.core.values.value import dataclass
from untildone.store.live import LiveFile
from untildone.store.seals import Seals


@dataclass(frozen=True, slots=True)
class LoopStatus:
    """The state of a loop for a list. A loop that cannot be read has a problem instead."""

    loop_id: str
    loop: Loop | None = None
    driven: bool = False
    """Whether a live runner holds the lease."""
    problem: str = ""
    """Why the loop cannot be read."""

    def is_to_run_on(self, host: Host) -> bool:
        """Whether the loop is running and belongs to this kind of host. A loop that is not ours is never driven."""
        loop = self.loop
        return loop is not None and loop.status is Status.RUNNING and loop.host is host and not loop.not_ours


@dataclass(frozen=True, slots=True)
class Group:
    """A group of loops with common limits, and how much of them is used."""

    name: str
    max_cost: float | None = None
    at_once: int | None = None
    """How many loops may be at work at the same time; None: no limit."""
    cost: float = 0.0
    loops: int = 0
    at_work: int = 0
    """How many loops a live runner drives now."""

    @property
    def free(self) -> int | None:
        """How many more loops may be at work now; None: any number."""
        return None if self.at_once is None else max(0, self.at_once - self.at_work)

    @property
    def used_up(self) -> bool:
        """Whether the group has spent its maximum cost."""
        return self.max_cost is not None and self.cost >= self.max_cost


@dataclass(frozen=True, slots=True)
class Signatures:
    """The signatures of all loops at one moment, by loop id: of live and of archived loops."""

    live: Mapping[str, object]
    ended: Mapping[str, object]


class Spool(Protocol):
    """The output of one turn. It can be read while it is written."""

    def write(self, content: bytes) -> None:
        """Append `content`. The first call creates the output, even with no content."""

    def close(self) -> None:
        """Finish writing."""

    def size(self) -> int | None:
        """The size in bytes; None if there is no such output."""

    def written_at(self) -> float | None:
        """When the output last grew (epoch seconds); None: that is not recorded, or there is no such output."""

    def read(self, start: int, count: int) -> bytes:
        """At most `count` bytes from byte `start` on."""
        ...


class Journal(Protocol):
    """The open journal of one loop."""

    @property
    def loop(self) -> Loop:
        """The state after all entries that were read or written so far."""

    def append(self, *events: Event, sync: bool = True, after: int | None = None) -> tuple[Entry, ...]:
        """Read the entries that other processes wrote meanwhile, then append events. Returns all new entries in order.

        With `after`, nothing is appended unless the entry with that number is the last one (compare and swap).

        With `sync`, all entries are on disk on return.
        """

    def catch_up(self) -> tuple[Entry, ...]:
        """Read and fold the new entries of other processes, and return them."""

    def entries(self) -> Iterator[Entry]:
        """Every entry from the first up to the last one in `loop`. Newer entries come with `catch_up`."""

    def close(self) -> None:
        """Write the last checkpoint of a runner, and close the journal."""


class Journals(Protocol):
    """The loops themselves: created, listed, read, written by one runner at a time, archived and deleted."""

    def create(self, event: LoopCreated, *first: Event) -> Loop:
        """Create a loop. The events of `first` follow its creation in the journal."""
        ...

    def ids(self) -> tuple[str, ...]:
        """The ids of all loops, oldest first."""

    def find(self, name: str) -> str:
        """The id for a name: an id, a unique part of one, or `last`, which is the last loop that is ours.

        LoopNotFound if no loop or several match.
        """

    def is_ours(self, loop_id: str) -> bool:
        """Whether untildone wrote the loop here. False: its files have no valid seal."""
        ...

    def live_ids(self) -> tuple[str, ...]:
        """The ids of the loops that are not archived."""
        ...

    def running_ids(self, host: Host) -> tuple[str, ...]:
        """The ids of the running loops that belong to this kind of host."""
        ...

    def load(self, loop_id: str) -> Loop:
        """The current state of a loop. LoopNotFound if it does not exist."""

    def survey(self, loop_ids: Collection[str]) -> Iterator[LoopStatus]:
        """The states of these loops, in this order, without loops that no longer exist."""

    def open(self, loop_id: str) -> Journal:
        """Open the journal for reading and for appending controls."""

    def lease(
        self, loop_id: str, host: Host = Host.TERMINAL, token: str | None = None, *, reopens: bool = False
    ) -> AbstractContextManager[Journal]:
        """Open the journal as the only runner, for a kind of host, until the block ends. LoopBusy if another runner has the lease.

        A cluster engine issues a `token` for each lease: at any time, the greatest one wins. With `reopens`, an archived loop is
        brought back first: if it is still ended when the lease ends, the next process that finds it archives it again.
        """

    def signature(self, loop_id: str) -> object | None:
        """A value that changes with every append to the journal; None if the loop does not exist. Fast, because it is polled."""

    def signatures(self) -> Signatures:
        """The signatures of all loops, in any order."""
        ...

    def entries_after(self, loop_id: str, place: int) -> tuple[tuple[Entry, ...], int]:
        """The next entries after a position in the journal (0 is its start), a limited number, and the position where they end."""
        ...

    def archive(self, loop_id: str, receipt: str, report: str) -> None:
        """Move an ended loop to the history, with its receipt and report."""

    def delete(self, loop_id: str, after: int | None = None) -> bool:
        """Delete a loop with all its files; with `after`, only if that is still its last entry. Returns whether it was deleted."""
        ...


class Records(Protocol):
    """What people and agents read beside the journal: output, documents, live state, receipt."""

    def spool(self, loop_id: str, name: str) -> Spool:
        """The output of an agent in one turn."""

    def output_names(self, loop_id: str) -> tuple[str, ...]:
        """The names of the outputs, in the order of the iterations."""
        ...

    def add_to_document(self, loop_id: str, name: str, text: str) -> None:
        """Append to a document beside the journal, such as `progress.md`."""

    def put_document(self, loop_id: str, name: str, text: str) -> None:
        """Write or replace a document beside the journal."""

    def carry(self, loop_id: str, name: str, text: str) -> None:
        """Keep a text as it is for the machines of a cluster, out of the reach of agents. UsageError if loops stay on one machine."""

    def carried(self, loop_id: str, name: str) -> str | None:
        """The text that `carry` kept; None: there is none."""

    def documents(self, loop_id: str) -> Mapping[str, str]:
        """The documents beside the journal, by file name."""

    def live_file(self, loop_id: str, workspace: str) -> LiveFile:
        """The live state file of a loop whose mode has one."""

    def keep_checkpoint(self, loop: Loop, live_state: str | None) -> None:
        """Keep a copy of the state that later checkpoints do not replace. Only the newest copies are kept."""

    def receipt(self, loop_id: str) -> str | None:
        """The receipt of an ended loop, if it has one."""

    def progress(self, loop_id: str) -> Path:
        """The loop's folder on this machine, for files that people and agents read."""


class Presence(Protocol):
    """Which loops a live runner drives, and whether a live server serves the store."""

    def is_driven(self, loop_id: str) -> bool:
        """Whether a live runner holds the lease of the loop."""

    def serving(self) -> AbstractContextManager[None]:
        """Be the only server that drives loops of this store until the block ends. LoopBusy if there is another."""

    def is_served(self) -> bool:
        """Whether a live server drives loops of this store."""


class Groups(Protocol):
    """Groups of loops with common limits."""

    def group(self, name: str) -> Group:
        """A group with its current usage."""
        ...

    def waiting_in(self, name: str) -> tuple[str, ...]:
        """The running loops of a group that no runner drives, the oldest first."""
        ...

    def groups(self) -> tuple[Group, ...]:
        """All groups that have loops or limits. UsageError if the store has no groups."""
        ...

    def change_group(self, name: str, *, max_cost: float | None, at_once: int | None) -> Group:
        """Set the limits of a group; None: no limit."""
        ...


class Store(Journals, Records, Presence, Groups, Protocol):
    """All loops of a folder or database. A function that needs one part takes that Protocol instead."""

    redactor: Redactor
    """Removes secrets from everything that is written."""
    seals: Seals
    """The seals of this home: of receipts, and in files of everything."""
    on_change: OnChange
    """Called with every state of a loop that this process reads or writes."""

    @property
    def root(self) -> Path | None:
        """The folder with the loops' files; None: the loops are in a database, which other machines can reach."""

    @property
    def home(self) -> Path:
        """The workspace of new loops, whose settings apply."""

    @property
    def name(self) -> str:
        """The name to show: a folder, or the address of a database without secrets."""

    def keep_in_memory(self) -> None:
        """Cache the loops that are read, for a long-lived process that reads the same loops often."""

    def check(self) -> None:
        """StoreError if loops cannot be read and written now."""

    def close(self) -> None:
        """Close connections, if there are any."""


Clock = Callable[[], float]
OnChange = Callable[[str, Loop | None], None]
"""Called with a loop id and the new state; None: the loop was deleted."""


def ignore(_loop_id: str, _loop: Loop | None) -> None:
    """An `OnChange` that does nothing."""
