"""The live state file in the workspace: its owner, what counts as an edit, and its end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from untildone.core.errors import StoreError
from untildone.core.protection.secrets import Redactor
from untildone.store.live import LARGEST, Edit, LiveFile

FIRST, SECOND = "loop-20260118-100000000-aaaaaa", "loop-20260118-100000001-bbbbbb"
SECRET = "s3cr3t-t0k3n-value"


class Desk:
    """A workspace in which loops keep their live files."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.folder = folder

    def live(self, loop_id: str = FIRST) -> LiveFile:
        progress = self.folder / f"{loop_id}.progress"
        progress.mkdir(exist_ok=True)
        redactor = Redactor.from_environment({"SERVICE_TOKEN": SECRET})
        return LiveFile(str(self.workspace), progress, loop_id, redactor)

    @property
    def usual(self) -> Path:
        return self.workspace / ".claude" / "ralph-delta.local.md"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def state(loop_id: str = FIRST, status: str = "IN_PROGRESS", more: str = "") -> str:
    return f"# Delta Loop State\n\n## Meta\n- Task ID: {loop_id}\n\n## Iteration\n- Status: {status}\n{more}"


def test_only_text_written_by_others_is_an_edit(desk: Desk) -> None:
    live = desk.live()
    live.write(state())
    assert live.path == desk.usual
    assert live.edited() is None
    desk.usual.write_text(state(more="- [x] mine\n"))
    assert live.edited() == Edit(state(more="- [x] mine\n"), state())
    assert desk.live().edited() == live.edited(), "another runner sees the same"


def test_an_edit_counts_until_it_is_accepted(desk: Desk) -> None:
    live = desk.live()
    live.write(state())
    desk.usual.write_text("mine")
    live.accept("mine")
    assert live.edited() is None
    desk.usual.write_text("mine again")
    assert live.edited() == Edit("mine again", "mine")
    live.write(state())
    assert live.edited() is None


def test_a_deleted_file_is_no_edit_and_is_written_again(desk: Desk) -> None:
    live = desk.live()
    live.write(state())
    desk.usual.unlink()
    assert live.edited() is None
    live.write(state())
    assert desk.usual.read_text() == state()


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED", "USER_ABORT"])
def test_the_file_of_an_ended_loop_is_no_edit_and_is_overwritten(desk: Desk, status: str) -> None:
    desk.live(SECOND).write(state(SECOND, status))
    live = desk.live()
    assert live.edited() is None
    live.write(state())
    assert desk.usual.read_text() == state()


@pytest.mark.parametrize("other", [SECOND, "abc123"])
def test_another_live_loop_keeps_the_usual_name(desk: Desk, other: str) -> None:
    desk.usual.parent.mkdir()
    desk.usual.write_text(state(other))
    live = desk.live()
    live.write(state())
    assert live.path.name == "ralph-delta.aaaaaa.local.md"
    assert desk.usual.read_text() == state(other)
    desk.usual.unlink()
    assert desk.live().path == live.path, "it stays where it is"
    assert live.edited() is None


def test_two_loops_that_start_at_the_same_moment_get_two_files(desk: Desk) -> None:
    first, second = desk.live(FIRST), desk.live(SECOND)
    first.write(state(FIRST))
    desk.usual.write_text(state(SECOND))
    assert first.edited() is None, "another loop's state is no edit"
    first.write(state(FIRST))
    second.write(state(SECOND))
    assert first.path != second.path
    assert (first.edited(), second.edited()) == (None, None)


def test_a_file_whose_owner_line_an_agent_changed_stays_ours(desk: Desk) -> None:
    live = desk.live()
    live.write(state())
    desk.usual.write_text(state("my-task"))
    assert live.path == desk.usual
    assert live.edited() == Edit(state("my-task"), state())


def test_no_secret_reaches_the_file_or_its_copy(desk: Desk) -> None:
    live = desk.live()
    live.write(state(more=SECRET))
    assert live.edited() is None
    desk.usual.write_text(state(more=f"the token is {SECRET}"))
    edit = live.edited()
    assert edit is not None
    assert SECRET not in edit.text
    live.accept(edit.text)
    assert live.edited() is None
    copies = [path for path in desk.folder.rglob("*") if path.is_file() and path != desk.usual]
    assert copies
    assert not any(SECRET in path.read_text() for path in copies)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"a\r\nb", b"x" * (LARGEST + 10)])
def test_any_bytes_are_read(desk: Desk, content: bytes) -> None:
    live = desk.live()
    live.write(state())
    desk.usual.write_bytes(content)
    edit = live.edited()
    assert edit is not None
    assert edit.text == content[:LARGEST].decode("utf-8", "replace")
    live.accept(edit.text)
    assert live.edited() is None


def test_a_path_that_is_no_regular_file_does_not_block(desk: Desk) -> None:
    live = desk.live()
    live.write(state())
    desk.usual.unlink()
    os.mkfifo(desk.usual)
    assert live.edited() is None
    live.write(state())
    assert desk.usual.read_text() == state()


def test_a_folder_that_cannot_be_created_is_reported_in_one_sentence(desk: Desk) -> None:
    (desk.workspace / ".claude").write_text("a file")
    with pytest.raises(StoreError, match=r"Cannot use .*\.claude"):
        desk.live().write(state())


def test_the_file_of_an_ended_loop_moves_to_the_history(desk: Desk, tmp_path: Path) -> None:
    live = desk.live()
    live.write(state())
    live.retire((tmp_path / "ralph-delta.state.md").write_text, state(status="COMPLETED", more=SECRET))
    assert not desk.usual.exists()
    kept = (tmp_path / "ralph-delta.state.md").read_text()
    assert kept.startswith(state(status="COMPLETED"))
    assert SECRET not in kept
    live.retire((tmp_path / "ralph-delta.state.md").write_text, state(status="COMPLETED"))


def test_the_file_of_another_loop_stays(desk: Desk, tmp_path: Path) -> None:
    live = desk.live()
    live.write(state())
    desk.usual.write_text(state(SECOND))
    live.retire((tmp_path / "ralph-delta.state.md").write_text, state(status="FAILED"))
    assert desk.usual.read_text() == state(SECOND)
    assert (tmp_path / "ralph-delta.state.md").read_text() == state(status="FAILED")
