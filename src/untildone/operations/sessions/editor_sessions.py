"""Sessions of editors: the loops of a conversation in an editor. Kept in the state folder, so that any process finds them again."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from untildone.core.errors import UsageError
from untildone.core.values.value import dataclass, replace
from untildone.system import disk, state_folder

_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class EditorSession:
    """A conversation in an editor."""

    session_id: str
    folder: str
    mode: str
    loops: tuple[str, ...] = ()
    """The ids of its loops, the newest last."""

    def with_loop(self, loop_id: str) -> EditorSession:
        return replace(self, loops=(*self.loops, loop_id))


def begin(folder: Path, mode: str, environment: Mapping[str, str] = os.environ) -> EditorSession:
    """A new session, which is on disk."""
    session = EditorSession(secrets.token_hex(16), str(folder), mode)
    keep(session, environment)
    return session


def keep(session: EditorSession, environment: Mapping[str, str] = os.environ) -> None:
    fields = {"folder": session.folder, "mode": session.mode, "loops": list(session.loops)}
    file = _file(session.session_id, environment)
    state_folder.made("acp", environment=environment)
    with disk.as_store_error(file):
        disk.replace_file(file, json.dumps(fields).encode())


def find(session_id: str, environment: Mapping[str, str] = os.environ) -> EditorSession:
    """The session; UsageError if there is none, or if its file is damaged."""
    try:
        fields = json.loads(_file(session_id, environment).read_bytes())
        return EditorSession(session_id, str(fields["folder"]), str(fields["mode"]), tuple(map(str, fields["loops"])))
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"There is no session {session_id[:40]!r}.", "begin a new one") from None


def _file(session_id: str, environment: Mapping[str, str]) -> Path:
    if not _ID.fullmatch(session_id):
        raise UsageError(f"There is no session {session_id[:40]!r}.", "begin a new one")
    return Path(state_folder.folder(environment), "acp", f"{session_id}.json")
