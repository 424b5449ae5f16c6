"""Requests that a client may repeat: the answer to the first one is kept for a day, also over a restart of the server."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from untildone.core.errors import StoreError
from untildone.core.values.digest import sha256
from untildone.system import disk, state_folder

KEPT_SECONDS = 24 * 3600
TIDY_EVERY = 3600.0
_ENDING = ".json"


@dataclass(frozen=True, slots=True)
class Answered:
    """The request that was made with a key, and its answer. Without a status, there is none yet."""

    request: str
    """A hash of the request."""
    status: int = 0
    headers: Mapping[str, str] | None = None
    body: str = ""


class RepeatedRequests:
    """Answers by the key of their request, in files of the state folder that only their owner can read."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._tidied_at = float("-inf")

    def find(self, key: str) -> Answered | None:
        """The recorded request of a key; None: there is none, or it is older than a day."""
        path = self._path(key)
        try:
            if time.time() - path.stat().st_mtime > KEPT_SECONDS:
                return None
            fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return Answered(str(fields["request"]), int(fields["status"]), dict(fields["headers"]), str(fields["body"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise StoreError(f"{path} cannot be read: {problem}.", "delete the file, or use another key") from None

    def keep(self, key: str, answered: Answered) -> None:
        """Keep the answer, or that a request is being answered. On disk before this returns."""
        self._tidy()
        fields = {
            "request": answered.request,
            "status": answered.status,
            "headers": dict(answered.headers or {}),
            "body": answered.body,
        }
        state_folder.made("requests", environment=self._environment)
        disk.replace_file(self._path(key), json.dumps(fields).encode(), mode=0o600)

    def forget(self, key: str) -> None:
        """Forget a request that failed: it may be sent again."""
        with suppress(OSError):
            self._path(key).unlink()

    @property
    def _folder(self) -> Path:
        return Path(state_folder.folder(self._environment)) / "requests"

    def _path(self, key: str) -> Path:
        return self._folder / f"{sha256(key.encode()).hexdigest()}{_ENDING}"

    def _tidy(self) -> None:
        """Delete what is older than a day, now and then."""
        if time.monotonic() - self._tidied_at < TIDY_EVERY:
            return
        self._tidied_at = time.monotonic()
        with suppress(OSError):
            for entry in os.scandir(self._folder):
                with suppress(OSError):
                    if time.time() - entry.stat().st_mtime > KEPT_SECONDS:
                        os.unlink(entry.path)
