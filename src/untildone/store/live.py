"""The live state file in the workspace: people read it, agents edit it, and what they write is noticed."""

from __future__ import annotations

import re
from pathlib import Path

from untildone.core.secrets import Redactor
from untildone.store import disk

FOLDER = ".claude"
NAME = "ralph-delta.local.md"
LARGEST = 1 << 20
_OWNER = re.compile(r"^- Task ID: *(\S+) *$", re.MULTILINE)
_LIVE = re.compile(r"^- Status: *IN_PROGRESS *$", re.MULTILINE)


class LiveFile:
    """One loop's live file. What was written last is kept beside the journal, so that an edit shows."""

    def __init__(self, workspace: str, progress: Path, loop_id: str, redactor: Redactor) -> None:
        self._redactor = redactor
        self._folder = Path(workspace) / FOLDER
        self._copy = progress / "live.md"
        self._loop_id = loop_id

    @property
    def path(self) -> Path:
        """The usual name; with the loop's short id in it where another live loop of the folder has that name."""
        own = self._folder / f"ralph-delta.{self._loop_id.rpartition('-')[2]}.local.md"
        usual = self._folder / NAME
        if own.exists() or self._is_anothers(_text(usual)):
            return own
        return usual

    def _is_anothers(self, text: str | None) -> bool:
        owner = _OWNER.search(text or "")
        return owner is not None and owner[1] != self._loop_id and _LIVE.search(text or "") is not None

    def edited(self) -> str | None:
        """What the file says, if that is not what was written last."""
        text = _text(self.path)
        return None if text is None or text == _text(self._copy) else text

    def write(self, text: str) -> None:
        """The file first: after a crash between the two, it looks edited and is read again, which changes nothing."""
        with disk.told_as_sentence(self.path):
            self._folder.mkdir(parents=True, exist_ok=True)
        disk.replace_file(self.path, self._written(text))
        disk.replace_file(self._copy, self._written(text))

    def _written(self, text: str) -> bytes:
        return self._redactor.text(text).encode("utf-8", "replace")

    def retire(self, archive: Path) -> None:
        """The loop has ended: the file goes to its history."""
        text = _text(self.path)
        owner = _OWNER.search(text or "")
        if text is not None and owner is not None and owner[1] == self._loop_id:
            disk.replace_file(archive / "ralph-delta.state.md", self._written(text))
            self.path.unlink(missing_ok=True)


def _text(path: Path) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST).decode("utf-8", "replace")
    except OSError:
        return None
