"""Finds known secrets in files and commits, before git keeps them or they are published."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from untildone.core.errors import UsageError
from untildone.core.protection.secrets import Redactor
from untildone.core.values.value import dataclass
from untildone.system import disk
from untildone.workspace.git import git

PART = 4 * 1024 * 1024
"""Bytes of a file, or of several objects of git, that are searched at once."""


class HoldsSecret(UsageError):
    """A secret would have been committed or published."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A file that holds a secret."""

    where: str
    name: str
    """The variable with the secret."""

    @property
    def sentence(self) -> str:
        return f"{self.where} holds the value of {self.name}, a secret"


def in_files(root: str, paths: Iterable[bytes], redactor: Redactor) -> Leak | None:
    """The first secret in the content or the name of these files; None: there is none, or a file cannot be read."""
    if not redactor.longest:
        return None
    for path in paths:
        for content in (path, *_parts(os.path.join(os.fsencode(root), path), redactor.longest)):
            if name := redactor.found_in(content):
                return Leak(_shown(path, redactor), name)
    return None


def _parts(path: bytes, overlap: int) -> Iterator[bytes]:
    """The content of a file in parts that overlap, so that no secret is cut; of a link, the path that it holds."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            yield os.readlink(path)
        elif stat.S_ISREG(mode):
            with disk.open_promptly(path) as file:
                kept = b""
                while part := file.read(PART):
                    yield kept + part
                    kept = (kept + part)[-overlap:]
    except OSError:
        return


def in_commits(root: str, before: str, after: str, redactor: Redactor) -> Leak | None:
    """The first secret in what the commits after `before` add, up to `after`: files, their names, messages. A file that a later
    commit deletes counts as well: it is published all the same."""
    if not redactor.longest:
        return None
    listed = git(root, "rev-list", "--objects", after, f"^{before}").splitlines()
    paths = {object_id: path for object_id, _, path in (line.partition(b" ") for line in listed)}
    for batch in _batches(root, list(paths)):
        for object_id, kind, content in _contents(root, batch):
            if name := redactor.found_in(content):
                return Leak("a commit message" if kind == b"commit" else _shown(paths[object_id], redactor), name)
    return None


def _batches(root: str, objects: list[bytes]) -> Iterator[list[bytes]]:
    """The objects in groups of bounded size."""
    sizes = git(root, "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=b"\n".join(objects)).splitlines()
    batch: list[bytes] = []
    total = 0
    for object_id, _, size in (line.partition(b" ") for line in sizes):
        if batch and total + int(size) > PART:
            yield batch
            batch, total = [], 0
        batch.append(object_id)
        total += int(size)
    if batch:
        yield batch


def _contents(root: str, objects: list[bytes]) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Name, kind and content of each object."""
    answer, start = git(root, "cat-file", "--batch", stdin=b"\n".join(objects)), 0
    for _ in objects:
        line_end = answer.index(b"\n", start)
        object_id, kind, size = answer[start:line_end].split(b" ")
        start = line_end + 1 + int(size) + 1
        yield object_id, kind, answer[line_end + 1 : start - 1]


def _shown(path: bytes, redactor: Redactor) -> str:
    return redactor.text(path.decode(errors="replace")) or "the name of a file"
