"""Writes down at the start of a loop what lies beside the snapshot, and puts kept files into rooms later."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import time_ns

from untildone.system import disk, loading, state_folder
from untildone.system.box.sandbox import SYSTEM_FOLDERS
from untildone.workspace.rooms import stamps
from untildone.workspace.rooms.contents import copy
from untildone.workspace.rooms.ignored import beside
from untildone.workspace.rooms.ignored.beside import FILES, LISTINGS, Start, Watched
from untildone.workspace.rooms.ignored.kinds import Kind, is_metadata, is_output
from untildone.workspace.rooms.refusal import RoomRefused
from untildone.workspace.rooms.toolchain import libraries
from untildone.workspace.rooms.toolchain.library_folders import Library

KEPT_BYTES, KEPT_FILES = 32 << 20, 3000
"""How much is copied at the start of a loop."""
OUTPUT_BYTES, OUTPUT_FILES = 1 << 30, 100_000
"""How much of big folders with outputs of builds is copied besides. Bigger ones are built anew in every room."""
COPIED_WITHIN = 60.0
"""Seconds for the copy of one such folder."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a record says beside the files of the workspace."""

    outside: Mapping[str, int] = field(default_factory=dict)
    libraries: Mapping[str, Library] = field(default_factory=dict)
    rules: str = ""
    settings: str = ""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The listings of the last loop in a workspace, sealed: an agent could write others, for the next loop to believe."""

    folder: Path
    environment: Mapping[str, str]

    def load(self, path: str) -> stamps.Listing | None:
        """The listing of a folder; None: there is none of ours."""
        file = beside.listing_file(self.folder, path)
        try:
            saved, seal = file.with_suffix(".seal").read_text(encoding="ascii").split()
            return stamps.load(file, saved) if seal == self._seal(path, saved) else None
        except (OSError, ValueError):
            return None

    def keep(self, path: str, source: Path, saved: str) -> None:
        """Keep a copy of a saved listing, if there is a key to seal it with."""
        file, seal = beside.listing_file(self.folder, path), self._seal(path, saved)
        if seal:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            disk.replace_file(file, source.read_bytes(), sync=False)
            disk.replace_file(file.with_suffix(".seal"), f"{saved} {seal}".encode(), sync=False)

    def _seal(self, path: str, saved: str) -> str:
        return state_folder.seal(f"listing {self.folder.name} {path}", saved.encode(), self.environment)


class Recorder:
    """Writes down what lies beside a snapshot, into a folder of untildone's own."""

    def __init__(self, folder: Path, root: str, earlier: Earlier) -> None:
        """`earlier` has the listings of the last loop in this workspace."""
        self._folder = folder
        self._earlier = earlier
        self._root = root
        self._watched: dict[str, Watched] = {}
        self._kept: dict[str, str] = {}
        self._left: list[str] = []
        self._outputs: dict[str, str] = {}
        self._bytes = self._output_bytes = self._output_files = 0

    def record(self, tree: Collection[str], around: Around) -> str:
        """Keep and list everything; return a hash of the record. `tree` holds the paths of the snapshot."""
        began = time_ns()
        shutil.rmtree(self._folder, ignore_errors=True)
        for name in (FILES, LISTINGS):
            (self._folder / name).mkdir(parents=True)
        found = sorted((beside.kind(path, entry), path, entry) for path, entry in beside.entries(self._root, tree))
        for order in (Kind.PACKAGES, Kind.OTHER, Kind.OUTPUT):
            for _, path, entry in (each for each in found if each[0] is order):
                self._add(order, path, entry)
        listed = libraries.record(around.libraries, self._folder)
        start = Start(
            began,
            self._root,
            self._watched,
            self._kept,
            tuple(self._left),
            around.outside,
            listed,
            around.rules,
            around.settings,
            self._outputs,
        )
        return start.save(self._folder)

    def _add(self, kind: Kind, path: str, entry: os.DirEntry[str]) -> None:
        if kind is not Kind.PACKAGES and self._keep(path):
            return
        if kind is Kind.OUTPUT and self._keep_outputs(path, entry):
            return
        if kind is Kind.OUTPUT or not beside.is_folder_or_link(entry):
            self._left.append(path)
            return
        link = os.readlink(entry.path) if entry.is_symlink() else ""
        listed = beside.listing(entry.path)
        if listed.whole:
            saved = self._save(path, beside.real(entry.path), listed)
            self._watched[path] = Watched(kind, listed.digest(), link, saved)
        else:
            self._watched[path] = Watched(kind, "", link)

    def _keep_outputs(self, path: str, entry: os.DirEntry[str]) -> bool:
        """Copy a folder with the outputs of builds, in which agents write from now on; True if that was done."""
        most = OUTPUT_BYTES - self._output_bytes, OUTPUT_FILES - self._output_files
        files = None if entry.is_symlink() else _small(entry.path, *most)
        if files is None:
            return False
        target = beside.output_folder(self._folder, path)
        target.parent.mkdir(exist_ok=True)
        # By reference where the file system has that. The program of the system: one on PATH may be an agent's.
        program = shutil.which("cp", path=os.pathsep.join(SYSTEM_FOLDERS)) or "cp"
        command = (program, "--archive", "--reflink=auto", "--no-target-directory", "--", entry.path, str(target))
        try:
            subprocess.run(
                command,
                env=loading.without(os.environ),
                check=True,
                capture_output=True,
                timeout=COPIED_WITHIN,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.SubprocessError):
            copy.remove(target)
            return False
        self._output_bytes += sum(size for _, size in files)
        self._output_files += len(files)
        self._outputs[path] = stamps.listing(os.fsencode(target)).digest()
        return True

    def _save(self, path: str, folder: bytes, listed: stamps.Listing) -> str:
        """Save a listing with hashes of contents, also for the next loop; return a hash of what was written."""
        target = beside.listing_file(self._folder, path)
        saved = stamps.save(stamps.with_content(folder, listed, is_metadata, self._earlier.load(path)), target)
        self._earlier.keep(path, target, saved)
        return saved

    def _keep(self, path: str) -> bool:
        """Copy a file or folder, if it is small; True if it was."""
        source = os.path.join(self._root, path)
        files = _small(source, KEPT_BYTES - self._bytes, KEPT_FILES - len(self._kept))
        if files is None:
            return False
        for below, size in files:
            name = f"{path}/{below}" if below else path
            try:
                self._kept[name] = _copy(os.path.join(self._root, name), self._folder / FILES / name)
            except OSError:
                self._left.append(name)
            self._bytes += size
        return True


