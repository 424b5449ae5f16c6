"""What an agent writes into the state of a loop: it is seen, reported once, and never believed."""

from __future__ import annotations

import json
import os
import shutil
import stat
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.support.seals import copied
from tests.support.store_conformance import COMPLETES, iteration, loop_created

from untildone.core.errors import LoopNotFound, NotOurs, StoreError
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    Entry,
    Event,
    GatesRan,
    LoopCreated,
    LoopRenamed,
    MessageSent,
    PauseRequested,
    Rested,
    ResumeRequested,
    StartRequested,
    StateRepaired,
    StopRequested,
    SubtasksChanged,
    TurnStarted,
)
from untildone.core.kinds import Host
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Outcome, Role, SessionUse, Status, SubtaskChange, Urgency
from untildone.core.values.value import replace
from untildone.store.files import FileStore
from untildone.store.lines import as_fields
from untildone.store.seals import FIRST, LoopSeal, Seals

NAME = "loop-1"


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    made = FileStore(tmp_path / ".loop")
    made.create(checked(NAME))
    with made.lease(NAME) as journal:
        journal.append(StartRequested(Host.TERMINAL), *iteration(1))
    return made


def checked(loop_id: str) -> LoopCreated:
    created = loop_created(loop_id)
    return replace(created, settings=replace(created.settings, checks=("make",)))


def journal_of(store: FileStore, loop_id: str = NAME) -> Path:
    return store.progress(loop_id) / "execution.log.jsonl"


def forged(seq: int, event: Event, loop_id: str = NAME, **more: str) -> bytes:
    """A line as anybody can write it: the right form and checksum, and no key."""
    fields = {**as_fields(Entry(seq, 1_800_000_000.0, event), loop_id), **more}
    body = json.dumps(fields).encode()[:-1]
    return body + b',"sum":"%08x"}\n' % zlib.crc32(body)


def append(store: FileStore, content: bytes) -> None:
    with journal_of(store).open("ab") as file:
        file.write(content)


def reports(store: FileStore, loop_id: str = NAME) -> list[str]:
    with closing(store.open(loop_id)) as journal:
        return [entry.event.detail for entry in journal.entries() if isinstance(entry.event, StateRepaired)]


PASSED = GatesRan((GateResult("check", "make", passed=True),))
RUNNERS: dict[str, Event] = {
    "outcome": Rested(Outcome.VERIFIED),
    "claim": AnswerRead(claimed=True),
    "gates": PASSED,
    "turn": TurnStarted(Role.WORKER, 900, 1, "claude", SessionUse.NEW, "no"),
}
EXTENDING: dict[str, Event] = {
    "start": StartRequested(Host.SERVER),
    "resume": ResumeRequested(),
    "message": MessageSent("[r+500] go on"),
    "budget": BudgetChanged(Limit.ITERATIONS, None),
    "subtasks": SubtasksChanged((SubtaskChange("1", "easy"),)),
    "title": LoopRenamed("done"),
}


def what_counts(loop: Loop) -> tuple[object, ...]:
    judged = (loop.status, loop.outcome, loop.claimed, loop.gates, loop.turn)
    return (*judged, loop.settings, loop.budget, loop.spend, loop.inbox, loop.asked, loop.tasks, loop.title, loop.host)


@pytest.mark.parametrize("seal", ["none", "invented", "of another entry"])
@pytest.mark.parametrize("event", [*RUNNERS, *EXTENDING])
def test_an_entry_that_needs_a_seal_and_has_none_does_not_count(store: FileStore, event: str, seal: str) -> None:
    before = store.load(NAME)
    copy = json.loads(journal_of(store).read_bytes().splitlines()[-1])
    more = {
        "none": {},
        "invented": {"prev": "0" * 32, "seal": "f" * 32},
        "of another entry": {"prev": copy["prev"], "seal": copy["seal"]},
    }[seal]
    append(store, forged(before.seq + 1, {**RUNNERS, **EXTENDING}[event], **more))
    assert store.load(NAME) == before
    with store.lease(NAME) as runner:
        assert what_counts(runner.loop) == what_counts(before)
        runner.append(*iteration(2))
        live = runner.loop
    assert store.load(NAME) == live
    (report,) = reports(store)
    assert "untildone did not write" in report
    with store.lease(NAME):
        pass
    assert len(reports(store)) == 1


