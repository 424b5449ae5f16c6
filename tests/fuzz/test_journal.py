"""Journals and checkpoints that somebody damaged: never a traceback, never an entry that nobody wrote, nothing lost before the damage.

The reference reads a journal slowly and plainly: each whole line whose checksum and seal fit, whose fields make an entry, whose
number is above the last one.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.fuzz.mutations import check_error, damaged_bytes, deeply_nested, shuffled_lines, sound_json, tried
from tests.support.seals import copied, is_sealed
from tests.support.store_conformance import iteration, loop_created

from untildone.core.errors import StoreError, UntilDoneError
from untildone.core.events import Entry, MessageSent, StartRequested
from untildone.core.loop import Loop
from untildone.core.protection.secrets import Redactor
from untildone.store import checkpoint
from untildone.store.files import FileStore
from untildone.store.journal_file import entries_after
from untildone.store.lines import DamagedLine, entry_of
from untildone.store.reading import LineReader
from untildone.store.seals import Seals

NAME, OTHER = "loop-1", "loop-2"


@dataclass(frozen=True)
class Kept:
    """A loop on disk that nobody touched, and what it truly says."""

    store: FileStore
    journal: bytes
    entries: tuple[Entry, ...]
    loops: tuple[Loop, ...]
    """As of each checkpoint that was written."""
    foreign: tuple[bytes, ...]
    """Sound lines of another loop's journal."""


def journal_of(root: Path, name: str = NAME) -> Path:
    return root / f"{name}.progress" / "execution.log.jsonl"


def drive(store: FileStore, name: str, *numbers: int) -> Loop:
    with store.lease(name) as journal:
        journal.append(StartRequested(), *(event for number in numbers for event in iteration(number)))
        journal.append(MessageSent("Mind the gap 😀"))
        return journal.loop


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept]:
    with tempfile.TemporaryDirectory() as folder:
        store = FileStore(Path(folder) / ".loop", seals=Seals(f"{folder}/state"))
        for name in (NAME, OTHER):
            store.create(loop_created(name))
        loops = tuple(drive(store, NAME, number, number + 1) for number in (1, 3, 5))
        drive(store, OTHER, 1, 2, 3)
        with closing(store.open(NAME)) as journal:
            journal.append(MessageSent("the last word"))
            entries = tuple(journal.entries())
        foreign = tuple(journal_of(store.root, OTHER).read_bytes().splitlines())
        yield Kept(store, journal_of(store.root).read_bytes(), entries, loops, foreign)


def slow_entries(content: bytes, kept: Kept) -> Iterator[Entry]:
    last = 0
    for line in content.split(b"\n")[:-1]:
        found = slow_entry(line, kept)
        if found is not None and found.seq > last:
            last = found.seq
            yield found


def slow_entry(line: bytes, kept: Kept) -> Entry | None:
    ending = b',"sum":"%08x"}'
    body = line[: -len(ending % 0)]
    if line[len(body) :] != ending % zlib.crc32(body) or not is_sealed(body, kept.store.seals.path.read_bytes(), NAME):
        return None
    try:
        fields = json.loads(body + b"}")
        return entry_of(fields) if fields["loop_id"] == NAME else None
    except (DamagedLine, ValueError, KeyError, TypeError, RecursionError):
        return None


def sealed(body: bytes) -> bytes:
    """What somebody else wrote, with a checksum that fits."""
    return body[:-1] + b',"sum":"%08x"}' % zlib.crc32(body[:-1])


foreign_lines = st.one_of(
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")),
    st.dictionaries(st.sampled_from(("event", "seq", "ts", "loop_id", "x")), sound_json, min_size=1).map(
        lambda fields: sealed(json.dumps(fields).encode())
    ),
    st.sampled_from((300, 100_000)).map(lambda depth: sealed(deeply_nested(depth))),
    st.sampled_from(("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00")).map(
        lambda ts: sealed(json.dumps({"event": "message", "seq": 3, "ts": ts, "loop_id": NAME, "text": "no"}).encode())
    ),
)


