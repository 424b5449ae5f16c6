"""Reads the output of `claude -p --output-format=stream-json`."""

from __future__ import annotations

from collections.abc import Iterator

from untildone.agents._lines import (
    ClosingText,
    Object,
    ObjectLines,
    ended_without_answer,
    field,
    first_line,
    number_field,
    object_field,
    objects_field,
    spent_field,
    status_field,
    text_field,
    texts_field,
    token_sum,
    tool_summary,
)
from untildone.agents.claude.command_line import LONGEST_GOAL, sets_goal
from untildone.agents.claude.metering import Metering
from untildone.core.answers.failures import classify, limit_in_answer
from untildone.core.answers.reset_times import believable
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
from untildone.core.values.value import replace

_CUT_SHORT = frozenset({"error_max_turns", "error_max_budget_usd"})
"""The run reached a limit that was set for it: its answer ends early, but it is no failure."""
_BLOCKED_PROMPT = "UserPromptSubmit operation blocked by hook:"
"""A hook of the person blocked the prompt. The text after this quotes the prompt and is no answer."""
_BY_ERROR = {
    "authentication_failed": FailureKind.AUTH,
    "billing_error": FailureKind.LIMIT,
    "rate_limit": FailureKind.LIMIT,
    "model_not_found": FailureKind.UNAVAILABLE,
    "overloaded": FailureKind.OVERLOADED,
    "server_error": FailureKind.OVERLOADED,
}
_BY_PROGRAM, _GOAL_SET = "<synthetic>", "Goal set: "
"""The model of a message that the program itself wrote, and how that begins when the session has got a goal."""
_RUN_TOKENS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_MODEL_TOKENS = ("inputTokens", "outputTokens", "cacheCreationInputTokens", "cacheReadInputTokens")


