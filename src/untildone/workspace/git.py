"""Asking git: as few processes as possible, and never through the person's hooks, index or configuration."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from untildone.core.model import EMPTY
from untildone.core.value import dataclass

GIT_SECONDS = 300.0
MANY_FILES = 1000
"""From so many changed files on, git writes them into one pack: a file for each would take ten times as long."""
OURS = (":(exclude,glob)**/.loop/**", ":(exclude,glob)**/.claude/ralph-delta*.local.md")
"""What untildone itself writes into a workspace: no work of the agent."""

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
# These would point git somewhere else, as when untildone itself was started by a git hook.
_FOREIGN = re.compile(r"GIT_(DIR|WORK_TREE|INDEX_\w+|\w*OBJECT_DIRECTOR\w+|COMMON_DIR|PREFIX|NAMESPACE|\w+_PATHSPECS)")


class GitFailed(Exception):
    """Git is missing, refuses or cannot: its own words."""


def git(
    folder: str, *arguments: str, env: Mapping[str, str] = EMPTY, stdin: bytes = b"", fine: tuple[int, ...] = (0,)
) -> bytes:
    command = (*_COMMAND, *arguments)
    inherited = {name: value for name, value in os.environ.items() if not _FOREIGN.fullmatch(name)}
    env = {**inherited, **_ENVIRONMENT, **env}
    try:
        ended = subprocess.run(command, cwd=folder, env=env, input=stdin, capture_output=True, timeout=GIT_SECONDS)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise GitFailed(str(error)) from error
    if ended.returncode not in fine:
        words = ended.stderr.decode(errors="replace").splitlines()
        reason = next((line for line in words if line.startswith(("fatal: ", "error: "))), f"exit {ended.returncode}")
        raise GitFailed(reason.removeprefix("fatal: ").removeprefix("error: ").rstrip("."))
    return ended.stdout


def line_of(answer: bytes) -> str:
    return answer.decode().strip()


@dataclass(frozen=True, slots=True)
class Entry:
    path: bytes
    tracked: bool
    nested: bool
    """Another repository: a submodule, or one that git does not know."""


@dataclass(frozen=True, slots=True)
class Status:
    """What one `git status` tells."""

    raw: bytes
    head: str | None
    branch: str | None
    entries: tuple[Entry, ...]

    @property
    def foreign(self) -> list[bytes]:
        """Repositories inside that are not submodules: git cannot always add them, and nobody asked for it."""
        return [entry.path for entry in self.entries if entry.nested and not entry.tracked]


def status_of(root: str) -> Status:
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
    """The top of the work tree, found without a process."""
    folder = os.path.realpath(path)
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def git_folder(root: str) -> str:
    """Where git keeps index and state of this work tree: `.git`, or what the file `.git` points to."""
    pointer = os.path.join(root, ".git")
    if os.path.isdir(pointer):
        return pointer
    return os.path.join(root, os.fsdecode(Path(pointer).read_bytes()).removeprefix("gitdir:").strip())


def git_folders(root: str) -> list[str]:
    """The folder of this work tree and, if it is one of several, what it shares with the others: objects, configuration."""
    own = git_folder(root)
    try:
        with open(os.path.join(own, "commondir"), encoding="utf-8") as pointer:
            return [own, os.path.normpath(os.path.join(own, pointer.read().strip()))]
    except FileNotFoundError:
        return [own]


def add_all(
    root: str, status: Status, *options: str, left_out: Iterable[bytes] = (), env: Mapping[str, str] = EMPTY
) -> None:
    left_out = (b":(exclude,literal)" + path for path in (*status.foreign, *left_out))
    wanted = b"\0".join((b".", *map(os.fsencode, OURS), *left_out))
    in_one_pack = ("-c", "core.bigFileThreshold=1") if len(status.entries) >= MANY_FILES else ()
    command = (*in_one_pack, "add", "--all", *options, "--pathspec-from-file=-", "--pathspec-file-nul")
    git(root, *command, env=env, stdin=wanted, fine=(0, 1) if "--ignore-errors" in options else (0,))
