"""Login codes: each begins one session, within a quarter of an hour. They live in the memory of one server."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from untildone.operations.access.scopes import Caller

LASTS = 15 * 60.0
MOST = 1000


@dataclass(frozen=True, slots=True)
class _Code:
    code: str
    caller: Caller
    until: float


class Codes:
    """The codes of one server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._codes: list[_Code] = []
        self._lock = threading.Lock()
        self._clock = clock

    def new(self, caller: Caller) -> str:
        """A code that begins a session of `caller`."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes = [*self._valid(), _Code(code, caller, self._clock() + LASTS)][-MOST:]
        return code

    def look(self, given: str) -> Caller | None:
        """Whose session the code would begin; None if it is not valid. It stays valid."""
        with self._lock:
            return self._find(given)[0]

    def use(self, given: str) -> Caller | None:
        """The caller whose session the code begins; None if it is not valid. Afterwards it is invalid."""
        with self._lock:
            caller, self._codes = self._find(given)
            return caller

    def _find(self, given: str) -> tuple[Caller | None, list[_Code]]:
        given_bytes = given.encode("utf-8", "replace")
        matching = [each for each in self._valid() if hmac.compare_digest(each.code.encode(), given_bytes)]
        rest = [each for each in self._valid() if each not in matching]
        return (matching[0].caller if matching else None), rest

    def _valid(self) -> list[_Code]:
        return [each for each in self._codes if self._clock() < each.until]
