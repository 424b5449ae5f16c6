"""Reads the JSON lines of `gemini`. Its exit code is the HTTP status, modulo 256."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from untildone.agents._lines import (
    ClosingText,
    Object,
    ObjectLines,
    ended_without_answer,
    first_line,
    object_field,
    session_to_use,
    text_field,
    tokens_field,
    tool_summary,
)
from untildone.agents._tally import Tally, count_of, usage_of
from untildone.agents.gemini import metering
from untildone.core.answers.failures import classify, limit_in_answer, status_in
from untildone.core.model import Answer, Failure, FailureKind, Usage
from untildone.core.plugins.agent_io import (
    AgentEvent,
    Notice,
    Request,
    Said,
    SessionKnown,
    SideReader,
    ToolEnded,
    ToolStarted,
)
from untildone.core.prices import TokenCount

_STATUS_BY_EXIT = {status % 256: status for status in (400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504)}


_NO_AUTH, _NOT_TRUSTED, _TURNS_USED = 41, 55, 53


_KINDS = ("message", "init", "tool_use", "tool_result", "error", "result")
"""The kinds of lines that end a text which arrives in pieces. Lines of other kinds do not split the text."""


class GeminiReader(SideReader):
    def __init__(self, request: Request | None = None) -> None:
        self._request = request or Request(prompt="")
        self._lines = ObjectLines("gemini")
        self._session: str | None = None
        self._model: str | None = None
        self._saying = ClosingText()
        self._text = ""
        self._tools: dict[str, str] = {}
        self._trouble = ""
        self._result: Object | None = None
        self._tally = Tally(self._request.prices)

    def side_files(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        return metering.files(environment, session_to_use(self._request)[1])

    def feed_side(self, line: bytes) -> tuple[AgentEvent, ...]:
        return self._tally.used() if metering.take(line, self._tally) else ()

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        read = self._lines.read(line)
        if read is None:
            return ()
        return (read,) if isinstance(read, Notice) else tuple(self._take(read))

    def _take(self, fields: Object) -> Iterator[AgentEvent]:
        kind = text_field(fields, "type")
        if kind == "message" and text_field(fields, "role") == "assistant":
            self._saying.add(text_field(fields, "content"))
            return
        if kind in _KINDS:
            yield from self._said()
        match kind:
            case "init":
                yield from self._take_init(fields)
            case "tool_use":
                yield from self._take_tool_use(fields)
            case "tool_result":
                yield from self._take_tool_result(fields)
            case "error":
                self._text, self._trouble = "", text_field(fields, "message")
                yield Notice(first_line(self._trouble))
            case "result":
                self._result = fields

    def _said(self) -> Iterator[AgentEvent]:
        """The text that arrived in pieces, once a line of another kind follows."""
        text = self._saying.joined("")
        if text:
            self._text = text
            self._saying.clear()
            yield Said(text)

    def _take_init(self, fields: Object) -> Iterator[AgentEvent]:
        self._model = text_field(fields, "model") or None
        if session := text_field(fields, "session_id"):
            self._session = session
            yield SessionKnown(session)

    def _take_tool_use(self, fields: Object) -> Iterator[AgentEvent]:
        self._text = ""
        tool = text_field(fields, "tool_name")
        self._tools[text_field(fields, "tool_id")] = tool
        yield ToolStarted(tool, tool_summary(object_field(fields, "parameters")))

    def _take_tool_result(self, fields: Object) -> Iterator[AgentEvent]:
        tool = self._tools.pop(text_field(fields, "tool_id"), "")
        yield ToolEnded(tool, text_field(fields, "status") == "success", first_line(text_field(fields, "output")))

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        failure = self._failure(exit_code, stderr_tail, now)
        usage = self._usage()
        return Answer(
            text="" if failure else self._text,
            session_id=self._session,
            usage=usage,
            priced="" if usage.cost_usd is None else self._request.prices.date,
            failure=failure,
            exit_code=exit_code,
            model=self._model,
        )

    def _usage(self) -> Usage:
        """What the program reports at its end, or what its recording says, whichever is more: a run that was ended reports nothing."""
        stats = object_field(self._result or {}, "stats")
        models = object_field(stats, "models")
        counts = {name: _count(object_field(models, name)) for name in models}
        reported = Usage(usage_of(counts, self._request.prices).cost_usd, tokens_field(stats, "total_tokens"))
        return reported.or_more(self._tally.usage)

    def _failure(self, exit_code: int, stderr_tail: str, now: float) -> Failure | None:
        if self._result is None:
            return self._unfinished(exit_code, stderr_tail, now)
        if text_field(self._result, "status") != "error":
            return limit_in_answer(self._text, now)
        if exit_code == _TURNS_USED:
            return None
        message = text_field(self._result, "error", "message") or self._trouble
        return classify(message, status=status_in(message) or _STATUS_BY_EXIT.get(exit_code), now=now)

    def _unfinished(self, exit_code: int, stderr_tail: str, now: float) -> Failure:
        failure = ended_without_answer("gemini", exit_code, stderr_tail, now, stray=self._lines.stray)
        if exit_code in (_NO_AUTH, _NOT_TRUSTED):
            return Failure(FailureKind.AUTH, failure.message)
        status = _STATUS_BY_EXIT.get(exit_code)
        return classify(stderr_tail or failure.message, status=status, now=now) if status else failure


def _count(stats: Object) -> TokenCount:
    """The tokens of one model. Tokens that are neither input nor visible output are thoughts, and count as output."""
    read, total = tokens_field(stats, "input_tokens") or 0, tokens_field(stats, "total_tokens") or 0
    return count_of(read, max(0, total - read), tokens_field(stats, "cached"))