def checked(kept: Kept, content: bytes, *, with_checkpoint: bool) -> None:
    """The loop with this in its journal: readable or told in a sentence, never more than was written, and it goes on."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / ".loop"
        store = copied(kept.store, root)
        journal_of(root).write_bytes(content)
        if not with_checkpoint:
            for file in root.glob(f"{NAME}.json*"):
                file.unlink()
        expected = list(slow_entries(content, kept))
        reader = LineReader(NAME, store.seals.of(NAME), last_seal=None)
        assert list(entries_after(journal_of(root), 0, reader, most=1 << 30)[0]) == in_file(content, kept)
        try:
            with closing(store.open(NAME)) as journal:
                assert list(journal.entries()) == expected
                told = [repair for repair in journal.repairs if repair.startswith(journal_of(root).name)]
                assert with_checkpoint or bool(told) == is_damaged(content, kept), "damage is told, and nothing else"
                journal.append(MessageSent("and on"), sync=False)
                after = list(journal.entries())
                assert after[: len(expected)] == expected
                assert after[-1].event == MessageSent("and on")
                assert journal.loop.inbox[-1] == "and on"
            assert store.load(NAME).inbox[-1] == "and on"
        except StoreError as problem:
            assert not with_checkpoint, "a checkpoint alone is enough to go on"
            check_error(problem)


def is_damaged(content: bytes, kept: Kept) -> bool:
    """Whether a line cannot be read or is not ours, or a number is left out; without a checkpoint, all of it is read from the start."""
    lines, last = [slow_entry(line, kept) for line in content.split(b"\n")[:-1]], 0
    for found in lines:
        if found is None or found.seq > last + 1:
            return True
        last = max(last, found.seq)
    return last < kept.entries[-1].seq


def in_file(content: bytes, kept: Kept) -> list[Entry]:
    return [found for line in content.split(b"\n")[:-1] if (found := slow_entry(line, kept)) is not None]


@tried(0.3)
@given(draws=st.data(), with_checkpoint=st.booleans())
def test_any_damage_to_the_bytes(kept: Kept, draws: st.DataObject, with_checkpoint: bool) -> None:
    content = draws.draw(damaged_bytes(kept.journal))
    found = list(slow_entries(content, kept))
    assert set(map(repr, found)) <= set(map(repr, kept.entries)), "nothing is invented"
    whole = next(
        (n for n, pair in enumerate(zip(content, kept.journal, strict=False)) if pair[0] != pair[1]), len(content)
    )
    before = kept.journal[:whole].count(b"\n")
    assert found[:before] == list(kept.entries[:before]), "what is before the damage stays"
    checked(kept, content, with_checkpoint=with_checkpoint)


@tried(0.3)
@given(draws=st.data(), with_checkpoint=st.booleans())
def test_lines_lost_doubled_exchanged_and_foreign(kept: Kept, draws: st.DataObject, with_checkpoint: bool) -> None:
    foreign = foreign_lines | st.sampled_from(kept.foreign)
    lines = draws.draw(shuffled_lines(kept.journal.splitlines(), foreign))
    checked(kept, b"".join(line + b"\n" for line in lines), with_checkpoint=with_checkpoint)


@pytest.mark.parametrize("depth", [300, 100_000])
@pytest.mark.parametrize("with_checkpoint", [True, False])
def test_nesting_of_any_depth(kept: Kept, depth: int, with_checkpoint: bool) -> None:
    checked(kept, kept.journal + sealed(deeply_nested(depth)) + b"\n", with_checkpoint=with_checkpoint)


def test_the_journal_of_another_loop_is_no_journal_of_this_one(kept: Kept) -> None:
    content = b"".join(line + b"\n" for line in kept.foreign)
    assert list(slow_entries(content, kept)) == []
    checked(kept, content, with_checkpoint=True)


@tried(0.4)
@given(draws=st.data())
@example(draws=None)
def test_a_checkpoint_is_one_that_was_written_or_none(kept: Kept, draws: st.DataObject | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{NAME}.json"
        for number, loop in enumerate(kept.loops):
            checkpoint.write(path, checkpoint.Checkpoint(loop, 100 * number), Redactor({}))
        files = (path, path.with_name(f"{path.name}.sha256"), *checkpoint.backups(path)[:2])
        sound = {file: file.read_bytes() for file in files}
        for file in files:
            if draws is None:
                file.write_bytes(sealed(deeply_nested(100_000)))
            elif draws.draw(st.booleans()):
                file.write_bytes(draws.draw(damaged_bytes(file.read_bytes())))
        found, problems = checkpoint.read(path)
        written = [checkpoint.Checkpoint(loop, 100 * number) for number, loop in enumerate(kept.loops)]
        assert found is None or found in written
        assert found == written[-1] or problems, "one that is older, or none, is not taken without a word"
        assert not problems or any(file.read_bytes() != content for file, content in sound.items())
        assert "\n" not in problems


def test_a_loop_whose_every_file_is_rubbish_is_one_sentence(kept: Kept, tmp_path: Path) -> None:
    root = tmp_path / ".loop"
    store = copied(kept.store, root)
    spare = store.seals.head(root, NAME).spare
    for file in (*journal_of(root).parent.glob("*.json*"), *root.glob(f"{NAME}.json*"), spare):
        file.write_bytes(b"\xff\x00rubbish\n" * 10)
    with pytest.raises(UntilDoneError) as told:
        store.load(NAME)
    check_error(told.value)
    assert store.load(OTHER).loop_id == OTHER
