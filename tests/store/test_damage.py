"""Torn, flipped, truncated, replaced and deleted files: nothing is lost that the journal or a checkpoint still contains."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.support.seals import copied
from tests.support.store_conformance import folded, iteration, loop_created

from untildone.core.errors import DamagedState
from untildone.core.events import Event, MessageSent, StartRequested, StateRepaired
from untildone.core.loop import Loop
from untildone.store import checkpoint
from untildone.store.files import FileStore

NAME = "loop-1"
ITERATIONS = 8


@dataclass(frozen=True)
class Kept:
    """A loop on disk, and its true state."""

    store: FileStore
    loop: Loop

    @property
    def root(self) -> Path:
        return self.store.root

    @property
    def checkpoint(self) -> Path:
        return self.root / f"{NAME}.json"

    @property
    def checksum(self) -> Path:
        return self.root / f"{NAME}.json.sha256"

    @property
    def backups(self) -> list[Path]:
        return sorted(self.root.glob(f"{NAME}.json.backup.*"))

    @property
    def journal(self) -> Path:
        return self.root / f"{NAME}.progress" / "execution.log.jsonl"

    def repairs(self) -> list[str]:
        journal = self.store.open(NAME)
        journal.close()
        return journal.repairs

    def recorded_repairs(self) -> list[str]:
        with closing(self.store.open(NAME)) as journal:
            events = [entry.event for entry in journal.entries()]
        return [event.detail for event in events if isinstance(event, StateRepaired)]

    def true_at(self, seq: int) -> Loop | None:
        with closing(self.store.open(NAME)) as journal:
            return folded(entry for entry in journal.entries() if entry.seq <= seq)


def drive(store: FileStore, *events: Event) -> Loop:
    with store.lease(NAME) as journal:
        journal.append(*events)
        return journal.loop


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A loop with several runs, so that it has backups, and with entries after the last checkpoint."""
    store = FileStore(tmp_path / ".loop")
    store.create(loop_created(NAME))
    drive(store, StartRequested(), *(event for number in range(1, ITERATIONS - 1) for event in iteration(number)))
    for number in (ITERATIONS - 1, ITERATIONS):
        drive(store, *iteration(number))
    with closing(store.open(NAME)) as journal:
        journal.append(MessageSent("one"), MessageSent("two"), MessageSent("three"))
        loop = journal.loop
    return Kept(store, loop)


def assert_goes_on(kept: Kept) -> None:
    """The next append works, and the whole file can be read afterwards."""
    before = kept.store.load(NAME)
    after = drive(kept.store, MessageSent("and on"))
    assert after.inbox == (*before.inbox, "and on")
    assert kept.store.load(NAME) == after
    assert kept.repairs() == []


def without_runner(loop: Loop) -> Loop:
    """The loop without its runner and times, which differ after another run."""
    return replace(loop, runner=None, seq=0, updated_at=0.0)


def flipped(content: bytes, at: int, by: int) -> bytes:
    return content[:at] + bytes([content[at] ^ by]) + content[at + 1 :]


def test_a_torn_tail_is_dropped_wherever_it_was_torn(kept: Kept, tmp_path: Path) -> None:
    content = kept.journal.read_bytes()
    *_, second, last, _ = content.split(b"\n")
    true = {count: kept.true_at(kept.loop.seq - count) for count in (1, 2)}
    torn = Kept(copied(kept.store, tmp_path / "copy"), kept.loop)
    for cut in range(1, len(second) + len(last) + 2):
        torn.journal.write_bytes(content[:-cut])
        lost = 1 if cut <= len(last) + 1 else 2
        # The writer died before it wrote the head of the entries that it was writing.
        torn.store.seals.head(torn.root, NAME).create(kept.loop.seq - lost, b"0" * 32)
        with closing(torn.store.open(NAME)) as journal:
            assert journal.loop == true[lost]
            journal.append(MessageSent("after the crash"), sync=False)
            assert journal.loop.seq == kept.loop.seq - lost + 1
        assert torn.journal.read_bytes().startswith(content[: -len(second) - len(last) - 2])
        with closing(torn.store.open(NAME)) as journal:
            assert journal.loop.inbox == (*kept.loop.inbox[: 3 - lost], "after the crash")
            assert journal.repairs == []


def test_readers_do_not_change_a_torn_tail(kept: Kept) -> None:
    content = kept.journal.read_bytes()[:-5]
    kept.journal.write_bytes(content)
    with closing(kept.store.open(NAME)) as journal:
        assert len(list(journal.entries())) == kept.loop.seq - 1
        assert journal.catch_up() == ()
    assert kept.journal.read_bytes() == content


