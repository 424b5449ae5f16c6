"""The bell of a folder: a server looks at every journal only after a process announced an entry."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.store_conformance import loop_created

from untildone.core.events import MessageSent, StartRequested
from untildone.store import layout
from untildone.store.files import FileStore

NAME = "loop-1"


def quiet(store: FileStore) -> None:
    """Let everything that is there be old, so that no timestamp is in doubt."""
    for path in (store.root / layout.BELL, store.root):
        os.utime(path, (1_000_000.0, 1_000_000.0))


def written_by_hand(store: FileStore) -> None:
    with (store.progress(NAME) / layout.JOURNAL).open("ab") as journal:
        journal.write(b"{}\n")


@pytest.fixture
def known(tmp_path: Path) -> FileStore:
    store = FileStore(tmp_path / ".loop")
    store.create(loop_created(NAME))
    quiet(store)
    return store


def test_while_nothing_happens_the_signatures_are_the_same_object(known: FileStore) -> None:
    assert known.signatures() is known.signatures()


def test_an_entry_of_another_process_is_seen_at_the_next_look(known: FileStore) -> None:
    before = known.signatures()
    with FileStore(known.root).lease(NAME) as journal:
        journal.append(StartRequested())
    after = known.signatures()
    assert after.live[NAME] != before.live[NAME]
    assert after.live[NAME] == known.signature(NAME)


def test_a_new_loop_is_seen_at_the_next_look(known: FileStore) -> None:
    known.signatures()
    FileStore(known.root).create(loop_created("loop-2"))
    assert known.signatures().live.keys() == {NAME, "loop-2"}


def test_a_bell_that_rang_just_now_is_not_trusted(known: FileStore) -> None:
    """It may ring again within the same tick of the clock."""
    with closing(FileStore(known.root).open(NAME)) as journal:
        journal.append(MessageSent("go on"))
    before = known.signatures()
    written_by_hand(known)
    assert known.signatures() != before


@pytest.mark.parametrize("missing", [True, False])
def test_what_nobody_announced_is_seen_too(known: FileStore, missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bell at every look, else after a while."""
    before = known.signatures()
    written_by_hand(known)
    if missing:
        (known.root / layout.BELL).unlink()
        os.utime(known.root, (1_000_000.0, 1_000_000.0))
    else:
        assert known.signatures() is before
        monkeypatch.setattr(layout, "LOOK_AT_ALL_EVERY", 0.0)
    assert known.signatures() != before
