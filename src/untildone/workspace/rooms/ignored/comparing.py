"""Compares what lies beside a snapshot with the start of the loop: what of it a room may show."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from untildone.workspace.rooms import stamps
from untildone.workspace.rooms.ignored import beside
from untildone.workspace.rooms.ignored.beside import Start, Watched
from untildone.workspace.rooms.ignored.dependencies import Dependencies
from untildone.workspace.rooms.ignored.kinds import INNER_CACHES, Kind, holds_python
from untildone.workspace.rooms.refusal import RoomRefused, named
from untildone.workspace.rooms.stamps import Listing
from untildone.workspace.rooms.toolchain import installed, modules
from untildone.workspace.rooms.toolchain.libraries import Compared, Hidden, topmost

NO_LIBRARIES = Compared()


@dataclass(frozen=True, slots=True)
class Shown:
    """A folder of the workspace that a room shows."""

    path: str
    """Below the root."""
    source: str
    """The folder itself, links resolved."""
    link: str = ""
    bytecode: tuple[bytes, ...] = ()
    """Bytecode files in it that were written since the start: they may not belong to their sources."""
    caches: tuple[bytes, ...] = ()
    """Folders in it that must look empty."""
    hidden: tuple[bytes, ...] = ()
    """Files and folders in it that are new and that nothing explains."""
    is_output: bool = False
    """Whether commands must be able to write to it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a room shows beside a snapshot."""

    shown: tuple[Shown, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    """What of the libraries outside of the workspace it does not show."""
    notes: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    """Sentences for the tampering report."""


class Comparison:
    """Compares what lies beside the snapshot now with the start."""

    def __init__(
        self, folder: Path, start: Start, asks: Dependencies, approved: Collection[str] = (), *, can_hide: bool = True
    ) -> None:
        """`asks`: what dependency files ask for. `approved`: folders or files of packages whose change a person accepted. `can_hide`:
        whether the room can show a folder without some of its files."""
        self._folder = folder
        self._start = start
        self._asks = asks
        self._approved = approved
        self._can_hide = can_hide
        self._notes: list[str] = []
        self._signs: list[str] = []

    def surroundings(self, found: Iterable[str], libraries: Compared = NO_LIBRARIES) -> Surroundings:
        """What a room shows. `found` are folders of packages that are there now. Raises RoomRefused."""
        shown = [self._watched(path, watched) for path, watched in self._start.watched.items()]
        new = [self._new(path) for path in sorted(found) if path not in self._start.watched]
        outputs = [self._output(path, digest) for path, digest in self._start.outputs.items()]
        together = tuple(filter(None, (*shown, *new, *outputs)))
        return Surroundings(together, libraries.hidden, (*self._notes, *libraries.notes), tuple(self._signs))

    def _output(self, path: str, digest: str) -> Shown | None:
        """The copy of outputs from the start, unless it was changed."""
        kept = str(beside.output_folder(self._folder, path))
        if stamps.listing(os.fsencode(kept)).digest() == digest:
            return Shown(path, kept, is_output=True)
        self._notes.append(f"The copy of {path} from the start of the loop was changed and is not in the room.")
        return None

    def _watched(self, path: str, watched: Watched) -> Shown | None:
        full = os.path.join(self._start.root, path)
        if not os.path.isdir(full):
            self._notes.append(f"{path} was there when the loop began, and is gone.")
            return None
        link = os.readlink(full) if os.path.islink(full) else ""
        if link != watched.link and path not in self._approved:
            raise RoomRefused(
                f"{path} leads to another folder than when the loop began.", "put it back, or approve it", [path]
            )
        now = beside.listing(full)
        if link == watched.link and (not watched.digest or (now.whole and now.digest() == watched.digest)):
            return self._shown(path, link, now)
        then = self._then(path, watched, link, now)
        folder = beside.real(full)
        differing = [b""] if then is None else list(stamps.differences(folder, then, now))
        if differing and watched.kind is Kind.OTHER:
            self._notes.append(
                f"{path} changed since the loop began and is not in the room: {_named(path, differing)}."
            )
            return None
        if differing:
            self._explain(path, then or Listing(), now, differing)
        return self._shown(path, link, now)

    def _then(self, path: str, watched: Watched, link: str, now: Listing) -> Listing | None:
        """The listing of the start; None: the folders cannot be compared file by file."""
        try:
            then = stamps.load(beside.listing_file(self._folder, path), watched.saved)
        except (OSError, ValueError):
            return None
        return then if link == watched.link and now.whole else None

    def _explain(self, path: str, then: Listing, now: Listing, differing: list[bytes]) -> None:
        """Raise RoomRefused if nothing explains why a folder changed."""
        rest = [each for each in self._unexplained(path, then, now, differing) if not self._is_approved(path, each)]
        asked = self._asks.changed(path)
        if rest:
            why = "no dependency file explains that" if asked else "no dependency file was"
            raise RoomRefused(
                f"{path} was changed since the loop began, and {why}: {_named(path, rest)}.",
                "install the packages again as they were, change the dependency files too, or approve it; another version of a test tool "
                "must be approved",
                [_joined(path, each) for each in rest],
            )
        reason = f"so does {named(asked)}" if asked else "a person approved that, or an installation explains it"
        self._notes.append(f"{path} differs from what it was when the loop began; {reason}.")

    def _is_approved(self, path: str, name: bytes) -> bool:
        return path in self._approved or _joined(path, name) in self._approved

    def _unexplained(self, path: str, then: Listing, now: Listing, differing: list[bytes]) -> list[bytes]:
        """The differing files that no installation explains."""
        full = os.path.realpath(os.path.join(self._start.root, path))
        asks = self._asks.declared(path)
        if differing == [b""]:
            return [] if self._asks.changed(path) else differing
        if holds_python(path) or os.path.exists(os.path.join(full, "pyvenv.cfg")):
            declared = replace(asks, is_new_folder=not then.files)
            python = installed.Explanation(full, then, now, declared, self._start.root, is_environment=True)
            found = python.explain(differing)
            explained = found.paths
            if found.plugins and then.files:
                self._signs.append(
                    f"{path} has plugins of pytest that were not there when the loop began: {named(found.plugins)}."
                )
        elif os.path.basename(path) == "node_modules":
            explained = modules.Explanation(full, then, now, asks).explain(differing).paths
        else:
            explained = frozenset(differing if self._asks.changed(path) or (not then.files and asks.every) else ())
        return [each for each in differing if each not in explained]

    def _new(self, path: str) -> Shown | None:
        full = os.path.join(self._start.root, path)
        link = os.readlink(full) if os.path.islink(full) else ""
        now = beside.listing(full)
        every = list(now.files)
        rest = [each for each in self._unexplained(path, Listing(), now, every) if not self._is_approved(path, each)]
        if rest and not self._can_hide:
            sentence = f"{path} is new since the loop began, and nothing explains it: {_named(path, rest)}."
            raise RoomRefused(sentence, "remove it, or approve it", [_joined(path, each) for each in rest])
        if every and len(rest) == len(every):
            self._notes.append(f"{path} is new since the loop began, and nothing explains it: it is not in the room.")
            return None
        hidden = topmost(rest, now.files.keys() - set(rest))
        without = f" It is shown without {_named(path, hidden)}, which nothing explains." if hidden else ""
        self._notes.append(f"{path} is new since the loop began.{without}")
        return self._shown(path, link, now, hidden)

    def _shown(self, path: str, link: str, now: Listing, hidden: tuple[bytes, ...] = ()) -> Shown:
        began, source = self._start.began, os.path.realpath(os.path.join(self._start.root, path))
        bytecode = tuple(name for name, changed in now.bytecode.items() if stamps.is_since(changed, began))
        caches = tuple(name for name in INNER_CACHES if os.path.isdir(os.path.join(os.fsencode(source), name)))
        return Shown(path, source, link, bytecode, caches, hidden)


def _joined(path: str, name: bytes) -> str:
    return os.path.join(path, os.fsdecode(name)) if name else path


def _named(path: str, names: Iterable[bytes]) -> str:
    return named([_joined(path, name) for name in names])