def test_a_whole_forged_end_beside_a_live_runner_is_not_believed(store: FileStore) -> None:
    with store.lease(NAME) as runner:
        seq = runner.loop.seq
        ends: tuple[Event, ...] = (AnswerRead(claimed=True), PASSED, Rested(Outcome.VERIFIED))
        append(store, b"".join(forged(seq + number, event) for number, event in enumerate(ends, 1)))
        assert runner.catch_up() == ()
        assert (runner.loop.status, runner.loop.claimed) == (Status.RUNNING, False)
        runner.append(*iteration(2))
        assert runner.loop.seq == seq + 3 + len(ends), "three entries, and a report of each forged line"
    with closing(store.open(NAME)) as journal:
        assert [entry.seq for entry in journal.entries()] == list(range(1, journal.loop.seq + 1))
        assert not any(isinstance(entry.event, Rested) for entry in journal.entries())
    shown, _ = store.entries_after(NAME, 0)
    assert not any(isinstance(entry.event, Rested) for entry in shown)


@pytest.mark.parametrize("order", [PauseRequested(Urgency.NOW), StopRequested(Urgency.NOW, Outcome.ABANDONED)])
@pytest.mark.parametrize("seq", ["next", "old", "far"])
def test_anybody_may_pause_and_stop(store: FileStore, order: Event, seq: str) -> None:
    with store.lease(NAME) as runner:
        last = runner.loop.seq
        append(store, forged({"next": last + 1, "old": 1, "far": 10**12}[seq], order))
        assert [entry.event for entry in runner.catch_up()] == [order]
        assert runner.loop.interrupts_now
        runner.append(Rested(Outcome.PAUSED))
        assert runner.loop.seq == last + 2
    for path in store.root.glob(f"{NAME}.json*"):
        path.unlink()
    assert store.load(NAME).status is Status.PAUSED
    with closing(store.open(NAME)) as journal:
        assert [entry.seq for entry in journal.entries()] == list(range(1, journal.loop.seq + 1))


def test_a_forged_order_carries_no_outcome_that_completes(store: FileStore) -> None:
    append(store, forged(9, StopRequested(Urgency.NOW, Outcome.VERIFIED)))
    loop = store.load(NAME)
    assert loop.stop is not None
    assert loop.stop.outcome is Outcome.STOPPED


Damage = Callable[[list[bytes]], list[bytes]]
TAMPERING: dict[str, tuple[Damage, str]] = {
    "a line dropped": (lambda lines: [*lines[:2], *lines[3:]], "entries 3 to 3 are missing"),
    "lines exchanged": (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "entries 3 to 3 are missing"),
    "the tail cut off": (lambda lines: lines[:-2], "are missing"),
    "the first line forged": (lambda lines: [forged(1, loop_created(NAME, "another")), *lines[1:]], "did not write"),
}


@pytest.mark.parametrize("what", TAMPERING)
def test_tampering_with_sealed_lines_is_noticed_and_the_state_is_restored(store: FileStore, what: str) -> None:
    true = store.load(NAME)
    damage, report = TAMPERING[what]
    path = journal_of(store)
    path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))
    for checkpoint in store.root.glob(f"{NAME}.json*"):
        checkpoint.unlink()
    with closing(store.open(NAME)) as journal:
        assert any(report in repair for repair in journal.repairs), journal.repairs
        assert journal.loop == true, "the copy in the state folder has it all"
    with store.lease(NAME) as runner:
        assert runner.append(MessageSent("on"))[-1].seq > true.seq
    assert any(report in each for each in reports(store))


def test_an_entry_in_the_place_of_another_one_is_noticed(store: FileStore) -> None:
    """Both entries are ours: one was kept when the journal was cut off, and put back later."""
    path = journal_of(store)
    with closing(store.open(NAME)) as journal:
        journal.append(MessageSent("the first"))
    *before, kept = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(before))
    store.seals.head(store.root, NAME).create(len(before), FIRST)
    with closing(store.open(NAME)) as journal:
        journal.append(MessageSent("the second"), MessageSent("the third"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-2], kept, lines[-1]]))
    for checkpoint in store.root.glob(f"{NAME}.json*"):
        checkpoint.unlink()
    with closing(store.open(NAME)) as journal:
        assert any("was written after another entry" in repair for repair in journal.repairs), journal.repairs


