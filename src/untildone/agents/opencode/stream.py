"""Reads the JSON lines of `opencode run`."""

from __future__ import annotations

from collections.abc import Iterator

from untildone.agents._lines import (
    ClosingText,
    Object,
    ObjectLines,
    ended_without_answer,
    first_line,
    number_field,
    object_field,
    spent_field,
    status_field,
    text_field,
    token_sum,
    tokens_field,
    tool_summary,
)
from untildone.core.answers.failures import classify, limit_in_answer
from untildone.core.model import Answer, Failure, FailureKind, Usage
from untildone.core.plugins.agent_io import (
    AgentEvent,
    Notice,
    Request,
    Said,
    SessionKnown,
    Thought,
    ToolEnded,
    ToolStarted,
    Used,
)
from untildone.core.prices import TokenCount

_OVERFLOW = "ContextOverflowError"


class OpenCodeReader:
    def __init__(self, program: str = "opencode", request: Request | None = None) -> None:
        self._program = program
        self._request = request or Request(prompt="")
        self._lines = ObjectLines(program)
        self._session: str | None = None
        self._closing = ClosingText()
        self._tokens = 0
        self._cost: float | None = None
        """The dollars so far; None: the price of a token is unknown."""
        self._priced = ""
        self._steps = 0
        self._stop_reason = ""
        self._error: Object | None = None
        self._compacts = False
        """Whether the program sums up its conversation, because the context is full: that text is no answer."""

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        read = self._lines.read(line)
        if read is None:
            return ()
        return (read,) if isinstance(read, Notice) else (*self._known_session(read), *self._take(read))

    def _known_session(self, fields: Object) -> Iterator[AgentEvent]:
        session = text_field(fields, "sessionID")
        if session and session != self._session:
            self._session = session
            yield SessionKnown(session)

    def _take(self, fields: Object) -> Iterator[AgentEvent]:
        part = object_field(fields, "part")
        match text_field(fields, "type"):
            case "step_start":
                self._stop_reason = ""
            case "text":
                if not self._compacts:
                    self._closing.add(text_field(part, "text"))
                yield Said(text_field(part, "text"))
            case "reasoning":
                yield Thought(text_field(part, "text"))
            case "tool_use":
                yield from self._take_tool(part)
            case "step_finish":
                self._take_step(part)
                yield Used(Usage(self._cost, self._tokens), self._priced)
            case "error":
                self._error = object_field(fields, "error")
                self._compacts = text_field(self._error, "name") == _OVERFLOW
                yield Notice(first_line(_error_text(self._error)))

    def _take_tool(self, part: Object) -> Iterator[AgentEvent]:
        self._closing.clear()
        tool, state = text_field(part, "tool"), object_field(part, "state")
        summary = tool_summary(object_field(state, "input"))
        output = text_field(state, "output") or text_field(state, "error")
        went_well = text_field(state, "status") == "completed" and not number_field(state, "metadata", "exit")
        yield ToolStarted(tool, summary)
        yield ToolEnded(tool, went_well, first_line(output))

    def _take_step(self, part: Object) -> None:
        self._steps += 1
        self._stop_reason = text_field(part, "reason")
        self._error, self._compacts = None, False
        cost, tokens = self._dollars(part), _tokens(object_field(part, "tokens"))
        self._cost = self._cost if cost is None else (self._cost or 0.0) + cost
        self._tokens += tokens

    def _dollars(self, part: Object) -> float | None:
        """What a step cost. The program says 0 for a model whose price it does not know."""
        reported, count = spent_field(part, "cost"), _count(object_field(part, "tokens"))
        if reported or not count.total:
            return reported
        cost = self._request.prices.cost(self._request.model, count)
        self._priced = self._priced if cost is None else self._request.prices.date
        return cost

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        failure = self._failure(exit_code, stderr_tail, now)
        return Answer(
            text="" if failure else self._closing.joined("\n\n"),
            session_id=self._session,
            usage=Usage(self._cost, self._tokens) if self._steps else Usage(),
            priced=self._priced,
            failure=failure,
            exit_code=exit_code,
        )

    def _failure(self, exit_code: int, stderr_tail: str, now: float) -> Failure | None:
        if self._error is not None:
            return classify(_error_text(self._error), status=status_field(self._error, "data", "statusCode"), now=now)
        if self._stop_reason == "content-filter":
            return Failure(FailureKind.REFUSED, "the model refused to answer (content filter)")
        # After it compacted its conversation, the program exits with 1 although it has answered.
        if self._stop_reason == "stop" or (exit_code == 0 and self._stop_reason not in ("", "tool-calls")):
            return limit_in_answer(self._closing.joined("\n\n"), now)
        return ended_without_answer(self._program, exit_code, stderr_tail, now, stray=self._lines.stray)


def _error_text(error: Object) -> str:
    message = text_field(error, "data", "message") or text_field(error, "message") or text_field(error, "name")
    retry = text_field(error, "data", "responseHeaders", "retry-after")
    return f"{message} (retry-after: {retry})" if retry else message


def _count(tokens: Object) -> TokenCount:
    cache = object_field(tokens, "cache")
    wrote, read, stored = (
        token_sum(tokens, "output", "reasoning"),
        token_sum(cache, "read"),
        token_sum(cache, "write"),
    )
    return TokenCount(token_sum(tokens, "input"), wrote, read, stored)


def _tokens(tokens: Object) -> int:
    total = tokens_field(tokens, "total")
    if total is not None:
        return total
    return token_sum(tokens, "input", "output", "reasoning") + token_sum(object_field(tokens, "cache"), "read", "write")
