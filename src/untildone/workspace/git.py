"""Calls of git: as few processes as possible, without the person's hooks, and without changing their index or configuration."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from untildone.core import live_file
from untildone.core.errors import UsageError
from untildone.core.model import EMPTY
from untildone.core.value import dataclass

GIT_SECONDS = 300.0
MANY_FILES = 1000
"""From this number of changed files on, git writes them into one pack: a file for each would take ten times as long."""
OURS = (":(exclude,glob)**/.loop/**", f":(exclude,glob)**/{live_file.FOLDER}/{live_file.STEM}*{live_file.ENDING}")
"""Files that untildone itself writes into a workspace."""

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.splitIndex": "false",
    "core.safecrlf": "false",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "advice.addEmbeddedRepo": "false",
}
_COMMAND = ("git", "--no-pager", *(part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")))
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
# Variables that would point git to another repository, as when a git hook started untildone.
_FOREIGN = re.compile(r"GIT_(DIR|WORK_TREE|INDEX_\w+|\w*OBJECT_DIRECTOR\w+|COMMON_DIR|PREFIX|NAMESPACE|\w+_PATHSPECS)")


class GitFailed(Exception):
    """Git is missing or failed. The text is git's own message."""


def git(
    folder: str, *arguments: str, env: Mapping[str, str] = EMPTY, stdin: bytes = b"", fine: tuple[int, ...] = (0,)
) -> bytes:
    """The standard output of a git command. Raises GitFailed unless its exit code is in `fine`."""
    command = (*_COMMAND, *arguments)
    inherited = {name: value for name, value in os.environ.items() if not _FOREIGN.fullmatch(name)}
    env = {**inherited, **_ENVIRONMENT, **env}
    try:
        ended = subprocess.run(command, cwd=folder, env=env, input=stdin, capture_output=True, timeout=GIT_SECONDS)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise GitFailed(str(error)) from error
    if ended.returncode not in fine:
        lines = ended.stderr.decode(errors="replace").splitlines()
        reason = next((line for line in lines if line.startswith(("fatal: ", "error: "))), f"exit {ended.returncode}")
        raise GitFailed(reason.removeprefix("fatal: ").removeprefix("error: ").rstrip("."))
    return ended.stdout


def line_of(answer: bytes) -> str:
    """The only line of git's output."""
    return answer.decode().strip()


@dataclass(frozen=True, slots=True)
class Entry:
    """A changed path in the output of `git status`."""

    path: bytes
    tracked: bool
    nested: bool
    """Whether it is another repository: a submodule, or a repository that git does not track."""


@dataclass(frozen=True, slots=True)
class Status:
    """The result of one `git status`."""

    raw: bytes
    head: str | None
    branch: str | None
    entries: tuple[Entry, ...]

    @property
    def foreign(self) -> list[bytes]:
        """Nested repositories that are not submodules. Git cannot always add them, so they are left out."""
        return [entry.path for entry in self.entries if entry.nested and not entry.tracked]


def status_of(root: str) -> Status:
    """Run `git status` for the whole work tree, without the files of untildone."""
    form = ("--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--no-renames")
    raw = git(root, "status", *form, "--", ".", *OURS)
    facts, entries = {}, []
    for record in raw.split(b"\0"):
        match record[:1]:
            case b"#":
                _, name, value = record.split(b" ", 2)
                facts[name] = None if value in (b"(initial)", b"(detached)") else os.fsdecode(value)
            case b"1" | b"u":
                fields = record.split(b" ", 8 if record[:1] == b"1" else 10)
                entries.append(Entry(fields[-1], tracked=True, nested=fields[2].startswith(b"S")))
            case b"?":
                entries.append(Entry(record[2:].rstrip(b"/"), tracked=False, nested=record.endswith(b"/")))
    return Status(raw, facts.get(b"branch.oid"), facts.get(b"branch.head"), tuple(entries))


def root_of(path: str) -> str | None:
    """The top folder of the work tree, found without a git process; None outside a repository."""
    folder = os.path.realpath(path)
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def repository_at(path: str) -> str:
    """As `root_of`, but UsageError outside a repository."""
    root = root_of(path)
    if root is None:
        raise UsageError(f"The folder {path} is not in a git repository.", "make it one with: git init")
    return root


def git_folder(root: str) -> str:
    """The folder with index and state of this work tree: `.git`, or the folder that the file `.git` names."""
    pointer = os.path.join(root, ".git")
    if os.path.isdir(pointer):
        return pointer
    return os.path.join(root, os.fsdecode(Path(pointer).read_bytes()).removeprefix("gitdir:").strip())


def git_folders(root: str) -> list[str]:
    """The folder of this work tree and, for a linked worktree, the folder that it shares: objects, configuration."""
    own = git_folder(root)
    try:
        with open(os.path.join(own, "commondir"), encoding="utf-8") as pointer:
            return [own, os.path.normpath(os.path.join(own, pointer.read().strip()))]
    except FileNotFoundError:
        return [own]


def add_all(
    root: str, status: Status, *options: str, left_out: Iterable[bytes] = (), env: Mapping[str, str] = EMPTY
) -> None:
    """Stage every change of the work tree except nested repositories, the files of untildone and `left_out`."""
    left_out = (b":(exclude,literal)" + path for path in (*status.foreign, *left_out))
    pathspecs = b"\0".join((b".", *map(os.fsencode, OURS), *left_out))
    in_one_pack = ("-c", "core.bigFileThreshold=1") if len(status.entries) >= MANY_FILES else ()
    command = (*in_one_pack, "add", "--all", *options, "--pathspec-from-file=-", "--pathspec-file-nul")
    git(root, *command, env=env, stdin=pathspecs, fine=(0, 1) if "--ignore-errors" in options else (0,))