def rewritten(store: FileStore, **changes: Any) -> None:
    """Forge the checkpoint and its backups, with checksums that fit."""
    path = store.root / f"{NAME}.json"
    for each in (path, *store.root.glob(f"{NAME}.json.backup.*")):
        fields = {**json.loads(each.read_bytes()), **changes}
        fields.pop("sum")
        body = json.dumps(fields, separators=(",", ":")).encode()[:-1]
        each.write_bytes(body + b',"sum":"%08x"}' % zlib.crc32(body))
    path.with_name(f"{path.name}.sha256").write_text(f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n")


def test_a_forged_checkpoint_is_not_used(store: FileStore) -> None:
    true = store.load(NAME)
    fields = json.loads((store.root / f"{NAME}.json").read_bytes())
    settings = {**fields["settings"], "checks": ["true"]}
    rewritten(
        store,
        settings=settings,
        budget={**fields["budget"], "iterations": None},
        spend={**fields["spend"], "iterations": 0},
        gates=[{"gate": "check", "command": "true", "passed": True}],
        claimed=True,
    )
    assert store.load(NAME) == true
    with store.lease(NAME) as runner:
        assert (runner.loop.settings, runner.loop.budget) == (true.settings, true.budget)
        assert (runner.loop.spend, runner.loop.gates, runner.loop.claimed) == (true.spend, (), False)
    assert any("untildone did not write it" in each for each in reports(store))


def test_a_checkpoint_of_another_loop_or_time_is_not_used_as_it_is(store: FileStore) -> None:
    store.create(loop_created("loop-2"))
    other = (store.root / "loop-2.json").read_bytes().replace(b"loop-2", b"loop-1")
    early = {path: path.read_bytes() for path in store.root.glob(f"{NAME}.json*")}
    with store.lease(NAME) as runner:
        runner.append(*iteration(2), BudgetChanged(Limit.ITERATIONS, 2))
        true = runner.loop
    (store.root / f"{NAME}.json").write_bytes(other)
    assert store.load(NAME) == true
    for path, content in early.items():
        path.write_bytes(content)
    assert store.load(NAME) == true, "the journal goes on after an older checkpoint"
    journal = journal_of(store)
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:5]))
    assert store.load(NAME) == true, "nor do an older checkpoint and an older journal bring rounds back"


def test_entries_of_another_loop_do_not_count(store: FileStore) -> None:
    store.create(loop_created("loop-2"))
    with store.lease("loop-2") as journal:
        journal.append(StartRequested(), *iteration(1), *COMPLETES)
    before = store.load(NAME)
    append(store, b"".join(line.replace(b"loop-2", b"loop-1") for line in journal_of(store, "loop-2").open("rb")))
    assert store.load(NAME) == before


def invented(store: FileStore, loop_id: str) -> None:
    """A loop in the history that no runner ever wrote."""
    folder = store.root / "history" / f"2026-01-01_{loop_id}"
    folder.mkdir(parents=True)
    events: tuple[Event, ...] = (
        checked(loop_id),
        StartRequested(),
        AnswerRead(claimed=True),
        PASSED,
        Rested(Outcome.VERIFIED, "all good"),
    )
    lines = [forged(seq, event, loop_id) for seq, event in enumerate(events, 1)]
    (folder / "execution.log.jsonl").write_bytes(b"".join(lines))
    (folder / "receipt.json").write_text(json.dumps({"loop_id": loop_id, "outcome": "verified", "gates": []}))


def assert_not_believed(loop: Loop) -> None:
    assert loop.not_ours
    assert (loop.status, loop.outcome) == (Status.FAILED, Outcome.FAILED)
    assert "not believed" in loop.reason


def test_invented_history_is_shown_as_not_ours(store: FileStore) -> None:
    invented(store, "loop-9")
    assert_not_believed(store.load("loop-9"))
    assert store.ids() == (NAME, "loop-9")
    assert store.find("last") == NAME
    assert store.find("loop-9") == "loop-9"
    assert (store.is_ours(NAME), store.is_ours("loop-9")) == (True, False)
    (status,) = store.survey(["loop-9"])
    assert status.loop is not None
    assert status.loop.not_ours
    with closing(store.open("loop-9")) as journal:
        assert len(list(journal.entries())) == 5
    assert len(store.entries_after("loop-9", 0)[0]) == 5


def test_a_store_that_has_only_invented_loops_has_no_last_one(tmp_path: Path) -> None:
    store = FileStore(tmp_path / ".loop")
    invented(store, "loop-9")
    with pytest.raises(LoopNotFound):
        store.find("last")


def test_a_loop_of_another_folder_is_not_ours_here(store: FileStore, tmp_path: Path) -> None:
    with store.lease(NAME) as journal:
        journal.append(AnswerRead(claimed=True), PASSED, Rested(Outcome.VERIFIED))
    store.archive(NAME, "{}", "")
    assert store.load(NAME).outcome is Outcome.VERIFIED
    shutil.copytree(store.root, tmp_path / "other" / ".loop")
    assert_not_believed(FileStore(tmp_path / "other" / ".loop").load(NAME))


def test_a_loop_that_is_not_ours_can_be_stopped_and_cannot_go_on(store: FileStore, tmp_path: Path) -> None:
    shutil.copytree(store.root, tmp_path / "other" / ".loop")
    other = FileStore(tmp_path / "other" / ".loop")
    with closing(other.open(NAME)) as journal:
        for event in (ResumeRequested(), MessageSent("on"), *COMPLETES):
            with pytest.raises(NotOurs) as caught:
                journal.append(event)
            assert caught.value.hint
        journal.append(PauseRequested(), StopRequested())
        assert journal.loop.stop is not None
    with pytest.raises(NotOurs), other.lease(NAME):
        pass
    assert not other.is_driven(NAME)
    assert other.running_ids(Host.TERMINAL) == other.running_ids(Host.NONE) == ()


