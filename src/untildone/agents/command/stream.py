"""Reads the plain text that any program prints."""

from __future__ import annotations

from collections import deque

from untildone.agents._lines import ended_without_answer
from untildone.core.answers.failures import limit_as_last_word, limit_in_answer
from untildone.core.model import Answer, Failure, FailureKind
from untildone.core.plugins.agent_io import AgentEvent, Said

LONGEST_ANSWER = 256 * 1024
"""How many bytes of the output are kept: the last ones."""


class CommandReader:
    def __init__(self, program: str) -> None:
        self._program = program
        self._lines: deque[bytes] = deque()
        self._size = 0

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        kept = line[-LONGEST_ANSWER:]
        self._lines.append(kept)
        self._size += len(kept) + 1
        while self._size > LONGEST_ANSWER + 1:
            self._size -= len(self._lines.popleft()) + 1
        return (Said(kept.decode("utf-8", "replace"), line.count(b"\n") + 1),)

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        text = b"\n".join(self._lines).decode("utf-8", "replace").strip()
        return Answer(text=text, failure=self._failure(text, exit_code, stderr_tail, now), exit_code=exit_code)

    def _failure(self, text: str, exit_code: int, stderr_tail: str, now: float) -> Failure | None:
        limit = limit_in_answer(text, now)
        if exit_code or not text:
            # Only without an answer: beside an answer, standard error is about a limit that is over.
            limit = limit or limit_as_last_word(stderr_tail, now)
        if limit is not None or exit_code == 0:
            return limit
        ended = ended_without_answer(self._program, exit_code, stderr_tail or text[-1000:], now)
        # The output of an unknown program may be about anything. So only a missing program is more than a crash.
        kind = ended.kind if exit_code in (126, 127) else FailureKind.CRASHED
        return Failure(kind, ended.message)
