"""The parts of a store that the stepper uses. `untildone.store` and the test driver provide them."""

from __future__ import annotations

from untildone.core.values.hints import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.events import Entry, Event
    from untildone.core.loop import Loop
    from untildone.store.live import Edit


class Journal(Protocol):
    """The journal of one loop."""

    @property
    def loop(self) -> Loop:
        """The loop after the last entry that was read or written."""

    def append(self, *events: Event, sync: bool = True, after: int | None = None) -> tuple[Entry, ...]:
        """Append events and return the new entries, with those of other processes. `after`: only if no entry has a higher number."""

    def catch_up(self) -> tuple[Entry, ...]:
        """Read and return the entries that other processes appended."""


class LiveState(Protocol):
    """The live state file of one loop."""

    def edited(self) -> Edit | None:
        """The edit since the file was last written; None: there is none."""

    def accept(self, text: str) -> None:
        """Note that the journal contains an edit, so that `edited` does not return it again."""

    def write(self, text: str) -> None:
        """Replace the content of the file."""


class Records(Protocol):
    """What a store keeps beside the journal."""

    def live_file(self, loop_id: str, workspace: str) -> LiveState: ...

    def documents(self, loop_id: str) -> Mapping[str, str]:
        """The texts of the loop's documents, by file name."""

    def add_to_document(self, loop_id: str, name: str, text: str) -> None: ...

    def keep_checkpoint(self, loop: Loop, live_state: str | None) -> None:
        """Keep a full copy of the loop's state."""
