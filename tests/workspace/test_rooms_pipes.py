"""Pipes that an agent puts among installed packages: who opened one would wait for a writer for ever, deaf to every signal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from untildone.system import disk
from untildone.workspace.rooms.toolchain.installed import Distribution


def test_only_a_file_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none"):
        with pytest.raises(OSError, match=path.name):
            disk.open_promptly(str(path))
    (tmp_path / "file").write_bytes(b"one")
    with disk.open_promptly(str(tmp_path / "file")) as file:
        assert file.read() == b"one"


def test_a_pipe_in_the_place_of_metadata_is_no_metadata(tmp_path: Path) -> None:
    info = tmp_path / "thing-1.0.dist-info"
    info.mkdir()
    os.mkfifo(info / "RECORD")
    made = Distribution(str(tmp_path), info.name, "thing", "1.0", is_fresh=True, is_new=True)
    assert (made.text("RECORD"), made.hashes()) == ("", {})
