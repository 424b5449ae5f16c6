"""Where loops are kept: the journal is the truth, the checkpoint a quick copy of what it says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from untildone.core.events import Entry, Event, LoopCreated
from untildone.core.hints import Protocol
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.core.secrets import Redactor
from untildone.core.value import dataclass
from untildone.store.live import LiveFile


@dataclass(frozen=True, slots=True)
class Standing:
    """A loop as a list shows it; one that cannot be read has a problem instead."""

    loop_id: str
    loop: Loop | None = None
    driven: bool = False
    problem: str = ""

    def is_to_run_on(self, host: Host) -> bool:
        """Whether a kind of host is to drive it."""
        return self.loop is not None and self.loop.status is Status.RUNNING and self.loop.host is host


@dataclass(frozen=True, slots=True)
class Group:
    """Loops with a total of their own, and how much of it they use."""

    name: str
    max_cost: float | None = None
    at_once: int | None = None
    cost: float = 0.0
    loops: int = 0
    at_work: int = 0

    @property
    def used_up(self) -> bool:
        return self.max_cost is not None and self.cost >= self.max_cost


@dataclass(frozen=True, slots=True)
class Seen:
    """The signatures of all loops at one moment: of those that are not in the history, and of those that are."""

    live: Mapping[str, object]
    ended: Mapping[str, object]


class Spool(Protocol):
    """What one turn prints: written as it comes, read from anywhere at any time."""

    def write(self, content: bytes) -> None:
        """Add to it. Even nothing makes it be there."""

    def close(self) -> None:
        """Nothing more will be written."""

    def size(self) -> int | None:
        """How many bytes there are; None: there is no such output."""

    def read(self, start: int, count: int) -> bytes:
        """So many bytes from a place on, as far as they are there."""
        ...


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


class Journals(Protocol):
    """The loops themselves: created, listed, read, written by one runner at a time, archived and deleted."""

    def create(self, event: LoopCreated, *first: Event) -> Loop:
        """A new loop; `first` follow its creation in the journal."""
        ...

    def ids(self) -> tuple[str, ...]:
        """Every loop there is, oldest first."""

    def find(self, name: str) -> str:
        """The id for a name: an id, a unique part of one, or `last`. LoopNotFound if no loop or several match."""

    def live_ids(self) -> tuple[str, ...]:
        """The loops that are not in the history."""
        ...

    def running_ids(self, host: Host) -> tuple[str, ...]:
        """The loops that a kind of host is to drive."""
        ...

    def load(self, loop_id: str) -> Loop: ...

    def survey(self, loop_ids: Collection[str]) -> Iterator[Standing]:
        """How these loops stand, in this order; those that are gone are left out."""

    def open(self, loop_id: str) -> Journal:
        """For control: read, and append requests."""

    def lease(
        self, loop_id: str, host: Host = Host.TERMINAL, token: str | None = None
    ) -> AbstractContextManager[Journal]:
        """For the one runner, of one kind of host: exclusive while it lasts; LoopBusy if another runner has it.

        A `token` is issued by an engine that drives loops on many machines: of two, the greater one wins, at any time.
        """

    def signature(self, loop_id: str) -> object | None:
        """What changes whenever something is written to the journal; None: the loop is not there. Quick: it is asked often."""

    def signatures(self) -> Seen:
        """That of every loop, in any order."""
        ...

    def entries_after(self, loop_id: str, place: int) -> tuple[tuple[Entry, ...], int]:
        """Entries behind a place of the journal (0 is its beginning), not too many at once, and the place where they end."""
        ...

    def archive(self, loop_id: str, receipt: str, report: str) -> None:
        """Move an ended loop to the history, with its receipt and report."""

    def delete(self, loop_id: str) -> None:
        """All of a loop."""


class Records(Protocol):
    """What people and agents read beside the journal: output, documents, live state, receipt."""

    def spool(self, loop_id: str, name: str) -> Spool:
        """What an agent prints in one turn."""

    def output_names(self, loop_id: str) -> tuple[str, ...]:
        """The outputs there are, in the order of the rounds."""
        ...

    def add_to_document(self, loop_id: str, name: str, text: str) -> None:
        """Add to one of the documents that people read beside the journal: `progress.md`, …"""

    def put_document(self, loop_id: str, name: str, text: str) -> None:
        """Make such a document say exactly this."""

    def documents(self, loop_id: str) -> Mapping[str, str]:
        """What people read beside the journal, by file name."""

    def live_file(self, loop_id: str, workspace: str) -> LiveFile:
        """The live state file of a loop whose mode has one."""

    def keep_checkpoint(self, loop: Loop, live_state: str | None) -> None:
        """Keep a full copy of the state, which later checkpoints do not replace; of many, the newest."""

    def receipt(self, loop_id: str) -> str | None:
        """The receipt of an ended loop, if it has one."""

    def progress(self, loop_id: str) -> Path:
        """The loop's own folder on this machine, for what people and agents read."""


class Presence(Protocol):
    """Which loops a live runner drives, and whether a live server serves the store."""

    def is_driven(self, loop_id: str) -> bool:
        """Whether a live runner holds the lease of the loop."""

    def serving(self) -> AbstractContextManager[None]:
        """For the one server that drives loops of this store; LoopBusy if there is another."""

    def is_served(self) -> bool:
        """Whether a live server drives loops of this store."""


class Groups(Protocol):
    """Loops that share a total."""

    def group(self, name: str) -> Group:
        """A group as it stands."""
        ...

    def groups(self) -> tuple[Group, ...]:
        """All that have loops or limits. UsageError where loops share no total."""
        ...

    def change_group(self, name: str, *, max_cost: float | None, at_once: int | None) -> Group:
        """Other limits for a group; None: no limit."""
        ...


class Store(Journals, Records, Presence, Groups, Protocol):
    """Everything about the loops of one place. A function that needs one part takes that Protocol instead."""

    redactor: Redactor
    """Removes secrets from everything that is written."""
    on_news: News
    """Called with every state of a loop that this process reads or writes."""

    @property
    def root(self) -> Path | None:
        """The folder with the loops' files; None: the loops are in a database, which other machines can reach."""

    @property
    def home(self) -> Path:
        """The workspace whose settings hold, and in which new loops work."""

    @property
    def name(self) -> str:
        """What people call it: a folder, or the address of a database without its secrets."""

    def keep_in_memory(self) -> None:
        """Remember loops that were read, for a process that lives long and reads the same loops often."""

    def close(self) -> None:
        """Let go of connections, if there are any."""


Clock = Callable[[], float]
News = Callable[[str, Loop | None], None]
"""Takes a loop as it is now; None: it is deleted."""


def nobody_asks(_loop_id: str, _loop: Loop | None) -> None:
    """Where news is not wanted."""
