"""The output of a turn in a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.store_conformance import loop_created

from untildone.store.files import FileStore

NAME = "loop-1"


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    store = FileStore(tmp_path / ".loop")
    store.create(loop_created(NAME))
    return store


def printed(store: FileStore, name: str, content: bytes) -> None:
    """Creates the file before the program starts, as a turn does."""
    spool = store.spool(NAME, name)
    spool.write(b"")
    spool.write(content)
    spool.close()


def test_a_repeated_turn_appends_to_its_output(store: FileStore) -> None:
    printed(store, "0001", b"one\n")
    printed(store, "0001", b"again\n")
    assert store.spool(NAME, "0001").read(0, 99) == b"one\nagain\n"
    assert store.output_names(NAME) == ("0001",)