def _small(path: str, most_bytes: int, most_files: int) -> list[tuple[str, int]] | None:
    """The files at a path, below it or itself, with their sizes; None if they are too many."""
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        return [("", status.st_size)] if status.st_size <= most_bytes and most_files > 0 else None
    found: list[tuple[str, int]] = []
    total = 0
    for name, each in stamps.walk(os.fsencode(path), lambda name: name == stamps.BYTECODE):
        total += each.st_size
        found.append((os.fsdecode(name), each.st_size))
        if total > most_bytes or len(found) > most_files:
            return None
    return found


def _copy(source: str, target: Path) -> str:
    """Copy a file or link and return a hash of what was copied. Raises OSError for anything else, such as a pipe."""
    status = os.lstat(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISREG(status.st_mode):
        shutil.copy2(source, target, follow_symlinks=False)
    else:
        raise OSError(f"{source} is not a file")
    return stamps.content_hash(os.fsencode(target))


def put_back(folder: Path, start: Start, target: str, tree: Collection[str], *, with_outputs: bool) -> None:
    """Copy the kept files into a checkout of a tree, except those that the tree contains. Without outputs, those of builds stay as they
    are there: a command may have built them anew. Raises RoomRefused if a kept file was changed."""
    for path, digest in start.kept.items():
        if path in tree or (not with_outputs and is_output(path)):
            continue
        source, copy = folder / FILES / path, Path(target, path)
        try:
            # A parent that is a file or a link of the tree takes precedence.
            if not _is_real_folder(target, copy.parent):
                continue
            copy.unlink(missing_ok=True)
            if _copy(str(source), copy) != digest:
                raise OSError("it is not the one that was kept")
        except OSError as error:
            raise RoomRefused(
                f"The copy of {path} from the start of the loop cannot be used: {error}.", "start a new loop"
            ) from error


def _is_real_folder(top: str, folder: Path) -> bool:
    """Create a folder below `top`, unless a file or a link is in its way."""
    for each in reversed((folder, *folder.parents)):
        if not str(each).startswith(top) or str(each) == top:
            continue
        if os.path.islink(each) or os.path.isfile(each):
            return False
        each.mkdir(exist_ok=True)
    return True


def changes_of_kept(start: Start) -> list[str]:
    """Kept files that are not in the workspace as they were at the start."""
    changed = []
    for path, digest in start.kept.items():
        try:
            same = stamps.content_hash(os.fsencode(os.path.join(start.root, path))) == digest
        except OSError:
            same = False
        if not same:
            changed.append(path)
    return changed
