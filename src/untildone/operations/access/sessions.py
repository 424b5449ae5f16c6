"""Sessions of browsers: random ids, kept as digests in the state folder.

Each is a file of its own, so that people stay logged in over a crash of the server, and servers of one user share them.

Browsers send cookies to every port of a host, so the id alone only reads. What changes something takes the key of the session too, which
browsers keep for the one name and port that gave it to them.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from untildone.operations.access.scopes import Caller, Scope
from untildone.operations.access.tokens import digest_of
from untildone.system import disk, state_folder

FOLDER = "sessions"
LASTS = 30 * 24 * 3600.0
"""Seconds after which a session ends."""
MOST = 1000
"""Sessions of one user. One more ends the oldest."""
_ID = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class NewSession:
    """The secrets of a session that begins. They are kept as digests only."""

    session_id: str
    key: str


@dataclass(frozen=True, slots=True)
class Session:
    """A session: the caller that it stands for, and when it ends (epoch seconds)."""

    caller: Caller
    ends_at: float
    key_digest: str

    def opens_with(self, key: str) -> bool:
        """Whether this is the key of the session, with which it may change things."""
        return hmac.compare_digest(digest_of(key), self.key_digest)


class Sessions:
    """The sessions in the state folder of a user, shared by the user's servers."""

    def __init__(self, environment: Mapping[str, str] = os.environ, clock: Callable[[], float] = time.time) -> None:
        self._environment = environment
        self._folder = Path(state_folder.folder(environment)) / FOLDER
        self._clock = clock

    def begin(self, caller: Caller) -> NewSession:
        """Begin a session of the holder of a token; return its id and its key, both random."""
        new = NewSession(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        fields = {
            "name": caller.name,
            "scope": caller.scope.value,
            "token": caller.digest,
            "since": self._clock(),
            "key": digest_of(new.key),
        }
        with disk.as_store_error(self._folder):
            state_folder.made(FOLDER, environment=self._environment)
        self._make_room()
        disk.replace_file(self._path(new.session_id), json.dumps(fields).encode(), mode=0o600)
        disk.sync_folder(self._folder)
        return new

    def find(self, session_id: str) -> Session | None:
        """The session with this id; None if there is none, or it has ended."""
        if not _ID.fullmatch(session_id):
            return None
        try:
            fields = json.loads(disk.read_promptly(self._path(session_id), 1 << 16))
            ends_at = float(fields["since"]) + LASTS
            caller = Caller(str(fields["name"]), Scope(fields["scope"]), str(fields["token"]), session_id)
            session = Session(caller, ends_at, str(fields["key"]))
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return session if ends_at - LASTS <= self._clock() + 60 and self._clock() < ends_at else None

    def end(self, session_id: str) -> None:
        """Log out."""
        if _ID.fullmatch(session_id):
            with disk.as_store_error(self._folder), suppress(FileNotFoundError):
                self._path(session_id).unlink()

    def _path(self, session_id: str) -> Path:
        return self._folder / digest_of(session_id)

    def _make_room(self) -> None:
        """Delete the ended sessions, and the oldest ones if there are too many."""
        now, ages = self._clock(), []
        for path in self._folder.iterdir():
            with suppress(OSError):
                ages.append((path.stat().st_mtime, path))
        ages.sort()
        surplus = max(0, len(ages) - MOST + 1)
        for number, (since, path) in enumerate(ages):
            if number < surplus or since + LASTS < now:
                with suppress(OSError):
                    path.unlink()
