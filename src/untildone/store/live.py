"""The live state file in the workspace: people read it, agents edit it, and what they write is noticed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

from untildone.core.live_file import FOLDER, NAME, own_name
from untildone.core.secrets import Redactor
from untildone.core.value import dataclass
from untildone.system import disk

LARGEST = 1 << 20
_OWNER = re.compile(r"^[ \t]*[-*]?[ \t]*Task ID:[ \t]*(\S+)", re.MULTILINE)
_LIVE = re.compile(r"^[ \t]*[-*]?[ \t]*Status:[ \t]*IN_PROGRESS\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Edit:
    """What somebody made of the file, and what it said before."""

    text: str
    before: str


class LiveFile:
    """One loop's live file. What was written or seen last is kept beside the journal, so that an edit shows."""

    def __init__(self, workspace: str, progress: Path, loop_id: str, redactor: Redactor) -> None:
        self._redactor = redactor
        self._folder = Path(workspace) / FOLDER
        self._copy = progress / "live.md"
        self._loop_id = loop_id

    @property
    def path(self) -> Path:
        """The usual name; with the loop's short id in it where another live loop of the folder has that name."""
        own = self._folder / own_name(self._loop_id)
        usual = self._folder / NAME
        return own if own.exists() or self._is_anothers(_text(usual)) else usual

    def _is_anothers(self, text: str | None) -> bool:
        """Once the file is ours, a name that is no loop's is only an owner's line that somebody spoilt."""
        owner = _OWNER.search(text or "")
        if owner is None or owner[1] == self._loop_id or _LIVE.search(text or "") is None:
            return False
        return owner[1].startswith("loop-") or not self._copy.exists()

    def edited(self) -> Edit | None:
        """What the file says, if that is not what was written or seen last. Before the first writing, nothing is an edit."""
        text, before = _text(self.path), _text(self._copy)
        if text is None or before is None or (text := self._redactor.text(text)) == before:
            return None
        return Edit(text, before)

    def seen(self, text: str) -> None:
        """An edit has been taken note of: it is none any more."""
        disk.replace_file(self._copy, self._written(text), sync=False)

    def write(self, text: str) -> None:
        """The file first: after a crash between the two, it looks edited and is read again, which changes nothing.

        Does nothing where the workspace does not exist: another machine has it.
        """
        if not self._folder.parent.is_dir():
            return
        path = self.path
        with disk.as_store_error(path):
            self._folder.mkdir(parents=True, exist_ok=True)
        disk.replace_file(path, self._written(text), sync=False)
        self.seen(text)

    def _written(self, text: str) -> bytes:
        return self._redactor.text(text).encode("utf-8", "replace")

    def retire(self, keep: Callable[[str], object], last: str | None = None) -> None:
        """The loop has ended: what the file says, or should say at last, is kept, and the file goes."""
        path = self.path
        text = _text(path)
        owner = _OWNER.search(text or "")
        is_ours = owner is not None and owner[1] == self._loop_id
        if last is not None or is_ours:
            keep(self._redactor.text(last or text or ""))
        if is_ours:
            with disk.as_store_error(path):
                path.unlink(missing_ok=True)


def _text(path: Path) -> str | None:
    """The beginning of the file; None if it is none, or cannot be read. Opening never waits, as it would for a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        try:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return file.read(LARGEST).decode("utf-8", "replace") if regular else None
        except OSError:
            return None
