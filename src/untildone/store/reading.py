"""Decides which lines of a journal in a file count: those with a valid seal; orders to pause and to stop also without one."""

from __future__ import annotations

from untildone.core.events import Entry, PauseRequested, StopRequested, name_of
from untildone.core.values.value import dataclass, replace
from untildone.store.lines import ForeignLine, entry_of, fields_of, without_checksum
from untildone.store.seals import FIRST, Link, LoopSeal

FROM_ANYBODY = (PauseRequested, StopRequested)
"""Events that count without a seal: every process may stop a loop, and none without the key may make it go on."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that counts."""

    entry: Entry
    link: Link | None = None
    """None: it has no seal, or seals are not checked."""


class LineReader:
    """Reads the lines of one journal in order: `read` each, then `take` it, or `skip` it if it is damaged."""

    def __init__(self, loop_id: str, seal: LoopSeal | None, seq: int = 0, last_seal: bytes | None = FIRST) -> None:
        """Without `seal`, every whole line counts. `seq` and `last_seal` are those of the line before; 0 and None: not known."""
        self._loop_id = loop_id
        self._seal = seal
        self.seq = seq
        """The number of the last line. A damaged line keeps its number, because readers may have read it before the damage."""
        self.last_seal = last_seal
        """The seal of the last sealed line; None: it is not known, because of damage."""

    def read(self, line: bytes) -> Line:
        """The next line. Raises DamagedLine if it is damaged, ForeignLine if it does not count."""
        body = without_checksum(line)
        link = None if self._seal is None else self._seal.link(body)
        entry = entry_of(fields_of(body), self._loop_id)
        if self._seal is not None and link is None:
            return Line(self._from_anybody(entry))
        return Line(entry, link)

    def _from_anybody(self, entry: Entry) -> Entry:
        """An order to pause or stop. Its number is not believed: a great one would make the entries after it seem old."""
        if not isinstance(entry.event, FROM_ANYBODY):
            raise ForeignLine(f"a {name_of(entry.event)} entry that untildone did not write; it was ignored")
        return replace(entry, seq=self.seq + 1) if self.seq else entry

    def follows(self, line: Line) -> bool:
        """Whether the line was written after the sealed line before it."""
        return line.link is None or self.last_seal in (None, line.link.previous)

    def take(self, line: Line) -> None:
        """Go on after the line. A line that repeats an earlier one changes nothing."""
        if line.entry.seq < self.seq:
            return
        self.seq = line.entry.seq
        if line.link is not None:
            self.last_seal = line.link.seal

    def skip(self) -> None:
        self.seq += 1
        self.last_seal = None
