"""Objects of a git repository, each checked against its name: the name of an object is a hash of its content."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from untildone.workspace.git import GIT_SECONDS, GitFailed
from untildone.workspace.shadow.values import LINK, PROGRAM, File

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

Entries = tuple[tuple[bytes, File], ...]
"""The entries of a folder by name, folders too. Trees that share a folder share these values, which compare fast then."""
FOLDER, SUBMODULE = "040000", "160000"


class Batch:
    """A process of `git cat-file --batch`. It begins with the first question."""

    def __init__(self, command: tuple[str, ...], folder: str, env: Mapping[str, str]) -> None:
        self._how = command, folder, env
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: threading.Timer | None = None

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is None or self._watchdog is None:
            return
        self._watchdog.cancel()
        self._process.kill()
        with suppress(OSError), self._process:
            pass

    def contents(self, names: list[str]) -> Iterator[tuple[str, bytes]]:
        """The content of objects. Raises GitFailed for one that is missing or not the one of its name; then the process is of no use."""
        process = self._begun()
        assert process.stdin is not None
        assert process.stdout is not None
        asking = threading.Thread(target=_ask, args=(process.stdin, names), daemon=True)
        asking.start()
        try:
            for name in names:
                yield name, _checked(name, process.stdout)
        except BaseException:
            process.kill()
            raise
        finally:
            asking.join()

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        return dict(self.contents(list(dict.fromkeys(names))))

    def _begun(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            (command, folder, env), pipe = self._how, subprocess.PIPE
            nothing = subprocess.DEVNULL
            self._process = subprocess.Popen(command, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=nothing)
            self._watchdog = threading.Timer(GIT_SECONDS, self._process.kill)
            self._watchdog.daemon = True
            self._watchdog.start()
        return self._process


def _ask(pipe: IO[bytes], names: Iterable[str]) -> None:
    with suppress(OSError):
        pipe.write("".join(f"{name}\n" for name in names).encode())
        pipe.flush()


def _checked(name: str, answers: IO[bytes]) -> bytes:
    header = answers.readline().split()
    if len(header) != 3:
        raise GitFailed(f"the object {name} is missing")
    kind, size = header[1], int(header[2])
    content = answers.read(size)
    answers.read(1)
    if object_name(kind, content, name) != name:
        raise GitFailed(f"the object {name} was replaced by another")
    return content


def object_name(kind: bytes, content: bytes, like: str) -> str:
    """The name of an object, in the format of the name `like`."""
    name = hashlib.new(
        "sha256" if len(like) == 64 else "sha1", b"%b %d\0" % (kind, len(content)), usedforsecurity=False
    )
    name.update(content)
    return name.hexdigest()


def files(
    tree: str, known: dict[str, Entries], read: Callable[[Iterable[str]], Mapping[str, bytes]]
) -> dict[bytes, File]:
    """Every file of a tree, by path. `known` are folders that were read before; new ones are added to it."""
    _fetch(tree, known, read)
    by_path: dict[bytes, File] = {}
    pending = [(b"", tree)]
    while pending:
        above, name = pending.pop()
        for entry, file in known[name]:
            if file.mode == FOLDER:
                pending.append((above + entry + b"/", file.blob))
            else:
                by_path[above + entry] = file
    return dict(sorted(by_path.items()))


def _fetch(tree: str, known: dict[str, Entries], read: Callable[[Iterable[str]], Mapping[str, bytes]]) -> None:
    """Read the folders of a tree that are not known, one level after the other."""
    level = {tree}
    while level:
        missing = [name for name in level if name not in known]
        for name, content in (read(missing) if missing else {}).items():
            known[name] = tuple(_entries(content, len(tree) // 2))
        level = {file.blob for name in level for _, file in known[name] if file.mode == FOLDER}


def _entries(content: bytes, size: int) -> Iterator[tuple[bytes, File]]:
    at = 0
    while at < len(content):
        end = content.index(b"\0", at)
        mode, name = content[at:end].split(b" ", 1)
        yield name, File(mode.decode().zfill(6), content[end + 1 : end + 1 + size].hex())
        at = end + 1 + size


def is_same(path: bytes, mode: str, blob: str) -> bool:
    """Whether a file or link on disk has this mode and content in a tree. No link is followed."""
    try:
        if mode == LINK:
            return object_name(b"blob", os.readlink(path), blob) == blob
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb", buffering=0) as opened:
            status = os.fstat(descriptor)
            is_program = bool(status.st_mode & stat.S_IXUSR)
            return is_program == (mode == PROGRAM) and object_name(b"blob", opened.readall(), blob) == blob
    except (OSError, ValueError):
        return False
