"""Git repositories for tests, and a git that counts how often it is called."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.command_line import until

from untildone.core.model import Changes
from untildone.workspace.look import Workspace

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


class CountedGit:
    """The real git behind a program that logs each call."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.mkdir()
        self._log = folder / "calls"
        program = folder / "git"
        program.write_text(f'#!/bin/sh\necho "$@" >> {self._log}\nexec {shutil.which("git")} "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    @property
    def calls(self) -> int:
        return len(self._log.read_text().splitlines()) if self._log.exists() else 0

    def is_spared_by(self, place: Workspace, since: Changes | None = None) -> bool:
        """Whether a look calls no git."""
        before = self.calls
        place.look(since)
        return self.calls == before


def settled(counted: CountedGit, folder: Path) -> Workspace:
    """A workspace that was looked at until no file in it is so new that its time cannot be trusted."""
    place = Workspace(str(folder))
    until(lambda: counted.is_spared_by(place))
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
    return git(folder, "ls-tree", "-r", "-z", "--name-only", str(tree)).split("\0")[:-1]


def add_repository(folder: Path) -> None:
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "x.txt").write_text("x\n")


def link_instead(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)
