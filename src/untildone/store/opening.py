"""Opens the journal of a loop of ours: from its checkpoint, its copy in the state folder, or its first entry."""

from __future__ import annotations

from untildone.core.values.value import replace
from untildone.store import (
    checkpoint,
    layout,
    rebuilding,
)
from untildone.store.checkpoint import Checkpoint
from untildone.store.journal import FileJournal, Writing
from untildone.store.layout import Places


def own_journal(places: Places, writing: Writing, known: Checkpoint | None, last: int) -> FileJournal | None:
    """The journal of a loop, of which sealed entries count; None: it has none. `last` is the number of the last entry."""
    if known is None or known.loop.not_ours:
        known, problems = checkpoint.read(places.checkpoint, writing.seal)
    else:
        problems = ""
    journal = _caught_up(places, writing, known, last)
    spare = _spare(writing, known) if problems or journal.repairs else None
    if spare is not None:
        journal = _restored(places, journal, writing, spare, last)
    journal.repairs[:0] = [problems] if problems else []
    if journal.is_lost:
        journal.close()
        return None
    return journal


def _caught_up(places: Places, writing: Writing, start: Checkpoint | None, last: int) -> FileJournal:
    journal = FileJournal(writing, places, start)
    try:
        journal.catch_up()
        first = rebuilding.first_entry(places, writing) if journal.is_lost else None
        if first is not None:
            journal.begin_from(rebuilding.rebuilt(places, first))
        journal.expect(last)
    except BaseException:
        journal.close()
        raise
    return journal


def _spare(writing: Writing, start: Checkpoint | None) -> Checkpoint | None:
    """The copy of the checkpoint in the state folder, if it is newer than the one that was started from."""
    if writing.head is None or writing.seal is None:
        return None
    spare = checkpoint.read_spare(writing.head.spare, writing.seal)
    return spare if spare is not None and (start is None or spare.loop.seq > start.loop.seq) else None


def _restored(places: Places, damaged: FileJournal, writing: Writing, spare: Checkpoint, last: int) -> FileJournal:
    """The journal read again from its start, over the state of `spare`. What was wrong with it stays noted."""
    damaged.close()
    lost = f"{layout.JOURNAL}: its beginning is lost; the loop was restored from the state folder"
    known = [lost] if damaged.is_lost else damaged.repairs
    journal = _caught_up(places, writing, replace(spare, offset=0), last)
    journal.repairs[:] = dict.fromkeys((*known, *journal.repairs))
    return journal
