"""The next snapshot of a work tree from the last one, without git: where all that git would do is to hash a few plain files.

What else git does (filters, line ends, submodules, links) is left to git: only where none of that is in play does this answer.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from untildone.core.model import EMPTY
from untildone.core.value import dataclass
from untildone.workspace import git_settings
from untildone.workspace.git import git
from untildone.workspace.git_objects import Drafts, object_name, read_object, write_object
from untildone.workspace.glance import Glance, Stamp

MOST_FILES = 100
MOST_BYTES = 512 * 1024
"""Of one file: with more of either, git is as quick."""
MOST_DEPTH = 100

_RULES = re.compile(rb"\.git(?!hub$|keep$)|git~", re.IGNORECASE)
"""What git reads, or refuses to take."""
_LINK = b"120000"
_BEGINNING = 8000
"""Bytes in which git looks for a zero, to tell what is no text."""
_IGNORING = "core.excludesfile"
_MATTERS = (
    r"^(core\.(autocrlf|eol|attributesfile|excludesfile|filemode|symlinks|ignorecase|sharedrepository|sparsecheckout\w*)"
    r"|include(if)?\..*|extensions\..*)$"
)
_USUAL = frozenset(
    {
        ("core.autocrlf", "false"),
        ("core.filemode", "true"),
        ("core.ignorecase", "false"),
        ("core.symlinks", "true"),
        ("extensions.objectformat", "sha256"),
    }
)


Places = Mapping[bytes, Stamp | None]
"""Files below the root of a work tree; None: it is gone."""


class OnlyGitTells(Exception):
    """More is in play here than plain files."""


@dataclass(frozen=True, slots=True)
class Step:
    """From one snapshot to the next."""

    before: str
    after: str
    files: int = 0
    lines: tuple[int, int] | None = (0, 0)
    """Added and removed; None: git has to count them."""


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: bytes
    name: str


def places_of(root: str, touched: AbstractSet[bytes], seen: Glance) -> Places:
    """What was touched, below the root and as it was just seen. What rules over other files, git has to read."""
    below, places = os.path.join(os.fsencode(root), b""), {}
    for path in touched:
        place = path.removeprefix(below)
        if place == path or len(touched) > MOST_FILES or any(map(_RULES.match, _parts(place))):
            raise OnlyGitTells
        places[place] = seen.get(path)
    return places


class _Folder:
    """A tree of git, as far as it is written down in memory."""

    def __init__(self) -> None:
        self.files: dict[bytes, _Entry] = {}
        self.folders: dict[bytes, _Folder] = {}
        self._name = ""

    def find(self, path: list[bytes]) -> _Entry | None:
        folder = self.folders.get(path[0]) if len(path) > 1 else None
        return folder.find(path[1:]) if folder else self.files.get(path[0]) if len(path) == 1 else None

    def put(self, path: list[bytes], entry: _Entry | None) -> None:
        self._name, (first, *rest) = "", path
        if rest:
            below = self.folders.setdefault(first, _Folder())
            below.put(rest, entry)
            if not below.files and not below.folders:
                del self.folders[first]
        elif entry is None:
            self.files.pop(first, None)
        else:
            self.files[first] = entry
        if first in self.files and first in self.folders:
            raise OnlyGitTells

    def written(self, write: Callable[[bytes, bytes], str], place: bytes = b"") -> str:
        """Its name, after everything in it that changed was written."""
        if not self._name:
            names = {name: folder.written(write, os.path.join(place, name)) for name, folder in self.folders.items()}
            # In the order of git: a folder as if its name ended with a slash.
            below = {name + b"/": _Entry(b"40000", tree) for name, tree in names.items()}
            listed = sorted((self.files | below).items())
            rows = (b"%b %b\0%b" % (it.mode, name.rstrip(b"/"), bytes.fromhex(it.name)) for name, it in listed)
            self._name = write(place, b"".join(rows))
        return self._name


class Snapshot:
    """A tree of git that follows the work tree. After an exception it is of no more use."""

    def __init__(
        self,
        root: str,
        tree: str,
        made: Mapping[bytes, str],
        seen: Iterable[bytes],
        drafts: Drafts,
        env: Mapping[str, str] = EMPTY,
    ) -> None:
        """As the index lists it, which must hold exactly this tree; `seen` are all files there are."""
        if not is_plain(root) or any(path.endswith((b"/.gitattributes", b"/info/attributes")) for path in seen):
            raise OnlyGitTells
        self.tree = tree
        self.made = dict(made)
        """By their places, the objects in it that no commit has: who follows must know that they are there."""
        self._root, self._top = root, _Folder()
        self._drafts = drafts
        self._ignored: set[bytes] = set()
        for row in git(root, "ls-files", "--stage", "-v", "-z", env=env).split(b"\0")[:-1]:
            facts, _, path = row.partition(b"\t")
            tag, mode, name, stage = facts.split()
            if (tag, stage) != (b"H", b"0") or mode == b"160000":
                raise OnlyGitTells
            self._top.put(_parts(path), _Entry(mode, name.decode()))
        if self._top.written(lambda _, body: object_name("tree", body, tree)) != tree:
            raise OnlyGitTells

    def follow(self, places: Places) -> Step:
        """Take in the files that may have changed."""
        if not is_plain(self._root):
            raise OnlyGitTells
        before, lines = self.tree, []
        self._ask_about([place for place, stamp in places.items() if stamp and not self._top.find(_parts(place))])
        for place in sorted(places.keys() - self._ignored, key=lambda place: places[place] is not None):
            was, stamp = self._top.find(_parts(place)), places[place]
            content = self._read(place, stamp) if stamp else b""
            now = _Entry(_mode(stamp), object_name("blob", content, before)) if stamp else None
            if was != now:
                lines.append(self._lines(was, content))
                self._put(place, now, content)
        self.tree = self._top.written(self._write_tree)
        return Step(before, self.tree, len(lines), _sum(lines))

    def _ask_about(self, places: Collection[bytes]) -> None:
        """Which of these are ignored: only git knows all the rules."""
        unknown = set(places) - self._ignored
        if unknown:
            # So written, no name looks like the magic of git's patterns.
            wanted = b"".join(b"./%b\0" % place for place in unknown)
            told = git(self._root, "check-ignore", "-z", "--stdin", stdin=wanted, fine=(0, 1)).split(b"\0")
            self._ignored |= {place.removeprefix(b"./") for place in told}

    def _read(self, place: bytes, stamp: Stamp) -> bytes:
        if not stat.S_ISREG(stamp[2]):
            raise OnlyGitTells
        path, as_seen = os.path.join(os.fsencode(self._root), place), os.O_NOFOLLOW | os.O_NONBLOCK
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | as_seen), "rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise OnlyGitTells
        return content

    def _lines(self, was: _Entry | None, content: bytes) -> tuple[int, int] | None:
        if was and was.mode == _LINK:
            raise OnlyGitTells
        old = read_object(self._drafts.folder, was.name) if was else b""
        return None if old is None else lines_between(old, content)

    def _put(self, place: bytes, now: _Entry | None, content: bytes) -> None:
        self.made.pop(place, None)
        if now:
            self.made[place] = self._write("blob", content)
        self._top.put(_parts(place), now)

    def _write_tree(self, place: bytes, body: bytes) -> str:
        self.made[place] = self._write("tree", body)
        return self.made[place]

    def _write(self, kind: str, body: bytes) -> str:
        return write_object(self._drafts.folder, kind, body, self.tree, self._drafts)


def is_plain(root: str) -> bool:
    """Whether nothing that is configured changes files on their way into git."""
    attributes = (git_settings.of_person("attributes"), "/etc/gitattributes")
    configured = {setting for setting in git_settings.matching(root, _MATTERS) if setting[0] != _IGNORING}
    return configured <= _USUAL and not any(map(os.path.lexists, attributes))


def ignore_files(root: str) -> tuple[str, ...]:
    """The person's own, which say what to ignore in all repositories."""
    named = (os.path.expanduser(path) for name, path in git_settings.matching(root, _MATTERS) if name == _IGNORING)
    return (git_settings.of_person("ignore"), *(os.path.join(root, path) for path in named))


def _parts(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    if len(parts) > MOST_DEPTH:
        raise OnlyGitTells
    return parts


def _mode(stamp: Stamp) -> bytes:
    return b"100755" if stamp[2] & stat.S_IXUSR else b"100644"


def _sum(lines: Sequence[tuple[int, int] | None]) -> tuple[int, int] | None:
    known = [pair for pair in lines if pair is not None]
    return (sum(added for added, _ in known), sum(removed for _, removed in known)) if known == lines else None


def lines_between(old: bytes, new: bytes) -> tuple[int, int] | None:
    """Lines added and removed, as git counts them; None where that is a question of how one compares."""
    if b"\0" in old[:_BEGINNING] or b"\0" in new[:_BEGINNING]:
        return 0, 0
    before, after = _lines(old), _lines(new)
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    same = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), None)
    same = min(len(before), len(after)) if same is None else same
    del before[:same], after[:same]
    return None if set(before) & set(after) else (len(after), len(before))


def _lines(content: bytes) -> list[bytes]:
    *lines, last = content.split(b"\n")
    # A last line without its end is another one than the same with it.
    return [*lines, last + b"\n"] if last else lines