def replaced_by_a_folder(key: Path) -> None:
    key.unlink()
    key.mkdir()


KEYS: dict[str, Callable[[Path], object]] = {
    "missing": lambda key: key.unlink(),
    "empty": lambda key: key.write_bytes(b""),
    "short": lambda key: key.write_bytes(b"x" * 31),
    "a folder": replaced_by_a_folder,
}


@pytest.mark.parametrize("how", KEYS)
def test_without_its_key_nothing_is_believed_and_nothing_is_lost(store: FileStore, how: str) -> None:
    with store.lease(NAME) as journal:
        journal.append(AnswerRead(claimed=True), PASSED, Rested(Outcome.VERIFIED))
    store.create(checked("loop-2"))
    key = store.seals.path.read_bytes()
    KEYS[how](store.seals.path)
    bare = FileStore(store.root)
    assert_not_believed(bare.load(NAME))
    assert str(store.seals.path) in bare.load(NAME).not_ours
    with pytest.raises(StoreError) as caught:
        bare.create(checked("loop-3"))
    assert str(store.seals.path) in caught.value.sentence
    assert "put the key back" in caught.value.hint
    with closing(bare.open("loop-2")) as journal, closing(store.open("loop-2")) as runner:
        journal.append(StopRequested())
        runner.catch_up()
        assert runner.loop.stop is not None, "a runner that has read the key before obeys"
    if store.seals.path.is_dir():
        store.seals.path.rmdir()
    store.seals.path.write_bytes(key)
    assert FileStore(store.root).load(NAME).outcome is Outcome.VERIFIED


def test_a_new_key_is_made_by_the_persons_own_act(store: FileStore) -> None:
    heads = store.seals.path.parent / "heads"
    store.seals.path.unlink()
    shutil.rmtree(heads)
    bare = FileStore(store.root)
    assert bare.create(checked("loop-2")).not_ours == ""
    assert bare.load(NAME).not_ours
    assert bare.find("last") == "loop-2"


def test_the_key_is_readable_by_its_owner_only_and_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "untildone"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _number: Seals(str(folder)).for_new("loop-1").sealed(b"x"), range(8)))
    assert len(set(made)) == 1
    key = folder / "key"
    assert (len(key.read_bytes()), stat.S_IMODE(key.stat().st_mode)) == (32, 0o600)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert os.listdir(folder) == ["key"]


def test_files_of_a_loop_are_readable_by_their_owner_only(store: FileStore) -> None:
    old = os.umask(0)
    try:
        store.create(checked("loop-2"))
        with store.lease("loop-2") as journal:
            journal.append(*iteration(1))
    finally:
        os.umask(old)
    paths = [journal_of(store, "loop-2"), *store.root.glob("loop-2.json*"), store.seals.head(store.root, "loop-2").path]
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in paths} == {path.name: 0o600 for path in paths}
    assert stat.S_IMODE(store.progress("loop-2").stat().st_mode) == 0o700


def test_a_deleted_loop_leaves_nothing_in_the_state_folder(store: FileStore) -> None:
    store.delete(NAME)
    assert list((store.seals.path.parent / "heads").iterdir()) == []
    store.create(checked(NAME))
    assert store.load(NAME).seq == 1


def test_a_seal_fits_one_loop_and_one_kind_of_file() -> None:
    one, other, key = LoopSeal(b"k" * 32, "loop-1"), LoopSeal(b"k" * 32, "loop-2"), LoopSeal(b"x" * 32, "loop-1")
    line, seal = one.linked(b'{"a":1', FIRST)
    assert json.loads(line + b"}") == {"a": 1, "prev": FIRST.decode(), "seal": seal.decode()}
    link = one.link(line)
    assert link is not None
    assert (link.previous, link.seal) == (FIRST, seal)
    assert other.link(line) is key.link(line) is one.link(line[:-1]) is one.link(b"") is None
    assert not one.is_sealed(line)
    state = one.sealed(b'{"a":1')
    assert one.is_sealed(state)
    assert one.link(state) is None
    assert not other.is_sealed(state)
    for at in range(len(line)):
        assert one.link(line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :]) is None


def test_a_copy_in_another_folder_with_its_heads_is_ours(store: FileStore, tmp_path: Path) -> None:
    assert copied(store, tmp_path / "other").load(NAME) == store.load(NAME)