def test_a_reader_continues_after_a_writer_replaces_a_torn_tail(kept: Kept) -> None:
    with kept.journal.open("ab") as file:
        file.write(b'{"seq":9999,"torn":"' + b"x" * 3000)
    with closing(kept.store.open(NAME)) as reader, closing(kept.store.open(NAME)) as writer:
        assert reader.catch_up() == ()
        writer.append(MessageSent("whole"))
        assert [entry.event for entry in reader.catch_up()] == [MessageSent("whole")]
        assert reader.repairs == []


@pytest.mark.parametrize("part", range(4))
def test_every_changed_byte_of_a_checkpoint_is_detected_and_repaired(kept: Kept, part: int) -> None:
    for path in (kept.checkpoint, kept.checksum):
        content = path.read_bytes()
        for at in range(part, len(content), 4):
            path.write_bytes(flipped(content, at, (0x01, 0x20, 0x80)[at % 3]))
            with closing(kept.store.open(NAME)) as journal:
                assert journal.loop == kept.loop
                assert journal.repairs, f"{path.name}, byte {at}"
        path.write_bytes(content)
    assert kept.repairs() == []


@pytest.mark.parametrize("size", [0, 1, 100, -1])
def test_a_checkpoint_of_another_length_is_detected_and_repaired(kept: Kept, size: int) -> None:
    content = kept.checkpoint.read_bytes()
    for spoiled in (content[:size], content + content, content + b"\n", b"\0" * len(content)):
        kept.checkpoint.write_bytes(spoiled)
        assert kept.repairs()
        assert kept.store.load(NAME) == kept.loop


@pytest.mark.parametrize("damaged", range(1, 5))
def test_the_newest_intact_backup_is_used(kept: Kept, damaged: int) -> None:
    paths = [kept.checkpoint, *kept.backups]
    assert len(paths) == 4
    for path in paths[:damaged]:
        path.write_bytes(flipped(path.read_bytes(), 40, 0x01))
    assert kept.store.load(NAME) == kept.loop
    (repair,) = kept.repairs()
    assert repair.count("does not match") == damaged


def test_a_deleted_checkpoint_is_recreated(kept: Kept) -> None:
    kept.checkpoint.unlink()
    assert kept.store.load(NAME) == kept.loop
    assert kept.repairs() == [f"{NAME}.json: the file is missing"]
    assert_goes_on(kept)
    assert kept.checkpoint.exists()
    assert kept.recorded_repairs() == [f"{NAME}.json: the file is missing"]


def test_a_deleted_checksum_is_detected(kept: Kept) -> None:
    kept.checksum.unlink()
    assert kept.store.load(NAME) == kept.loop
    assert kept.repairs() == [f"{NAME}.json: its checksum file is missing"]
    assert_goes_on(kept)


def test_without_backups_nothing_is_missing(kept: Kept) -> None:
    for path in kept.backups:
        path.unlink()
    assert kept.repairs() == []
    assert kept.store.load(NAME) == kept.loop


def test_the_journal_alone_is_enough(kept: Kept) -> None:
    for path in kept.root.glob(f"{NAME}.json*"):
        path.unlink()
    for path in kept.journal.parent.iterdir():
        if path.is_file() and path != kept.journal:
            path.unlink()
    shutil.rmtree(kept.journal.parent / "output")
    assert kept.store.ids() == (NAME,)
    assert kept.store.load(NAME) == kept.loop
    assert_goes_on(kept)


@pytest.mark.parametrize("with_folder", [False, True])
def test_the_checkpoint_alone_is_enough(kept: Kept, with_folder: bool) -> None:
    drive(kept.store)
    true = kept.store.load(NAME)
    if with_folder:
        kept.journal.unlink()
    else:
        shutil.rmtree(kept.journal.parent)
    assert kept.store.ids() == (NAME,)
    assert kept.store.load(NAME) == true
    assert "bytes are left" in kept.repairs()[0]
    after = drive(kept.store, MessageSent("and on"))
    assert after.spend == true.spend
    assert after.seq > true.seq
    assert kept.store.load(NAME) == after
    assert "bytes are left" in kept.recorded_repairs()[0]


def test_backups_alone_are_enough_for_the_state_they_contain(kept: Kept) -> None:
    for path in (kept.checkpoint, kept.checksum):
        path.unlink()
    shutil.rmtree(kept.journal.parent)
    assert kept.store.load(NAME).spend.iterations >= ITERATIONS - 1


