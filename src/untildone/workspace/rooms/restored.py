"""Restored rooms: the workspace itself, with other files put in for the time of a check.

What is under way is written down before the first file changes. After a crash at any point, `recover` puts the agent's files back from the
claimed tree. No link is followed on the way to a file, so that nothing outside of the workspace is written.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from untildone.system import disk
from untildone.workspace.rooms.refusal import RoomRefused
from untildone.workspace.rooms.room import Change, File, Site, Trees

NOTE, FOUND = "restoring.json", "found"
_LINK, _PROGRAM = "120000", "100755"
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a tree does not keep of a file."""

    mode: int
    modified: int


class Restorer:
    """Puts files of trees into the workspace."""

    def __init__(self, trees: Trees, site: Site) -> None:
        self._trees = trees
        self._site = site
        self._note = site.folder / NOTE
        self._draft = f".{secrets.token_hex(8)}.tmp"
        """The name under which files are written before they are renamed. It is in the note, so that a draft can be found."""

    @contextmanager
    def restored(self, claimed: str, judged: str) -> Iterator[tuple[str, ...]]:
        """Make the workspace, which is as in the tree `claimed`, as in the tree `judged`; and put everything back in the end."""
        changes = tuple(self._trees.changed(claimed, judged)) if claimed != judged else ()
        if not changes:
            yield ()
            return
        attributes = {change.path: each for change in changes if (each := _attributes(self._site.root, change.path))}
        self._write_note(claimed, judged, attributes)
        try:
            self._apply([(change.path, change.after) for change in changes], {})
            yield ()
        finally:
            self._apply([(change.path, change.before) for change in changes], attributes)
            self._note.unlink(missing_ok=True)

    def recover(self) -> tuple[str, ...]:
        """Finish what a process left under way. Returns sentences about what was done; files that were there are kept aside."""
        try:
            note = json.loads(self._note.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            raise RoomRefused(f"The note {self._note} cannot be read: {error}.", "look at the workspace") from error
        changes = tuple(self._trees.changed(note["claimed"], note["judged"]))
        self._remove_drafts(note["draft"], changes)
        aside = self._keep_strangers(changes)
        attributes = {path: Attributes(*each) for path, each in note["attributes"].items()}
        self._apply([(change.path, change.before) for change in changes], attributes)
        self._note.unlink(missing_ok=True)
        done = f"A check was cut off; {len(changes)} of the agent's files were put back."
        return (done, *([f"Files that were there instead are in {aside}."] if aside else []))

    def discard(self) -> None:
        """Forget what a process left under way."""
        self._note.unlink(missing_ok=True)

    def _write_note(self, claimed: str, judged: str, attributes: dict[str, Attributes]) -> None:
        fields = {path: (each.mode, each.modified) for path, each in attributes.items()}
        content = json.dumps(
            {"claimed": claimed, "judged": judged, "draft": self._draft, "attributes": fields}
        ).encode()
        disk.replace_file(self._note, content)
        disk.sync_folder(self._note.parent)

    def _remove_drafts(self, draft: str, changes: tuple[Change, ...]) -> None:
        for folder in {change.path.rpartition("/")[0] for change in changes}:
            with _folder(self._site.root, folder.split("/") if folder else [], create=False) as descriptor:
                if descriptor is not None:
                    _remove(draft, descriptor)

    def _keep_strangers(self, changes: tuple[Change, ...]) -> Path | None:
        """Copy files that are neither the agent's nor the ones put in: a person may have written them since."""
        known = self._trees.read({each.blob for change in changes for each in (change.before, change.after) if each})
        aside = self._site.folder / FOUND / secrets.token_hex(4)
        for change in changes:
            content = _content(os.path.join(self._site.root, change.path))
            expected = [known[each.blob] for each in (change.before, change.after) if each]
            if content is not None and content not in expected:
                target = aside / change.path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        return aside if aside.is_dir() else None

    def _apply(self, wanted: list[tuple[str, File | None]], attributes: dict[str, Attributes]) -> None:
        """Make each path what it should be; None: not there. Removes first, because a file may make room for a folder."""
        contents = self._trees.read({file.blob for _, file in wanted if file})
        failed: list[str] = []
        for path, file in sorted(wanted, key=lambda each: each[1] is not None):
            try:
                self._put(path, file, contents[file.blob] if file else b"", attributes.get(path))
            except OSError as error:
                failed.append(f"{path} ({error.strerror})")
        if failed:
            raise RoomRefused(
                f"Files of the workspace cannot be put in for a check: {', '.join(failed)}.",
                "look at these files; a sealed room needs none of this",
            )

    def _put(self, path: str, file: File | None, content: bytes, attributes: Attributes | None) -> None:
        *folders, name = path.split("/")
        with _folder(self._site.root, folders, create=file is not None) as descriptor:
            if descriptor is None:
                return
            if file is None:
                _remove(name, descriptor)
            else:
                _write(name, self._draft, descriptor, file.mode, content, attributes)
        if file is None:
            self._remove_empty(folders)

    def _remove_empty(self, folders: list[str]) -> None:
        """Remove the folders on the way to a removed file that are empty now."""
        while folders:
            with _folder(self._site.root, folders[:-1], create=False) as descriptor:
                try:
                    if descriptor is None:
                        return
                    os.rmdir(folders[-1], dir_fd=descriptor)
                except OSError:
                    return
            folders = folders[:-1]


def _attributes(root: str, path: str) -> Attributes | None:
    try:
        status = os.lstat(os.path.join(root, path))
    except OSError:
        return None
    return Attributes(stat.S_IMODE(status.st_mode), status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def _content(path: str) -> bytes | None:
    """The content of a file, or the target of a link; None if neither is there."""
    try:
        if os.path.islink(path):
            return os.readlink(os.fsencode(path))
        return Path(path).read_bytes() if os.path.isfile(path) else None
    except OSError:
        return None


@contextmanager
def _folder(root: str, names: list[str], *, create: bool) -> Iterator[int | None]:
    """An open folder below the root, reached without following links; None: it is not there. With `create` it is made."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            below = _opened(name, descriptor, create=create)
            if below is None:
                yield None
                return
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _opened(name: str, parent: int, *, create: bool) -> int | None:
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=parent)
    except OSError:
        if not create:
            return None
    if _is_there(name, parent):
        # A link or file is in the way. It is not in the tree that is put in, or the tree would not have files below it.
        os.unlink(name, dir_fd=parent)
    os.mkdir(name, dir_fd=parent)
    return os.open(name, _FOLDER_FLAGS, dir_fd=parent)


def _is_there(name: str, parent: int) -> bool:
    try:
        os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return False
    return True


def _remove(name: str, parent: int) -> None:
    """Remove a file or link. A folder may stay: it holds other files."""
    with suppress(FileNotFoundError, IsADirectoryError):
        os.unlink(name, dir_fd=parent)


def _write(name: str, draft: str, parent: int, mode: str, content: bytes, attributes: Attributes | None) -> None:
    """Write a file or link under another name and rename it, so that it is never there in part."""
    try:
        if mode == _LINK:
            os.symlink(content, os.fsencode(draft), dir_fd=parent)
        else:
            _write_file(draft, parent, mode, content, attributes)
        if _is_folder(name, parent):
            os.rmdir(name, dir_fd=parent)
        os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        _remove(draft, parent)
        raise


def _write_file(draft: str, parent: int, mode: str, content: bytes, attributes: Attributes | None) -> None:
    permissions = attributes.mode if attributes else 0o755 if mode == _PROGRAM else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(draft, flags, 0o600, dir_fd=parent), "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(file.fileno(), permissions)
        if attributes:
            os.utime(file.fileno(), ns=(attributes.modified, attributes.modified))
        os.fsync(file.fileno())


def _is_folder(name: str, parent: int) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode)
    except FileNotFoundError:
        return False
