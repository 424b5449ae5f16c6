"""Ignore rules in one file mean the same as git's own, which lie in many."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.repositories import git

from untildone.workspace.shadow import Shadow
from untildone.workspace.shadow.rules import combined, translated


@pytest.mark.parametrize(
    ("folder", "content", "expected"),
    [
        (b"", b"*.log\n", b"*.log\n"),
        (b"a", b"*.log\n", b"/a/**/*.log\n"),
        (b"a/b", b"/x\ny/z\nq/\n", b"/a/b/x\n/a/b/y/z\n/a/b/**/q/\n"),
        (b"a", b"!keep\n!/b/c\n", b"!/a/**/keep\n!/a/b/c\n"),
        (b"a", b"# remark\n\n   \n/\n!\n!/\n", b""),
        (b"a", b"\\#x\n\\!x\nx\\ \n", b"/a/**/\\#x\n/a/**/\\!x\n/a/**/x\\ \n"),
        (b"a", b"x\r\n \r\n", b"/a/**/x\r\n"),
        (b"a", b"\xef\xbb\xbfx", b"/a/**/x\n"),
        (b"a*[b\\", b"x\n", b"/a\\*\\[b\\\\/**/x\n"),
        (b"a\nb", b"x\n", b"/a?b/**/x\n"),
        (b"a", b"x\0y\n", b"/a/**/x\n"),
    ],
)
def test_rules_of_a_folder_as_rules_at_the_top(folder: bytes, content: bytes, expected: bytes) -> None:
    assert translated(folder, content) == expected


def test_deeper_files_outweigh_those_above() -> None:
    files = {b"a/b/.gitignore": b"3\n", b".gitignore": b"1\n", b"a/.gitignore": b"2\n"}
    assert combined(b"0", files) == b"0\n1\n/a/**/2\n/a/b/**/3\n"


NAMES = ("x", "y.log", "build", "sub", "a b", "#x", "!x", "[z]", "x ")
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
PARTS = st.sampled_from(
    ("x", "y.log", "*.log", "build", "sub", "*", "**", "?", "a\\ b", "\\#x", "\\!x", "\\[z\\]", "[!x]", "x\\ ")
)
PATTERNS = st.builds(
    lambda negated, rooted, parts, folder, end: f"{negated}{rooted}{'/'.join(parts)}{folder}{end}",
    st.sampled_from(("", "", "", "!")),
    st.sampled_from(("", "", "/")),
    st.lists(PARTS, min_size=1, max_size=3),
    st.sampled_from(("", "", "/")),
    st.sampled_from(("\n", "\n", "\r\n", " \n", "\n\n", "\n#no\n", "\n/\n", "\n  \n")),
)
RULE_FILES = st.dictionaries(
    st.sampled_from(("", "sub", "sub/build", "build", "[z]", "a b/sub", "x/x")),
    st.lists(PATTERNS, min_size=1, max_size=3).map("".join),
    max_size=4,
)


def write(path: Path, content: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        """Another path that was drawn needs the name for a file or folder."""


def as_git_says(place: Path) -> set[str]:
    command = ("git", "ls-files", "-z", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=place, capture_output=True, check=True, timeout=60).stdout
    return {os.fsdecode(path) for path in listed.split(b"\0") if path}


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sets(PATHS, min_size=1, max_size=12), RULE_FILES, st.lists(PATTERNS, max_size=2).map("".join))
@example({"sub/x", "sub/y.log", "y.log"}, {"": "*.log\n", "sub": "!y.log\n"}, "")
@example({"build/x", "build/sub/x"}, {"": "build/\n", "build": "!x\n"}, "")
@example({"sub/x", "sub/build/x"}, {"sub": "*\n"}, "")
@example({"x/x", "x/y.log"}, {"x/x": "y.log\n", "": "/*\n!/x\n"}, "x\n")
def test_files_that_count_are_those_that_git_lists(
    paths: set[str], rule_files: Mapping[str, str], excluded: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "it")
        git(Path(folder), "init", "--quiet", "it")
        for path in sorted(paths):
            write(place / path, "content\n")
        for below, content in rule_files.items():
            write(place / below / ".gitignore", content)
        (place / ".git" / "info").mkdir(exist_ok=True)
        (place / ".git" / "info" / "exclude").write_text(excluded)
        shadow = Shadow(str(place), {"XDG_STATE_HOME": f"{folder}/state"})
        assert shadow.files(shadow.take().tree).keys() == as_git_says(place)


def test_rules_of_the_person_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "--quiet", "it")
    for name in ("a.tmp", "a.txt", "b.txt"):
        (tmp_path / "it" / name).write_text("x\n")
    (tmp_path / "mine").write_text("*.tmp\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    (tmp_path / "config").write_text(f"[core]\nexcludesFile = {tmp_path}/mine\n")
    shadow = Shadow(str(tmp_path / "it"))
    assert shadow.files(shadow.take().tree).keys() == {"a.txt", "b.txt"}
