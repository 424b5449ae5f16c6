"""Calls of git in the person's repository: bounded in time, without the person's hooks and untildone's variables.

Snapshots do not use this module: see `shadow`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache

from untildone.core import live_file
from untildone.core.errors import UsageError
from untildone.core.model import EMPTY
from untildone.core.protection.passing import passed
from untildone.core.values.value import dataclass
from untildone.system import loading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from untildone.system.box.sandbox import Box

GIT_SECONDS = 300.0
"""The bound for a call that writes: a clean filter of the person may be slow, and a remote may be far."""
QUICK_SECONDS = 5.0
"""The bound for a call that only reads what is in `.git`."""
MANY_FILES = 1000
"""From this number of changed files on, git writes them into one pack: a file for each would take ten times as long."""
OURS = (":(exclude,glob)**/.loop/**", f":(exclude,glob)**/{live_file.FOLDER}/{live_file.STEM}*{live_file.ENDING}")
"""Files that untildone itself writes into a workspace."""

_SYSTEM_FOLDERS = ("/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin")
_LOOK_EVERY, _ENDED_WITHIN = 0.05, 1.0
_SMALL = 4096
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
_OPTIONS = ("--no-pager", *(part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")))
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}
_OFFLINE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
"""Git fetches a missing object from the remote that its configuration names, by a program that it names: an agent could have written both.
Only newer versions know the second variable."""
# Variables of untildone, and those that would point git to another repository, as when a git hook started untildone.
_FOREIGN = re.compile(
    r"UNTILDONE_\w+|GIT_(DIR|WORK_TREE|INDEX_\w+|\w*OBJECT_DIRECTOR\w+|COMMON_DIR|PREFIX|NAMESPACE|\w+_PATHSPECS)"
)
_GIT_S_OWN = ("GIT_*", "SSH_AUTH_SOCK", "SSH_AGENT_PID")
"""Variables of git that a filter may see too: configuration that is given in variables counts as a whole, or git refuses it."""


class GitFailed(Exception):
    """Git is missing or failed. The text is git's own message."""


class Interrupted(GitFailed):
    """The caller asked to stop before git had ended."""


def never() -> bool:
    return False


@lru_cache(maxsize=64)
def git_program(workspace: str) -> str:
    """The absolute path of git, outside `workspace`. Found once for each process, before an agent of this process runs.

    Folders of the system come first: an agent of an ordinary user cannot write there, as it can to `~/.local/bin`."""
    avoided = os.path.join(os.path.realpath(workspace), "")
    on_path = os.environ.get("PATH", "").split(os.pathsep)
    for folder in (*_SYSTEM_FOLDERS, *filter(os.path.isabs, on_path)):
        program = shutil.which("git", path=folder)
        if program and not os.path.realpath(program).startswith(avoided):
            return program
    raise GitFailed("git is not installed")


def run(
    command: Iterable[str],
    folder: str,
    env: Mapping[str, str],
    stdin: bytes = b"",
    *,
    fine: tuple[int, ...] = (0,),
    seconds: float = GIT_SECONDS,
    wants_out: Callable[[], bool] = never,
) -> bytes:
    """The standard output of a command of git. Raises GitFailed unless its exit code is in `fine`; ends it after `seconds`, or once
    `wants_out` returns True."""
    pipe, deadline = subprocess.PIPE, time.monotonic() + seconds
    try:
        # A file, not a pipe: after a time-out, `communicate` does not write the rest of the input.
        with (
            _as_file(stdin) as given,
            subprocess.Popen(tuple(command), cwd=folder, env=env, stdin=given, stdout=pipe, stderr=pipe) as process,
        ):
            while True:
                try:
                    out, err = process.communicate(timeout=_LOOK_EVERY)
                    break
                except subprocess.TimeoutExpired:
                    _end_if(process, deadline, wants_out)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise GitFailed(str(error)) from error
    if process.returncode not in fine:
        raise GitFailed(reason_of(err, process.returncode))
    return out


@contextmanager
def _as_file(content: bytes) -> Iterator[IO[bytes] | int]:
    """Standard input with some content, for a child process."""
    if not content:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile(prefix="untildone-") as file:
        file.write(content)
        file.seek(0)
        yield file


