"""The loop of a session: a small file named after the session, so that no loop has to be read."""

from __future__ import annotations

import os

from untildone.core.values.value import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = ".loop"
_LARGEST = 4096
_HOLDER, _RESTS = "by ", "told"
"""How a line with the holder starts, and the line for a reported rest."""
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")


@dataclass(frozen=True, slots=True)
class Note:
    """The file of a session that has, or had, a loop."""

    root: str
    """The folder with the loops."""
    session_id: str
    loop_id: str
    message_read: int = 0
    """How many characters of a cumulative message earlier stops have read."""
    rest_reported: bool = False
    """Whether the person has got the message that the loop rests."""
    holder: str = ""
    """The process that has the session open, as `presence` writes it; empty: unknown."""


def is_name(session_id: str) -> bool:
    """Whether the session id is safe as a file name."""
    return 0 < len(session_id) <= 128 and session_id[0] != "." and _LETTERS.issuperset(session_id)


def find(session_id: str, folders: Iterable[str]) -> Note | None:
    """The note of a session, in these folders or the nearest ones above; None if it has no loop."""
    if not is_name(session_id):
        return None
    visited: set[str] = set()
    for folder in folders:
        place = os.path.abspath(folder)
        while place not in visited:
            visited.add(place)
            if (note := read(os.path.join(place, FOLDER), session_id)) is not None:
                return note
            place = os.path.dirname(place)
    return None


def read(root: str, session_id: str) -> Note | None:
    """The note of a session in the folder of loops `root`; None: there is none."""
    try:
        with open(_path(root, session_id), "rb") as file:
            lines = file.read(_LARGEST).decode("ascii", "replace").split("\n")
    except OSError:
        return None
    message_read = int(lines[1]) if len(lines) > 1 and lines[1].isdigit() and lines[1].isascii() else 0
    holder = next((line.removeprefix(_HOLDER) for line in lines[2:] if line.startswith(_HOLDER)), "")
    return Note(root, session_id, lines[0], message_read, _RESTS in lines[2:], holder)


def write(note: Note) -> None:
    """Write the note; atomic, by renaming."""
    path = _path(note.root, note.session_id)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    draft = f"{path}.{os.getpid()}.tmp"
    with open(draft, "w", encoding="ascii") as file:
        file.write(f"{note.loop_id}\n{note.message_read}\n" + (f"{_RESTS}\n" if note.rest_reported else ""))
        file.write(f"{_HOLDER}{note.holder}\n" if note.holder.isascii() and note.holder else "")
    os.replace(draft, path)


def forget(note: Note) -> None:
    """Delete the note."""
    try:
        os.unlink(_path(note.root, note.session_id))
    except OSError:
        return


def _path(root: str, session_id: str) -> str:
    return os.path.join(root, "sessions", session_id)
