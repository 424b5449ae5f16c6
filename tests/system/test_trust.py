"""Which content of a file counts, by who can have changed it: a person while no loop is at work, or anybody during one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from untildone.core.kinds import Host
from untildone.system import running, state_folder, trust
from untildone.system.trust import Watched

LOOP = "loop-1"


class Place:
    """A workspace with a settings file and a folder of action texts."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "untildone.toml"
        self.actions = folder / "actions"
        self.actions.mkdir()
        self.file.write_text("before")
        self.watched = Watched((str(self.file), str(folder / "SUPERVISOR.md")), (f"{self.actions}/*.md",))

    def begin(self, loop_id: str = LOOP) -> None:
        fields = {"host": Host.TERMINAL.value, "workspace": "/w", "home": "/w"}
        running.put(running.this_process(loop_id, **fields))
        trust.begin(loop_id, self.watched)

    def end(self, loop_id: str = LOOP) -> tuple[str, ...]:
        running.forget(loop_id)
        return trust.end(loop_id)

    @property
    def counts(self) -> bytes | None:
        return trust.content(self.file)

    @property
    def changed(self) -> list[str]:
        return [os.path.basename(change.path) for change in trust.changes(self.watched)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_change_while_no_loop_is_at_work_counts(place: Place) -> None:
    place.begin()
    place.end()
    place.file.write_text("a person's")
    assert (place.counts, place.changed) == (b"a person's", [])
    place.begin()
    place.end()
    assert (place.counts, place.changed) == (b"a person's", [])


def test_a_change_during_a_loop_does_not_count_before_it_is_accepted(place: Place) -> None:
    place.begin()
    place.file.write_text("an agent's")
    assert (place.counts, place.changed) == (b"before", ["untildone.toml"]), "while the loop runs"
    assert place.end() == (str(place.file),)
    assert (place.counts, place.changed) == (b"before", ["untildone.toml"]), "after its end"
    place.begin("loop-2")
    place.end("loop-2")
    assert place.counts == b"before", "another loop accepts nothing"
    trust.accept(place.file)
    assert (place.counts, place.changed) == (b"an agent's", [])


def test_a_deleted_record_hides_no_change_from_the_process_that_took_the_loop_up(place: Place) -> None:
    place.begin()
    place.file.write_text("an agent's")
    shutil.rmtree(Path(state_folder.folder(), "trust"))
    assert place.end() == (str(place.file),)
    assert (place.counts, place.changed) == (b"before", ["untildone.toml"])


def test_an_acceptance_without_a_seal_does_not_count(place: Place) -> None:
    Path(state_folder.made(), state_folder.KEY).write_bytes(os.urandom(32))
    place.begin()
    place.file.write_text("an agent's")
    (record,) = Path(state_folder.folder(), "trust", "files").iterdir()
    record.write_bytes(record.read_bytes().replace(b"before", b"an agent's"))
    place.end()
    assert (place.counts, place.changed) == (b"before", ["untildone.toml"])


def test_a_runner_that_was_killed_leaves_the_change_unaccepted(place: Place) -> None:
    place.begin()
    place.file.write_text("an agent's")
    running.forget(LOOP)
    trust.settle()
    assert (place.counts, place.changed) == (b"before", ["untildone.toml"])


def test_an_edit_after_the_loop_does_not_hide_what_the_agent_wrote(place: Place) -> None:
    place.begin()
    place.file.write_text("an agent's")
    place.end()
    place.file.write_text("an agent's, and a line of a person")
    assert place.counts == b"before"
    place.file.write_text("before")
    assert (place.counts, place.changed) == (b"before", [])


def test_what_is_accepted_during_a_loop_counts_until_it_changes_again(place: Place) -> None:
    place.begin()
    place.file.write_text("a person's")
    trust.accept(place.file)
    assert place.counts == b"a person's"
    place.file.write_text("an agent's")
    assert place.counts == b"a person's"
    place.end()
    assert place.counts == b"a person's"


def test_a_new_file_and_a_deleted_one(place: Place, tmp_path: Path) -> None:
    kept = place.actions / "develop.md"
    kept.write_text("kept")
    place.begin()
    kept.unlink()
    place.file.unlink()
    (place.actions / "debug.md").write_text("an agent's")
    (tmp_path / "SUPERVISOR.md").write_text("an agent's")
    place.end()
    assert (place.counts, trust.content(kept)) == (b"before", b"kept")
    assert trust.content(tmp_path / "SUPERVISOR.md") is None
    assert trust.matching(f"{place.actions}/*.md") == [str(kept)]
    assert place.changed == ["SUPERVISOR.md", "debug.md", "develop.md", "untildone.toml"]


@pytest.mark.parametrize("kind", ["fifo", "folder", "link"])
def test_something_else_in_place_of_the_file_changes_nothing(place: Place, tmp_path: Path, kind: str) -> None:
    place.begin()
    place.file.unlink()
    if kind == "fifo":
        os.mkfifo(place.file)
    elif kind == "folder":
        place.file.mkdir()
    else:
        (tmp_path / "other").write_text("an agent's")
        place.file.symlink_to(tmp_path / "other")
    assert place.counts == b"before"
    place.end()
    assert place.counts == b"before"


def test_a_declined_change_is_not_asked_about_again(place: Place) -> None:
    place.begin()
    place.file.write_text("an agent's")
    place.end()
    (change,) = trust.changes(place.watched)
    trust.decline(change)
    (again,) = trust.changes(place.watched)
    assert (again.declined, place.counts) == (True, b"before")
    place.file.write_text("something new")
    (new,) = trust.changes(place.watched)
    assert not new.declined


def test_bytes_that_are_no_text_are_kept(place: Place) -> None:
    place.file.write_bytes(b"\xff\x00\xfe")
    place.begin()
    place.file.write_text("an agent's")
    assert place.counts == b"\xff\x00\xfe"