def test_a_flipped_byte_in_a_line_that_a_checkpoint_covers_changes_nothing(kept: Kept) -> None:
    content = kept.journal.read_bytes()
    covered = content.index(b'"text":"one"')
    end_of_covered = content.rindex(b"\n", 0, covered)
    for at in range(0, end_of_covered, 97):
        kept.journal.write_bytes(flipped(content, at, 0x04))
        assert kept.store.load(NAME) == kept.loop
    assert_goes_on(kept)
    assert kept.store.load(NAME).spend == kept.loop.spend


def test_a_flipped_byte_in_a_line_that_nothing_covers_is_reported_and_loses_that_line_only(kept: Kept) -> None:
    content = kept.journal.read_bytes()
    start = content.rindex(b"\n", 0, content.index(b'"text":"two"')) + 1
    end = content.index(b"\n", start)
    for at in range(start, end, 7):
        kept.journal.write_bytes(flipped(content, at, 0x04))
        damaged = kept.store.load(NAME)
        assert damaged.inbox == ("one", "three")
        assert (damaged.spend, damaged.seq) == (kept.loop.spend, kept.loop.seq)
        (repair,) = kept.repairs()
        assert "the checksum does not match" in repair
    assert_goes_on(kept)
    assert "the checksum does not match" in kept.recorded_repairs()[0]


def test_a_flipped_line_end_is_reported_and_loses_two_lines_only(kept: Kept) -> None:
    content = kept.journal.read_bytes()
    line_end = content.index(b"\n", content.index(b'"text":"one"'))
    kept.journal.write_bytes(flipped(content, line_end, 0x04))
    assert kept.store.load(NAME).inbox == ("three",)
    assert kept.repairs()
    assert_goes_on(kept)


@pytest.mark.parametrize("line", [1, 2, 7, 15, -3, -1])
def test_a_flipped_byte_without_any_checkpoint_loses_no_iteration_that_later_lines_contain(
    kept: Kept, line: int
) -> None:
    for path in kept.root.glob(f"{NAME}.json*"):
        path.unlink()
    lines = kept.journal.read_bytes().splitlines(keepends=True)
    lines[line] = flipped(lines[line], 30, 0x02)
    kept.journal.write_bytes(b"".join(lines))
    damaged = kept.store.load(NAME)
    assert damaged.spend.iterations == ITERATIONS
    assert any("does not match" in repair for repair in kept.repairs())
    assert_goes_on(kept)
    assert kept.store.load(NAME).spend.iterations == ITERATIONS


def test_a_missing_line_is_reported(kept: Kept) -> None:
    lines = kept.journal.read_bytes().splitlines(keepends=True)
    kept.journal.write_bytes(b"".join([*lines[:-2], lines[-1]]))
    assert kept.store.load(NAME).inbox == ("one", "three")
    seq = kept.loop.seq - 1
    assert kept.repairs() == [f"execution.log.jsonl: entries {seq} to {seq} are missing"]
    assert_goes_on(kept)


def test_a_duplicated_line_counts_once(kept: Kept) -> None:
    lines = kept.journal.read_bytes().splitlines(keepends=True)
    kept.journal.write_bytes(b"".join([*lines, lines[-1], lines[-2]]))
    assert kept.store.load(NAME) == kept.loop
    with closing(kept.store.open(NAME)) as journal:
        assert [entry.seq for entry in journal.entries()] == list(range(1, kept.loop.seq + 1))
    assert_goes_on(kept)


def test_without_its_first_line_and_any_checkpoint_the_loss_is_reported_in_one_sentence(kept: Kept) -> None:
    for path in kept.root.glob(f"{NAME}.json*"):
        path.unlink()
    (kept.journal.parent / "created.json").unlink()
    kept.store.seals.head(kept.root, NAME).spare.unlink()
    content = kept.journal.read_bytes()
    kept.journal.write_bytes(flipped(content, 30, 0x02))
    with pytest.raises(DamagedState, match=f"The state of loop {NAME} cannot be read") as caught:
        kept.store.load(NAME)
    assert len(caught.value.sentence) < 500
    assert str(kept.journal) in caught.value.hint
    assert kept.journal.read_bytes() == flipped(content, 30, 0x02)