def _end_if(process: subprocess.Popen[bytes], deadline: float, wants_out: Callable[[], bool]) -> None:
    interrupted = wants_out()
    if not interrupted and time.monotonic() <= deadline:
        return
    # Git removes its lock files at SIGTERM.
    process.terminate()
    try:
        process.wait(_ENDED_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
    raise Interrupted("interrupted") if interrupted else GitFailed("git takes too long")


def reason_of(stderr: bytes, code: int) -> str:
    """Why git failed, in its own words."""
    lines = stderr.decode(errors="replace").splitlines()
    reason = next((line for line in lines if line.startswith(("fatal: ", "error: "))), f"exit {code}")
    return reason.removeprefix("fatal: ").removeprefix("error: ").rstrip(".")


def git(
    folder: str,
    *arguments: str,
    env: Mapping[str, str] = EMPTY,
    stdin: bytes = b"",
    fine: tuple[int, ...] = (0,),
    seconds: float = GIT_SECONDS,
    wants_out: Callable[[], bool] = never,
    box: Box | None = None,
    remote: bool = False,
) -> bytes:
    """The standard output of a git command in the person's repository. Raises as `run` does.

    In a box, it runs the filters of the repository: an agent can change these. Outside of one, only a command with `remote` reaches
    another repository, and has the person's whole environment, with which helpers may log in."""
    known = os.environ if remote and box is None else passed(os.environ, named=_GIT_S_OWN)
    inherited = {name: value for name, value in loading.without(known).items() if not _FOREIGN.fullmatch(name)}
    env = {**inherited, **_ENVIRONMENT, **({} if remote or box else _OFFLINE), **env}
    command: tuple[str, ...] = (git_program(folder), *_OPTIONS, *arguments)
    if box is not None:
        command, env = box.argv(command), box.environment(env)
    return run(command, folder, env, stdin, fine=fine, seconds=seconds, wants_out=wants_out)


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


def status_of(root: str, wants_out: Callable[[], bool] = never) -> Status:
    """Run `git status` for the whole work tree, without the files of untildone."""
    form = ("--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--no-renames")
    raw = git(root, "status", *form, "--", ".", *OURS, wants_out=wants_out)
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
    return os.path.join(root, read_small(pointer).removeprefix("gitdir:").strip())


def git_folders(root: str) -> list[str]:
    """The folder of this work tree and, for a linked worktree, the folder that it shares: objects, configuration."""
    own = git_folder(root)
    try:
        return [own, os.path.normpath(os.path.join(own, read_small(os.path.join(own, "commondir")).strip()))]
    except FileNotFoundError:
        return [own]


def read_small(path: str) -> str:
    """The text of a small file of git. Raises OSError if it is none: reading a pipe would wait for ever."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is not a file")
        return os.fsdecode(file.read(_SMALL))


def empty_tree(like: str) -> str:
    """The name of the empty tree, in the same hash function as the object name `like`."""
    return hashlib.new("sha256" if len(like) == 64 else "sha1", b"tree 0\0", usedforsecurity=False).hexdigest()


def add_all(root: str, status: Status, wants_out: Callable[[], bool] = never) -> None:
    """Stage every change of the work tree except nested repositories and the files of untildone."""
    left_out = (b":(exclude,literal)" + path for path in status.foreign)
    pathspecs = b"\0".join((b".", *map(os.fsencode, OURS), *left_out))
    in_one_pack = ("-c", "core.bigFileThreshold=1") if len(status.entries) >= MANY_FILES else ()
    command = (*in_one_pack, "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
    git(root, *command, stdin=pathspecs, wants_out=wants_out)


def holds(root: str, commit: str, path: str) -> bool:
    """Whether a commit has a file at a path. Also True if the commit cannot be read."""
    try:
        git(root, "cat-file", "-e", f"{commit}^{{commit}}")
    except GitFailed:
        return True
    try:
        git(root, "cat-file", "-e", f"{commit}:{path}")
    except GitFailed:
        return False
    return True
