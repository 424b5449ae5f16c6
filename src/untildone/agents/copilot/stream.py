"""Reads the JSON lines of GitHub Copilot CLI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from untildone.agents._lines import (
    Object,
    ObjectLines,
    ended_without_answer,
    field,
    first_line,
    object_field,
    objects_field,
    status_field,
    text_field,
    tool_summary,
)
from untildone.agents._tally import Tally, usage_of
from untildone.agents.copilot import metering
from untildone.core.answers.failures import classify, limit_in_answer
from untildone.core.model import Answer, Failure, FailureKind, Usage
from untildone.core.plugins.agent_io import (
    AgentEvent,
    Notice,
    Said,
    SessionKnown,
    SideReader,
    Thought,
    ToolEnded,
    ToolStarted,
)
from untildone.core.prices import PUBLISHED, Prices

_COMPLETED = "task_complete"
"""The tool by which an autopilot says that it is done."""
_FILTERED, _LONGEST_NOTE = "the response was blocked by content filtering", 200


class CopilotReader(SideReader):
    def __init__(self, session_id: str | None, prices: Prices = PUBLISHED) -> None:
        self._prices = prices
        self._lines = ObjectLines("copilot")
        self._session = session_id
        self._session_confirmed = False
        self._model: str | None = None
        self._text = ""
        self._tools: dict[str, str] = {}
        self._denials: list[str] = []
        self._error: Object | None = None
        self._last_status: int | None = None
        self._result_code: int | None = None
        self._used: Usage | None = None
        self._tally = Tally(prices)
        self._asked_for = session_id or ""

    def side_files(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        return metering.files(environment, self._asked_for)

    def feed_side(self, line: bytes) -> tuple[AgentEvent, ...]:
        return self._tally.used() if metering.take(line, self._tally) else ()

    def session_growth(self) -> Usage:
        return self._tally.usage

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        read = self._lines.read(line)
        if read is None:
            return ()
        if isinstance(read, Notice):
            return (read,)
        if "modelMetrics" in read and "type" not in read:
            models = object_field(read, "modelMetrics")
            counts = {name: metering.count(object_field(models, name, "usage")) for name in models}
            self._used = usage_of(counts, self._prices)
            return ()
        return (*self._known_session(), *self._take(text_field(read, "type"), object_field(read, "data"), read))

    def _known_session(self) -> Iterator[AgentEvent]:
        if self._session and not self._session_confirmed:
            self._session_confirmed = True
            yield SessionKnown(self._session)

    def _take(self, kind: str, fields: Object, line: Object) -> Iterator[AgentEvent]:
        match kind:
            case "assistant.message":
                yield from self._take_message(fields)
            case "assistant.reasoning":
                yield Thought(text_field(fields, "content"))
            case "tool.execution_start":
                yield from self._take_tool_start(fields)
            case "tool.execution_complete":
                yield from self._take_tool_end(fields)
            case "model.call_failure":
                self._last_status = status_field(fields, "statusCode")
            case "assistant.turn_retry":
                yield Notice(self._retry_sentence(fields))
            case "session.warning":
                yield Notice(first_line(text_field(fields, "message")))
            case "session.error":
                self._error = fields
            case "result":
                yield from self._take_result(line)

    def _take_message(self, fields: Object) -> Iterator[AgentEvent]:
        if field(fields, "parentToolCallId"):
            return
        self._error = None
        self._model = text_field(fields, "model") or self._model
        content, requests = text_field(fields, "content"), objects_field(fields, "toolRequests")
        completed = [request for request in requests if text_field(request, "name") == _COMPLETED]
        if completed:
            # The last words of an autopilot: no message follows.
            summary = text_field(completed[-1], "arguments", "summary")
            self._text = "\n\n".join(part for part in (content, summary) if part)
        else:
            self._text = "" if requests else content
        if content:
            yield Said(content)

    def _take_tool_start(self, fields: Object) -> Iterator[AgentEvent]:
        tool, summary = text_field(fields, "toolName"), tool_summary(object_field(fields, "arguments"))
        self._tools[text_field(fields, "toolCallId")] = f"{tool}: {summary}"
        yield ToolStarted(tool, summary)

    def _take_tool_end(self, fields: Object) -> Iterator[AgentEvent]:
        started = self._tools.pop(text_field(fields, "toolCallId"), "")
        if text_field(fields, "error", "code") == "denied":
            self._denials.append(started)
        summary = text_field(fields, "result", "content") or text_field(fields, "error", "message")
        yield ToolEnded(started.partition(":")[0], field(fields, "success") is True, first_line(summary))

    def _take_result(self, line: Object) -> Iterator[AgentEvent]:
        self._result_code = status_field(line, "exitCode")
        session = text_field(line, "sessionId")
        if session and session != self._session:
            self._session, self._session_confirmed = session, True
            yield SessionKnown(session)

    def _retry_sentence(self, fields: Object) -> str:
        status = f" ({self._last_status})" if self._last_status else ""
        return f"copilot tries its request again: {text_field(fields, 'reason').replace('_', ' ')}{status}"

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        failure = self._failure(exit_code, stderr_tail, now)
        return Answer(
            text="" if failure else self._text,
            session_id=self._session if self._session_confirmed else None,
            usage=self._tally.usage,
            session_total=self._used,
            priced=self._tally.priced or self._date_of(self._used),
            failure=failure,
            denials=tuple(self._denials),
            exit_code=exit_code,
            model=self._model,
        )

    def _date_of(self, used: Usage | None) -> str:
        return "" if used is None or used.cost_usd is None else self._prices.date

    def _failure(self, exit_code: int, stderr_tail: str, now: float) -> Failure | None:
        if self._error is not None:
            status = status_field(self._error, "statusCode")
            return classify(text_field(self._error, "message"), status=status, now=now)
        if _FILTERED in self._text[:_LONGEST_NOTE]:
            return Failure(FailureKind.REFUSED, first_line(self._text))
        if self._result_code == 0:
            return limit_in_answer(self._text, now)
        return ended_without_answer("copilot", exit_code, stderr_tail, now, stray=self._lines.stray)
