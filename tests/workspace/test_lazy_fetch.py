"""A repository that an agent has made a partial clone: git would fetch missing objects by a program of the agent's choice."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.repositories import git as by_person

from untildone.core.errors import UsageError
from untildone.workspace.git import GitFailed, git, status_of
from untildone.workspace.look import Workspace
from untildone.workspace.person_git import index
from untildone.workspace.person_git.worktrees import create_worktree

REMOTES = {
    "a program for uploads": {"remote.evil.url": "{root}", "remote.evil.uploadpack": "{program}"},
    "a program as address": {"remote.evil.url": "ext::{program} %S", "protocol.ext.allow": "always"},
    "a program for ssh": {"remote.evil.url": "ssh://localhost/x", "core.sshCommand": "{program}"},
    "a helper for another protocol": {"remote.evil.url": "evil://x"},
}


class Trap:
    """A repository with a missing object, and a program that leaves a trace if it is run."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self.root, self.trace, program = folder / "project", folder / "trace", folder / "program"
        program.write_text(f"#!/bin/sh\ntouch {self.trace}\nexit 1\n")
        program.chmod(0o755)
        helper = program.with_name("git-remote-evil")
        helper.symlink_to(program)
        by_person(folder, "init", "-q", "-b", "main", str(self.root))
        (self.root / "file").write_text("content\n")
        by_person(self.root, "add", "file")
        by_person(self.root, "commit", "-q", "-m", "first")
        self.blob = by_person(self.root, "rev-parse", "HEAD:file")
        partial = {
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "evil",
            "remote.evil.promisor": "true",
        }
        for name, value in {**partial, **settings}.items():
            by_person(self.root, "config", name, value.format(root=self.root, program=program))
        (self.root / ".git/objects" / self.blob[:2] / self.blob[2:]).unlink()

    def works(self) -> bool:
        """Whether git itself runs the program. Removes the trace."""
        command = ["git", "cat-file", "blob", self.blob]
        subprocess.run(command, cwd=self.root, capture_output=True, timeout=60, check=False)
        ran = self.trace.exists()
        self.trace.unlink(missing_ok=True)
        return ran


@pytest.mark.parametrize("settings", REMOTES.values(), ids=REMOTES)
def test_untildone_runs_no_program_to_fetch_a_missing_object(
    tmp_path: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    trap = Trap(tmp_path, settings)
    assert trap.works(), "git itself runs the program"
    root = str(trap.root)
    with pytest.raises(GitFailed):
        git(root, "cat-file", "blob", trap.blob)
    (trap.root / "file").write_text("changed\n")
    status_of(root)
    Workspace(root, "loop-1").look()
    index.staged(root)
    assert not trap.trace.exists()


@pytest.mark.parametrize("settings", REMOTES.values(), ids=REMOTES)
def test_a_worktree_outside_of_a_box_fetches_nothing_and_says_what_helps(
    tmp_path: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    trap = Trap(tmp_path, settings)
    with pytest.raises(UsageError) as refused:
        create_worktree(str(trap.root), "loop-1", tmp_path / "worktree")
    assert not trap.trace.exists()
    assert f"git -C {trap.root} archive HEAD" in refused.value.hint
