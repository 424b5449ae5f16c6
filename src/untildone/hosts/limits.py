"""Usage limits that all loops of a person share: one loop's bad news saves the others a futile call."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from untildone.core.loop import Limit
from untildone.core.model import Answer
from untildone.core.reset_times import reset_time
from untildone.core.value import replace


class SharedLimits:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, profile: str, now: float) -> Limit | None:
        """The limit that holds for a profile, if one does."""
        try:
            told = json.loads(self._path(profile).read_text())
            limit = Limit(float(told["until"]), str(told["message"]), int(told["strikes"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return limit if limit.until > now else None

    def tell(self, profile: str, limit: Limit) -> None:
        """Best effort: a limit that cannot be shared still holds for the loop that met it."""
        path = self._path(profile)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps({"until": limit.until, "message": limit.message, "strikes": limit.strikes}))
            os.replace(draft, path)
        except OSError:
            return

    def forget(self, profile: str) -> None:
        with suppress(OSError):
            self._path(profile).unlink()

    def _path(self, profile: str) -> Path:
        name = "".join(letter if letter.isalnum() or letter in "-_" else f"%{ord(letter):x}" for letter in profile)
        return self._folder / f"{name}.json"


def default_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "untildone" / "limits"


def in_local_time(answer: Answer, now: float) -> Answer:
    """With a clock time taken as this machine's: programs mean that, and a reader, which is pure, took it as UTC."""
    failure = answer.failure
    if failure is None or failure.reset_at is None or failure.reset_at != reset_time(failure.message, now):
        return answer
    local = reset_time(failure.message, now, time.localtime(now).tm_gmtoff)
    return replace(answer, failure=replace(failure, reset_at=local))
