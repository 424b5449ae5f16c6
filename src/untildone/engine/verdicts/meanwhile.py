"""Looks at what a claim left around its tree, while the commands of gates run in sealed rooms: these can change nothing of it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from untildone.workspace.beside import Beside

Sentences = tuple[str, ...]
Look = Callable[[], Sentences]


class Meanwhile:
    """Two looks that begin together, once. Several threads may use it at once."""

    def __init__(self, programs: Look, signs: Look = tuple) -> None:
        """`programs` returns sentences about the programs on PATH, and raises RoomRefused if the claim cannot be judged with them; `signs`
        returns the tampering report."""
        self._looks = programs, signs
        self._begun: tuple[Beside[Sentences], Beside[Sentences]] | None = None
        self._beginning = threading.Lock()

    def begin(self) -> tuple[Beside[Sentences], Beside[Sentences]]:
        with self._beginning:
            if self._begun is None:
                programs, signs = self._looks
                self._begun = Beside(programs), Beside(signs)
            return self._begun

    @property
    def is_refused(self) -> bool:
        """Whether it is known that no result of a command counts."""
        return self._begun is not None and self._begun[0].has_failed

    def programs(self) -> Sentences:
        return self.begin()[0].result()

    def signs(self) -> Sentences:
        return self.begin()[1].result()
