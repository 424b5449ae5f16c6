"""Git repositories for tests, and how many processes a look at one starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command_line import until

from untildone.core.model import Changes
from untildone.workspace.look import Workspace
from untildone.workspace.shadow import Shadow

_IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "protocol.file.allow=always")


def git(folder: Path, *arguments: str) -> str:
    """The output of git, without the line end; an AssertionError with git's message if it fails."""
    command = ("git", *_IDENTITY, *arguments)
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.removesuffix("\n")


def without_configuration(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Git reads no configuration but that of the repository and of `home`."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


_started: list[str] = []


def _count(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen":
        _started.append(str(arguments[0]))


sys.addaudithook(_count)


def starts_no_process(place: Workspace, since: Changes | None = None) -> bool:
    """Whether a look at this moment starts no process."""
    before = len(_started)
    place.look(since)
    return len(_started) == before


def settled(folder: Path, loop_id: str = "loop-1") -> Workspace:
    """A workspace that was looked at until no file in it is so new that its time cannot be trusted."""
    place = Workspace(str(folder), loop_id)
    until(lambda: starts_no_process(place))
    return place


def counts(changes: Changes) -> tuple[int, int, int]:
    """Changed files, inserted and deleted lines."""
    return changes.files, changes.insertions, changes.deletions


def modify(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n2\n")


def create(folder: Path) -> None:
    (folder / "new" / "deep").mkdir(parents=True)
    (folder / "new" / "deep" / "b.txt").write_text("b\n")


def delete(folder: Path) -> None:
    (folder / "a.txt").unlink()


def strange_names(folder: Path) -> None:
    (folder / "new\nline").write_text("x\n")
    (folder / " héllo — 世界\t'\".txt").write_text("x\n")
    (folder / os.fsdecode(b"not-utf8-\xff")).write_text("x\n")
    (folder / ":(exclude)b").write_text("x\n")


def files_of(folder: Path, tree: str | None) -> list[str]:
    """The paths in a snapshot of the folder."""
    return sorted(Shadow(str(folder)).files(str(tree)))


def add_repository(folder: Path) -> None:
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "x.txt").write_text("x\n")


def link_instead(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)
