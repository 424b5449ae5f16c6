"""Files that an agent program writes while it works: each line once, from the start of the run on, whatever stands in their place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from untildone.engine.agent import side_files
from untildone.engine.agent.side_files import SideFiles


@pytest.fixture(autouse=True)
def always_look(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOOK_EVERY", "SEARCH_EVERY", "SEARCH_SHARE"):
        monkeypatch.setattr(side_files, name, 0)


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_whole_lines_come_once_and_those_from_before_the_run_never(tmp_path: Path) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    append(old, "before\n")
    files = SideFiles((f"{tmp_path}/*.jsonl",))
    assert list(files.lines()) == []
    append(old, "one\nhal")
    append(new, "two\n")
    append(tmp_path / "other", "three\n")
    assert sorted(files.lines()) == [b"one", b"two"]
    append(old, "f\n")
    assert list(files.lines()) == [b"half"]
    append(new, "four\nunfinished")
    assert list(files.last_lines()) == [b"four"]
    assert list(files.last_lines()) == []


def test_a_file_that_was_written_anew_is_not_counted_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    files = SideFiles((str(path),))
    append(path, "one\ntwo\n")
    assert list(files.lines()) == [b"one", b"two"]
    path.write_text("one\n")
    assert list(files.lines()) == []
    append(path, "three\n")
    assert list(files.lines()) == [b"three"]


def test_links_pipes_and_folders_are_not_read(tmp_path: Path) -> None:
    files = SideFiles((f"{tmp_path}/*.jsonl",))
    append(tmp_path / "secret", "one\n")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "secret")
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert list(files.lines()) == list(files.last_lines()) == []


def test_what_is_read_at_a_look_is_bounded_and_the_rest_follows(tmp_path: Path) -> None:
    path, count = tmp_path / "a.jsonl", 3 * side_files.CHUNK // 100
    files = SideFiles((str(path),))
    path.write_text(f"{'x' * 99}\n" * count)
    assert len(list(files.lines())) * 100 <= side_files.CHUNK
    assert len(list(files.last_lines())) * 100 >= 2 * side_files.CHUNK


def test_there_may_be_no_files_at_all(tmp_path: Path) -> None:
    for patterns in ((), ("",), (f"{tmp_path}/nowhere/*",)):
        files = SideFiles(patterns)
        assert list(files.lines()) == list(files.last_lines()) == []


def test_after_the_end_all_files_together_are_bounded_and_none_hides_another(tmp_path: Path) -> None:
    files = SideFiles((f"{tmp_path}/*.jsonl",))
    for number in range(side_files.MOST_FILES - 1):
        path = tmp_path / f"{number}.jsonl"
        path.touch()
        os.truncate(path, 1 << 40)
    append(tmp_path / "own.jsonl", "one\n")
    assert list(files.last_lines()) == [b"one"]