class ClaudeReader:
    def __init__(self, request: Request | None = None) -> None:
        self._lines = ObjectLines("claude")
        self._session: str | None = None
        self._version: str | None = None
        self._model: str | None = None
        self._tools: dict[str, str] = {}
        self._closing = ClosingText()
        self._request = request or Request(prompt="")
        self._metering = Metering(self._request.prices)
        self._error = ""
        self._trouble = ""
        self._limit_resets_at: float | None = None
        self._has_goal = False
        self._result: Object | None = None
        self._usage = Usage()

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        read = self._lines.read(line)
        if read is None:
            return ()
        return (read,) if isinstance(read, Notice) else tuple(self._take(read))

    def _take(self, fields: Object) -> Iterator[AgentEvent]:
        match text_field(fields, "type"):
            case "system":
                yield from self._take_system(fields)
            case "assistant":
                yield from self._take_assistant(fields)
            case "stream_event":
                if self._metering.take_event(fields):
                    yield from self._used()
            case "user":
                yield from self._take_tool_results(fields)
            case "rate_limit_event":
                yield from self._take_rate_limit(object_field(fields, "rate_limit_info"))
            case "result":
                yield from self._take_result(fields)

    def _take_system(self, fields: Object) -> Iterator[AgentEvent]:
        match text_field(fields, "subtype"):
            case "init":
                self._model = text_field(fields, "model") or None
                self._version = text_field(fields, "claude_code_version") or None
                yield from self._known_session(fields)
                if self._request.goal and not sets_goal(self._request):
                    yield Notice(f"no goal is set: the prompt is longer than {LONGEST_GOAL} characters")
            case "api_retry":
                self._trouble = _retry_sentence(fields)
                yield Notice(self._trouble)
            case "permission_denied":
                why = first_line(text_field(fields, "message"))
                yield Notice(f"{text_field(fields, 'tool_name')} was not permitted: {why}")
            case "model_fallback" | "informational":
                yield Notice(first_line(text_field(fields, "content")))
            case "compact_boundary":
                yield Notice("claude compacted its conversation")

    def _known_session(self, fields: Object) -> Iterator[AgentEvent]:
        session = text_field(fields, "session_id")
        if session and session != self._session:
            self._session = session
            yield SessionKnown(session)

    def _take_assistant(self, fields: Object) -> Iterator[AgentEvent]:
        self._trouble = ""
        if self._metering.take_message(object_field(fields, "message")):
            yield from self._used()
        if field(fields, "is_api_error_message") is True or text_field(fields, "error"):
            self._error = text_field(fields, "error")
            return
        if text_field(fields, "message", "model") == _BY_PROGRAM and self._request.goal:
            yield from self._take_goal(_result_text(object_field(fields, "message")))
            return
        by_subagent = bool(field(fields, "parent_tool_use_id"))
        for block in objects_field(fields, "message", "content"):
            yield from self._take_block(block, by_subagent=by_subagent)

    def _used(self) -> Iterator[AgentEvent]:
        """What is used so far. The judge of a goal is in no line, so the program itself holds the limit of dollars then: it ends
        its turn and reports all that it used."""
        usage, by_program = self._metering.usage, self._has_goal and self._request.max_cost_usd is not None
        yield Used(replace(usage, cost_usd=None) if by_program else usage, self._metering.priced)

    def _take_goal(self, text: str) -> Iterator[AgentEvent]:
        """Whether the program took the prompt as its goal. It quotes the whole prompt."""
        self._has_goal = self._has_goal or text.startswith(_GOAL_SET)
        yield Notice(first_line(text))

    def _take_block(self, block: Object, *, by_subagent: bool) -> Iterator[AgentEvent]:
        match text_field(block, "type"):
            case "text" if not by_subagent:
                self._closing.add(text_field(block, "text"))
                yield Said(text_field(block, "text"))
            case "thinking" if not by_subagent:
                yield Thought(text_field(block, "thinking"))
            case "tool_use":
                self._closing.clear()
                tool = text_field(block, "name")
                self._tools[text_field(block, "id")] = tool
                yield ToolStarted(tool, tool_summary(object_field(block, "input")))

    def _take_tool_results(self, fields: Object) -> Iterator[AgentEvent]:
        for block in objects_field(fields, "message", "content"):
            if text_field(block, "type") == "tool_result":
                tool = self._tools.pop(text_field(block, "tool_use_id"), "")
                yield ToolEnded(tool, field(block, "is_error") is not True, first_line(_result_text(block)))

    def _take_rate_limit(self, info: Object) -> Iterator[AgentEvent]:
        status = text_field(info, "status")
        if status in ("", "allowed"):
            return
        if status == "rejected":
            self._limit_resets_at = number_field(info, "resetsAt")
        yield Notice(f"usage limit of claude: {status.replace('_', ' ')} ({text_field(info, 'rateLimitType')})")

    def _take_result(self, fields: Object) -> Iterator[AgentEvent]:
        if field(fields, "is_error") is not True:
            yield from self._known_session(fields)
        self._result = fields
        self._usage = usage_of(fields, self._usage)
        if text_field(fields, "subtype") in _CUT_SHORT:
            yield Notice(first_line(_errors(fields)))

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        if self._result is None:
            return self._unfinished(exit_code, self._trouble or stderr_tail, now)
        failure = self._failure(self._result, stderr_tail, now)
        cut_short = text_field(self._result, "subtype") in _CUT_SHORT
        # The result is empty if a stop hook of the person, or a goal, ran into the program's own bound.
        result = "" if cut_short else text_field(self._result, "result")
        text = result or self._closing.joined("\n\n")
        return Answer(
            text="" if failure else text,
            session_id=self._session,
            usage=self._all_used(),
            failure=failure,
            # A goal that is met looks like one that is impossible, given up, or judged by a model that failed.
            claims=failure is None and not cut_short and self._has_goal,
            denials=tuple(_denial(denied) for denied in objects_field(self._result, "permission_denials")),
            exit_code=exit_code,
            agent_version=self._version,
            model=self._model,
        )

    def _all_used(self) -> Usage:
        """The usage in the result. A result with fewer tokens than its messages was not written by the program; then the greater amounts
        count."""
        of_result, of_messages = self._usage, self._metering.usage
        return of_result.or_more(of_messages) if (of_messages.tokens or 0) > (of_result.tokens or 0) else of_result

    def _unfinished(self, exit_code: int, last_words: str, now: float) -> Answer:
        return Answer(
            session_id=self._session,
            usage=self._metering.usage,
            priced=self._metering.priced,
            failure=ended_without_answer("claude", exit_code, last_words, now, stray=self._lines.stray),
            exit_code=exit_code,
            agent_version=self._version,
            model=self._model,
        )

    def _failure(self, result: Object, stderr_tail: str, now: float) -> Failure | None:
        """The failure in a result. A failed call has the subtype `success` and `is_error`: only the latter counts."""
        if text_field(result, "subtype") in _CUT_SHORT:
            return None
        text = text_field(result, "result")
        if text.startswith(_BLOCKED_PROMPT):
            return Failure(FailureKind.REFUSED, first_line(text.removeprefix(_BLOCKED_PROMPT)) or _BLOCKED_PROMPT)
        if field(result, "is_error") is not True:
            return self._with_reset(limit_in_answer(text, now), now)
        message = text or _errors(result) or stderr_tail
        failure = classify(message, status=status_field(result, "api_error_status"), now=now)
        return self._with_reset(self._refined(failure, result), now)

    def _refined(self, failure: Failure, result: Object) -> Failure:
        if text_field(result, "terminal_reason") == "prompt_too_long":
            return Failure(FailureKind.CONTEXT_FULL, failure.message)
        if text_field(result, "stop_reason") == "refusal":
            return Failure(FailureKind.REFUSED, failure.message)
        if failure.kind is FailureKind.CRASHED and self._error in _BY_ERROR:
            return Failure(_BY_ERROR[self._error], failure.message)
        return failure

    def _with_reset(self, failure: Failure | None, now: float) -> Failure | None:
        """The failure, with the exact reset time of a limit if the program reports one: its sentence gives only minutes."""
        if failure is None or failure.kind is not FailureKind.LIMIT:
            return failure
        return Failure(failure.kind, failure.message, believable(self._limit_resets_at, now) or failure.reset_at)


