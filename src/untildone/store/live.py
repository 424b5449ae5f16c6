"""The live state file in the workspace: people read it, agents edit it, and edits are detected."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from untildone.core.live_file import FOLDER, NAME, own_name
from untildone.core.protection.secrets import Redactor
from untildone.core.values.value import dataclass
from untildone.system import disk

LARGEST = 1 << 20
# Compiled at first use: most stops of the hook need neither.
_OWNER = r"(?m)^[ \t]*[-*]?[ \t]*Task ID:[ \t]*(\S+)"
_LIVE = r"(?m)^[ \t]*[-*]?[ \t]*Status:[ \t]*IN_PROGRESS\b"


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of the live file by a person or an agent: its new and its previous text."""

    text: str
    before: str


class LiveFile:
    """The live file of one loop. A copy of its last known text beside the journal shows whether it was edited."""

    def __init__(self, workspace: str, progress: Path, loop_id: str, redactor: Redactor) -> None:
        self._redactor = redactor
        self._folder = Path(workspace) / FOLDER
        self._copy = progress / "live.md"
        self._loop_id = loop_id

    @property
    def path(self) -> Path:
        """The usual name, or a name with the loop's short id if another live loop in the folder uses the usual one."""
        own = self._folder / own_name(self._loop_id)
        usual = self._folder / NAME
        return own if own.exists() or self._is_anothers(_text(usual)) else usual

    def _is_anothers(self, text: str | None) -> bool:
        """Whether the file belongs to another loop. In a file of ours, an owner that is no loop id is just an edited line."""
        owner = re.search(_OWNER, text) if text else None
        if not text or owner is None or owner[1] == self._loop_id or re.search(_LIVE, text) is None:
            return False
        return owner[1].startswith("loop-") or not self._copy.exists()

    def edited(self) -> Edit | None:
        """The edit since the last `write` or `accept`; None if there is none, or before the first `write`."""
        text, before = _text(self.path), _text(self._copy)
        if text is None or before is None or (text := self._redactor.text(text)) == before:
            return None
        return Edit(text, before)

    def accept(self, text: str) -> None:
        """Take the text as known, so that it no longer counts as an edit."""
        disk.replace_file(self._copy, self._encoded(text), sync=False)

    def write(self, text: str) -> None:
        """Write the file, then the copy. After a crash between the two, the file counts as edited, which changes nothing.

        Does nothing if the workspace does not exist, because it is on another machine.
        """
        if not self._folder.parent.is_dir():
            return
        path = self.path
        with disk.as_store_error(path):
            self._folder.mkdir(parents=True, exist_ok=True)
        disk.replace_file(path, self._encoded(text), sync=False)
        self.accept(text)

    def _encoded(self, text: str) -> bytes:
        return self._redactor.text(text).encode("utf-8", "replace")

    def retire(self, keep: Callable[[str], object], last: str | None = None) -> None:
        """Call `keep` with the final text, or `last` if given, and delete the file, and its folder if it is empty then.

        Called when the loop has ended."""
        path = self.path
        text = _text(path)
        owner = re.search(_OWNER, text or "")
        is_ours = owner is not None and owner[1] == self._loop_id
        if last is not None or is_ours:
            keep(self._redactor.text(last or text or ""))
        if is_ours:
            with disk.as_store_error(path):
                path.unlink(missing_ok=True)
            with suppress(OSError):
                self._folder.rmdir()  # only if nothing else is in it


def _text(path: Path) -> str | None:
    """The first `LARGEST` bytes of a file; None if it is no regular file or unreadable. `O_NONBLOCK`: opening a FIFO would block."""
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