@pytest.mark.parametrize("lines_left", [1, 5, 12])
def test_an_older_copy_of_the_journal_does_not_revert_the_loop(kept: Kept, lines_left: int) -> None:
    drive(kept.store)
    true = kept.store.load(NAME)
    lines = kept.journal.read_bytes().splitlines(keepends=True)
    kept.journal.write_bytes(b"".join(lines[:lines_left]))
    assert kept.store.load(NAME) == true
    assert "bytes are left" in kept.repairs()[0]
    after = drive(kept.store, *iteration(true.next_iteration))
    assert after.spend.iterations == true.spend.iterations + 1
    assert after.seq > true.seq
    assert kept.store.load(NAME) == after
    assert "bytes are left" in kept.recorded_repairs()[0]


def test_control_after_an_older_copy_of_the_journal_takes_effect(kept: Kept) -> None:
    drive(kept.store)
    true = kept.store.load(NAME)
    lines = kept.journal.read_bytes().splitlines(keepends=True)
    kept.journal.write_bytes(b"".join(lines[:5]))
    for word in ("four", "five" * 2000):
        with closing(kept.store.open(NAME)) as journal:
            journal.append(MessageSent(word))
    after = kept.store.load(NAME)
    assert after.inbox == (*true.inbox, "four", "five" * 2000)
    assert without_runner(replace(after, inbox=true.inbox, asked=true.asked)) == without_runner(true)


def test_damage_that_a_runner_detects_is_recorded(kept: Kept) -> None:
    with kept.store.lease(NAME) as runner:
        with kept.journal.open("ab") as file:
            file.write(b"not an entry\n")
        with closing(kept.store.open(NAME)) as control:
            control.append(MessageSent("heard all the same"))
        assert [entry.event for entry in runner.catch_up()] == [MessageSent("heard all the same")]
        runner.append(*iteration(ITERATIONS + 1))
        truth = runner.loop
    assert "does not match" in kept.recorded_repairs()[0]
    assert kept.store.load(NAME) == truth


def test_a_control_after_damage_reaches_journals_that_read_the_line_before(kept: Kept) -> None:
    """They have folded the damaged entry, so a new entry must not reuse its number."""
    with closing(kept.store.open(NAME)) as reader:
        content = kept.journal.read_bytes()
        kept.journal.write_bytes(flipped(content, len(content) - 20, 0x01))
        with closing(kept.store.open(NAME)) as control:
            control.append(MessageSent("after the damage"))
        assert [entry.event for entry in reader.catch_up()] == [MessageSent("after the damage")]
        assert reader.loop.inbox == ("one", "two", "three", "after the damage")


def test_temp_files_of_a_writer_that_died_are_deleted(kept: Kept) -> None:
    draft = kept.root / f"{NAME}.json.4194305.tmp"
    draft.write_bytes(b"half")
    drive(kept.store)
    assert not list(kept.root.glob("*.tmp"))


def test_a_damaged_line_is_recorded_once(kept: Kept) -> None:
    """Even if a runner dies before its first checkpoint, so that the next one reads the line again."""
    files = {path: path.read_bytes() for path in (kept.checkpoint, kept.checksum)}
    content = kept.journal.read_bytes()
    kept.journal.write_bytes(flipped(content, content.index(b'"text":"two"'), 0x04))
    for _ in range(3):
        drive(kept.store, MessageSent("and on"))
        for path, old in files.items():
            path.write_bytes(old)
    assert len(kept.recorded_repairs()) == 1


def test_after_a_lost_beginning_only_damaged_lines_are_reported(kept: Kept) -> None:
    """Not every line after it, and the first one once only."""
    for path in (kept.checkpoint, kept.checksum, *kept.backups):
        path.unlink()
    kept.journal.write_bytes(flipped(kept.journal.read_bytes(), 40, 0x04))
    _, lost, damaged = kept.repairs()
    assert "its beginning is lost" in lost
    assert "the checksum does not match" in damaged
    assert kept.store.load(NAME).inbox == kept.loop.inbox


def test_entries_rewritten_in_place_of_truncated_ones_are_read(kept: Kept) -> None:
    """Entries were truncated, and new entries end at the same offset."""
    known, _ = checkpoint.read(kept.checkpoint)
    assert known is not None
    whole = b"".join(kept.journal.read_bytes()[: known.offset].splitlines(keepends=True)[:-3])

    def said(text: str) -> int:
        kept.journal.write_bytes(whole)
        journal = kept.store.open(NAME)
        journal.append(MessageSent(text))
        journal.close()
        return kept.journal.stat().st_size

    room = known.offset - said("x")
    assert room > 0
    assert said("x" + "y" * room) == known.offset
    assert kept.store.load(NAME).inbox[-1] == "x" + "y" * room
