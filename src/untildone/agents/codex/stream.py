"""Reads the JSON lines of `codex exec`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from untildone.agents._lines import (
    Object,
    ObjectLines,
    ended_without_answer,
    first_line,
    object_field,
    objects_field,
    text_field,
    tokens_field,
    tool_summary,
)
from untildone.agents._tally import count_of
from untildone.agents.codex.metering import Metering
from untildone.core.answers.failures import classify, limit_in_answer
from untildone.core.model import Answer, Failure, Usage
from untildone.core.plugins.agent_io import (
    AgentEvent,
    Notice,
    Request,
    Said,
    SessionKnown,
    SideReader,
    Thought,
    ToolEnded,
    ToolStarted,
)


class CodexReader(SideReader):
    def __init__(self, request: Request | None = None) -> None:
        self._request = request or Request(prompt="")
        self._lines = ObjectLines("codex")
        self._session: str | None = None
        self._text = ""
        self._total: Usage | None = None
        self._started: set[str] = set()
        self._failed = ""
        self._trouble = ""
        self._completed = False
        self._metering = Metering(self._request.prices)
        self.model = self._request.model
        """The model whose price the totals of the session have; None: it is unknown."""

    @property
    def reads_errors(self) -> bool:
        return self._request.meters

    def feed_side(self, line: bytes) -> tuple[AgentEvent, ...] | None:
        grown = self._metering.take(line, self._session)
        return None if grown is None else self._metering.used() if grown else ()

    def session_growth(self) -> Usage:
        return self._metering.of_session

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        read = self._lines.read(line)
        if read is None:
            return ()
        return (read,) if isinstance(read, Notice) else tuple(self._take(read))

    def _take(self, fields: Object) -> Iterator[AgentEvent]:
        match text_field(fields, "type"):
            case "thread.started":
                yield from self._take_session(text_field(fields, "thread_id"))
            case "item.started":
                yield from self._take_tool_start(object_field(fields, "item"))
            case "item.completed":
                yield from self._take_item(object_field(fields, "item"))
            case "turn.completed":
                self.complete()
                self.take_totals(object_field(fields, "usage"))
            case "turn.failed":
                self._failed = text_field(fields, "error", "message") or "the turn failed"
            case "error":
                self._trouble = text_field(fields, "message")
                yield Notice(first_line(self._trouble))

    def complete(self) -> None:
        """The turn has come to its end."""
        self._completed = True

    def take_totals(self, usage: Object) -> None:
        """Take the totals of the session. Those of the input contain what a cache held."""
        kinds = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens")
        count = count_of(*(tokens_field(usage, kind) for kind in kinds))
        self._total = Usage(self._request.prices.cost(self.model, count), count.total)

    def _take_session(self, session: str) -> Iterator[AgentEvent]:
        if session:
            self._session = session
            yield SessionKnown(session)

    def _take_item(self, item: Object) -> Iterator[AgentEvent]:
        self._trouble = ""
        match text_field(item, "type"):
            case "agent_message":
                self._text = text_field(item, "text")
                yield Said(self._text)
            case "reasoning":
                yield Thought(text_field(item, "text"))
            case "error":
                yield Notice(first_line(text_field(item, "message")))
            case kind if kind in _TOOLS:
                yield from self._take_tool_start(item)
                yield _tool_ended(item, _TOOLS[kind])

    def _take_tool_start(self, item: Object) -> Iterator[AgentEvent]:
        """Yield the start of a tool call once: some tools report start and end, others only the end."""
        kind, item_id = text_field(item, "type"), text_field(item, "id")
        if kind in _TOOLS and item_id not in self._started:
            self._started.add(item_id)
            yield ToolStarted(_TOOLS[kind], _summary(item))

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        failure = self._failure(exit_code, stderr_tail, now)
        return Answer(
            text="" if failure else self._text,
            session_id=self._session,
            usage=self._metering.usage,
            session_total=self._total,
            priced=self._metering.priced or self._date_of(self._total),
            failure=failure,
            exit_code=exit_code,
        )

    def _date_of(self, total: Usage | None) -> str:
        return "" if total is None or total.cost_usd is None else self._request.prices.date

    def _failure(self, exit_code: int, stderr_tail: str, now: float) -> Failure | None:
        if self._failed:
            return classify(self._failed, status=None, now=now)
        if self._completed:
            return limit_in_answer(self._text, now)
        message = self._trouble or stderr_tail
        return ended_without_answer("codex", exit_code, message, now, stray=self._lines.stray)


_TOOLS = {
    "command_execution": "shell",
    "file_change": "edit",
    "mcp_tool_call": "mcp",
    "web_search": "web search",
    "collab_tool_call": "agent",
}


def _tool_ended(item: Object, tool: str) -> ToolEnded:
    went_well = text_field(item, "status") not in ("failed", "declined")
    output = text_field(item, "aggregated_output") or text_field(item, "error", "message")
    return ToolEnded(tool, went_well, first_line(output))


def _summary(item: Object) -> str:
    if text_field(item, "type") == "mcp_tool_call":
        return f"{text_field(item, 'server')}.{text_field(item, 'tool')}"
    return first_line(_bare_command(text_field(item, "command"))) or _changed_files(item) or tool_summary(item)


def _bare_command(command: str) -> str:
    """The command without the shell that runs it: `make test` for `/bin/bash -lc 'make test'`."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else command


def _changed_files(item: Object) -> str:
    return first_line(", ".join(text_field(change, "path") for change in objects_field(item, "changes")))
