"""The file of an output is made before it is needed, and is no output until then."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.store_conformance import iteration, loop_created

from untildone.core.events import Rested, StartRequested
from untildone.core.model import Outcome
from untildone.store.files import FileStore

NAME = "loop-1"


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    store = FileStore(tmp_path / ".loop")
    store.create(loop_created(NAME))
    return store


def output(store: FileStore) -> Path:
    return store.progress(NAME) / "output"


def printed(store: FileStore, name: str, content: bytes) -> None:
    """As in a turn: it is there before the program starts, and the next one is made ready meanwhile."""
    spool = store.spool(NAME, name)
    spool.write(b"")
    spool.make_ready()
    spool.write(content)
    spool.close()


def test_the_next_output_takes_the_file_that_is_ready(store: FileStore) -> None:
    printed(store, "0001", b"one\n")
    [ready] = set(output(store).iterdir()) - {output(store) / "0001.jsonl"}
    made = ready.stat().st_ino
    assert store.output_names(NAME) == ("0001",)
    store.spool(NAME, "0002").write(b"two\n")
    assert (output(store) / "0002.jsonl").stat().st_ino == made
    assert not ready.exists()
    assert store.output_names(NAME) == ("0001", "0002")
    assert [store.spool(NAME, name).read(0, 9) for name in ("0001", "0002")] == [b"one\n", b"two\n"]


def test_what_was_printed_before_stays_where_a_turn_is_taken_again(store: FileStore) -> None:
    printed(store, "0001", b"one\n")
    printed(store, "0001", b"again\n")
    assert store.spool(NAME, "0001").read(0, 99) == b"one\nagain\n"
    assert store.output_names(NAME) == ("0001",)


def instead(path: Path, make: Callable[[], None]) -> None:
    path.unlink()
    make()


MEDDLING: dict[str, Callable[[Path], object]] = {
    "it is gone": lambda ready: ready.unlink(),
    "somebody wrote into it": lambda ready: ready.write_text("not from the agent\n"),
    "somebody else has it too": lambda ready: os.link(ready, ready.with_name("elsewhere")),
    "it leads elsewhere": lambda ready: instead(ready, lambda: ready.symlink_to(ready.with_name("elsewhere"))),
    "it is a pipe": lambda ready: instead(ready, lambda: os.mkfifo(ready)),
    "it is a folder": lambda ready: instead(ready, ready.mkdir),
}


@pytest.mark.parametrize("meddle", MEDDLING.values(), ids=MEDDLING.keys())
def test_only_an_empty_file_of_its_own_is_taken(store: FileStore, meddle: Callable[[Path], object]) -> None:
    printed(store, "0001", b"one\n")
    [ready] = set(output(store).iterdir()) - {output(store) / "0001.jsonl"}
    meddle(ready)
    printed(store, "0002", b"two\n")
    assert (output(store) / "0002.jsonl").read_bytes() == b"two\n"
    elsewhere = output(store) / "elsewhere"
    assert not elsewhere.exists() or elsewhere.read_bytes() == b""


def test_nothing_is_left_of_it_in_the_history(store: FileStore) -> None:
    printed(store, "0001", b"one\n")
    with store.claim(NAME) as journal:
        journal.append(StartRequested(), *iteration(1), Rested(Outcome.CLAIMED))
    store.archive(NAME, "{}", "# Report\n")
    assert [path.name for path in output(store).iterdir()] == ["0001.jsonl"]
