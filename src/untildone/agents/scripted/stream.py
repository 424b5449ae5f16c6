"""Reads the JSON lines of the scripted agent."""

from __future__ import annotations

from collections.abc import Iterator

from untildone.agents._lines import (
    Object,
    ObjectLines,
    ended_without_answer,
    field,
    first_line,
    number_field,
    spent_field,
    text_field,
    tokens_field,
)
from untildone.core.model import Answer, Failure, FailureKind, Usage
from untildone.core.plugins.agent_io import (
    AgentEvent,
    Notice,
    Said,
    SessionKnown,
    Thought,
    ToolEnded,
    ToolStarted,
    Used,
)

CANNOT_WORK = 2
"""The program's exit code if the script or the command line is invalid."""


class ScriptedReader:
    def __init__(self) -> None:
        self._lines = ObjectLines("scripted")
        self._session: str | None = None
        self._model: str | None = None
        self._version: str | None = None
        self._said = ""
        self._answer: Object | None = None
        self._used = Usage()
        self._failure: Object | None = None

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        read = self._lines.read(line)
        if read is None:
            return ()
        return (read,) if isinstance(read, Notice) else tuple(self._take(read))

    def _take(self, fields: Object) -> Iterator[AgentEvent]:
        match text_field(fields, "event"):
            case "session":
                yield from self._take_session(fields)
            case "say":
                self._said = text_field(fields, "text")
                yield Said(self._said)
            case "think":
                yield Thought(text_field(fields, "text"))
            case "tool":
                yield ToolStarted(text_field(fields, "tool"), first_line(text_field(fields, "summary")))
            case "tool_end":
                summary = first_line(text_field(fields, "summary"))
                yield ToolEnded(text_field(fields, "tool"), field(fields, "ok") is True, summary)
            case "used":
                self._used = _usage(fields)
                yield Used(self._used)
            case "failure":
                self._failure = fields
            case "answer":
                self._answer = fields

    def _take_session(self, fields: Object) -> Iterator[AgentEvent]:
        self._session = text_field(fields, "session_id") or None
        self._model = text_field(fields, "model") or None
        self._version = text_field(fields, "version") or None
        if self._session:
            yield SessionKnown(self._session)

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        answer = self._answer or {}
        denials = field(answer, "denials")
        return Answer(
            text=text_field(answer, "text") if self._answer else self._said,
            session_id=self._session,
            usage=_usage(answer) if self._answer else self._used,
            failure=self._why_it_failed(exit_code, stderr_tail, now),
            denials=tuple(str(denial) for denial in denials) if isinstance(denials, list) else (),
            exit_code=exit_code,
            agent_version=self._version,
            model=self._model,
        )

    def _why_it_failed(self, exit_code: int, stderr_tail: str, now: float) -> Failure | None:
        if self._failure is not None:
            return _scripted_failure(self._failure, now)
        if exit_code == 0 and self._answer is not None:
            return None
        if exit_code == CANNOT_WORK:
            lines = stderr_tail.strip().splitlines()
            return Failure(FailureKind.UNAVAILABLE, lines[-1] if lines else "scripted: it cannot work.")
        return ended_without_answer("scripted", exit_code, stderr_tail, now, stray=self._lines.stray)


def _usage(fields: Object) -> Usage:
    return Usage(spent_field(fields, "cost_usd"), tokens_field(fields, "tokens"))


def _scripted_failure(fields: Object, now: float) -> Failure:
    reset_in = number_field(fields, "reset_in")
    kind = text_field(fields, "kind")
    known = FailureKind(kind) if kind in set(FailureKind) else FailureKind.MALFORMED
    return Failure(known, text_field(fields, "message"), None if reset_in is None else now + reset_in)