def usage_of(result: Object, before: Usage) -> Usage:
    """The usage of this run. Newer versions report totals of the session and the run's part apart. A run may have several results."""
    since = field(result, "model_usage_since_last_result")
    if not isinstance(since, dict):
        cost = spent_field(result, "total_cost_usd")
        return Usage(cost, token_sum(object_field(result, "usage"), *_RUN_TOKENS))
    models = [object_field(since, model) for model in since]
    cost = sum(spent_field(model, "costUSD") or 0.0 for model in models)
    tokens = sum(token_sum(model, *_MODEL_TOKENS) for model in models)
    return Usage((before.cost_usd or 0.0) + cost, (before.tokens or 0) + tokens)


def _errors(result: Object) -> str:
    return "; ".join(texts_field(result, "errors"))


def _denial(denied: Object) -> str:
    summary = tool_summary(object_field(denied, "tool_input"))
    return f"{text_field(denied, 'tool_name')}: {summary}" if summary else text_field(denied, "tool_name")


def _retry_sentence(fields: Object) -> str:
    seconds = (number_field(fields, "retry_delay_ms") or 0) / 1000
    attempt, most = status_field(fields, "attempt"), status_field(fields, "max_retries")
    status = status_field(fields, "error_status")
    why = f"error {status} {text_field(fields, 'error').replace('_', ' ')}" if status else "connection error"
    return f"claude tries its request again in {seconds:.0f} s ({attempt} of {most}): {why}"


def _result_text(block: Object) -> str:
    if isinstance(field(block, "content"), str):
        return text_field(block, "content")
    return "\n".join(text_field(part, "text") for part in objects_field(block, "content"))
