"""What is asked of a repository directly."""

from __future__ import annotations

import subprocess
from pathlib import Path

from untildone.workspace.git import holds


def test_a_commit_that_cannot_be_read_may_hold_any_file(tmp_path: Path) -> None:
    """So that an approval of a deleted file never becomes one of whatever is there later."""
    (tmp_path / "a.txt").write_text("1\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (
        ("init",),
        ("add", "a.txt"),
        (*who, "commit", "-m", "x"),
        ("rm", "a.txt"),
        (*who, "commit", "-m", "y"),
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    assert holds(str(tmp_path), "HEAD~1", "a.txt")
    assert not holds(str(tmp_path), "HEAD", "a.txt")
    assert not holds(str(tmp_path), "HEAD", ".venv/x.py")
    assert holds(str(tmp_path), "0" * 40, "a.txt")
