"""Claude Code: `claude -p` with its stream of JSON lines."""

from __future__ import annotations

from collections.abc import Iterator

from untildone.agents import AgentEvent, Capabilities, Invocation, Notice, Request, Said, SessionKnown, Thought, ToolEnded, ToolStarted
from untildone.agents._lines import (
    LONGEST_ARGUMENT,
    Object,
    ObjectLines,
    ended_without_answer,
    field,
    first_line,
    number_field,
    object_field,
    objects_field,
    status_field,
    text_field,
    token_sum,
    tool_summary,
    with_system_prompt,
)
from untildone.core.failures import classify, limit_in_answer
from untildone.core.model import Answer, Failure, FailureKind, Permissions, SessionUse, Usage

_PERMISSIONS = {
    Permissions.WORK: ("--permission-mode=acceptEdits", "--allowedTools=Bash,Edit,Write,NotebookEdit,WebFetch,WebSearch,Task,Skill"),
    Permissions.EDIT: ("--permission-mode=acceptEdits",),
    Permissions.READ: ("--permission-mode=dontAsk", "--disallowedTools=Edit,Write,NotebookEdit"),
}
_CUT_SHORT = frozenset({"error_max_turns", "error_max_budget_usd"})
"""The run reached a bound that was set for it: an answer that ends early, not a failure."""
_BY_ERROR = {
    "authentication_failed": FailureKind.AUTH,
    "billing_error": FailureKind.LIMIT,
    "rate_limit": FailureKind.LIMIT,
    "model_not_found": FailureKind.UNAVAILABLE,
    "overloaded": FailureKind.OVERLOADED,
    "server_error": FailureKind.OVERLOADED,
}
_RUN_TOKENS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_MODEL_TOKENS = ("inputTokens", "outputTokens", "cacheCreationInputTokens", "cacheReadInputTokens")


class Claude:
    name = "claude"
    program = "claude"
    install = "npm install -g @anthropic-ai/claude-code"
    capabilities = Capabilities(resume=True, fork=True, hooks=True, cost=True, tokens=True, structured_answer=True, system_prompt=True)

    def invocation(self, request: Request) -> Invocation:
        system_prompt, prompt = _system_and_prompt(request)
        argv = (
            self.program,
            "-p",
            "--output-format=stream-json",
            "--verbose",
            *_PERMISSIONS[request.permissions],
            *_session_flags(request),
            *((f"--model={request.model}",) if request.model else ()),
            *_system_prompt_flags(system_prompt, request.session),
            *((f"--max-budget-usd={request.max_cost_usd:.6f}",) if request.max_cost_usd is not None else ()),
            *request.args,
        )
        return Invocation(argv, {"DISABLE_AUTOUPDATER": "1"}, _disarmed(prompt).encode("utf-8", "replace"))

    def reader(self, request: Request) -> ClaudeReader:
        return ClaudeReader()


def _session_flags(request: Request) -> tuple[str, ...]:
    match request.session:
        case SessionUse.NEW:
            return (f"--session-id={request.fresh_id}",) if request.fresh_id else ()
        case SessionUse.RESUME:
            return (f"--resume={request.session_id}",)
        case SessionUse.FORK:
            return (f"--resume={request.session_id}", "--fork-session")


def _system_and_prompt(request: Request) -> tuple[str | None, str]:
    if request.system_prompt and len(request.system_prompt.encode("utf-8", "replace")) > LONGEST_ARGUMENT:
        return None, with_system_prompt(request.prompt, request.system_prompt)
    return request.system_prompt, request.prompt


def _disarmed(prompt: str) -> str:
    """A prompt that begins with a slash would be run as a command of the program's own."""
    return f"\n{prompt}" if prompt.startswith("/") else prompt


def _system_prompt_flags(system_prompt: str | None, session: SessionUse) -> tuple[str, ...]:
    """A session keeps its first system prompt, unless it is told not to."""
    if not system_prompt:
        return ()
    unfrozen = ("--system-prompt-snapshot=off",) if session is not SessionUse.NEW else ()
    return (f"--system-prompt={system_prompt}", *unfrozen)


class ClaudeReader:
    def __init__(self) -> None:
        self._lines = ObjectLines("claude")
        self._session: str | None = None
        self._version: str | None = None
        self._model: str | None = None
        self._tools: dict[str, str] = {}
        self._closing: list[str] = []
        self._message_tokens: dict[str, int] = {}
        self._denials: list[str] = []
        self._error = ""
        self._limit_resets_at: float | None = None
        self._result: Object | None = None
        self._usage = Usage()

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        read = self._lines.read(line)
        if read is None:
            return ()
        return (read,) if isinstance(read, Notice) else tuple(self._take(read))

    def _take(self, told: Object) -> Iterator[AgentEvent]:
        match text_field(told, "type"):
            case "system":
                yield from self._take_system(told)
            case "assistant":
                yield from self._take_assistant(told)
            case "user":
                yield from self._take_tool_results(told)
            case "rate_limit_event":
                yield from self._take_rate_limit(object_field(told, "rate_limit_info"))
            case "result":
                yield from self._take_result(told)

    def _take_system(self, told: Object) -> Iterator[AgentEvent]:
        match text_field(told, "subtype"):
            case "init":
                self._model = text_field(told, "model") or None
                self._version = text_field(told, "claude_code_version") or None
                yield from self._known_session(told)
            case "api_retry":
                yield Notice(_retry_sentence(told))
            case "permission_denied":
                yield Notice(f"{text_field(told, 'tool_name')} was not permitted: {first_line(text_field(told, 'message'))}")
            case "model_fallback" | "informational":
                yield Notice(first_line(text_field(told, "content")))
            case "compact_boundary":
                yield Notice("claude compacted its conversation")

    def _known_session(self, told: Object) -> Iterator[AgentEvent]:
        session = text_field(told, "session_id")
        if session and session != self._session:
            self._session = session
            yield SessionKnown(session)

    def _take_assistant(self, told: Object) -> Iterator[AgentEvent]:
        self._count_tokens(object_field(told, "message"))
        if field(told, "is_api_error_message") is True:
            self._error = text_field(told, "error")
            return
        by_subagent = bool(field(told, "parent_tool_use_id"))
        for block in objects_field(told, "message", "content"):
            yield from self._take_block(block, by_subagent=by_subagent)

    def _take_block(self, block: Object, *, by_subagent: bool) -> Iterator[AgentEvent]:
        match text_field(block, "type"):
            case "text" if not by_subagent:
                self._closing.append(text_field(block, "text"))
                yield Said(text_field(block, "text"))
            case "thinking" if not by_subagent:
                yield Thought(text_field(block, "thinking"))
            case "tool_use":
                self._closing.clear()
                tool = text_field(block, "name")
                self._tools[text_field(block, "id")] = tool
                yield ToolStarted(tool, tool_summary(object_field(block, "input")))

    def _take_tool_results(self, told: Object) -> Iterator[AgentEvent]:
        for block in objects_field(told, "message", "content"):
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

    def _take_result(self, told: Object) -> Iterator[AgentEvent]:
        if field(told, "is_error") is not True:
            yield from self._known_session(told)
        self._result = told
        self._usage = _usage(told, self._usage)
        if text_field(told, "subtype") in _CUT_SHORT:
            yield Notice(first_line(_errors(told)))

    def _count_tokens(self, message: Object) -> None:
        """Each block of a message repeats the message's usage: kept by id, for a run that is cut before its result."""
        self._message_tokens[text_field(message, "id")] = token_sum(object_field(message, "usage"), *_RUN_TOKENS)

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        if self._result is None:
            return self._unfinished(ended_without_answer("claude", exit_code, stderr_tail, now, stray=self._lines.stray), exit_code)
        failure = self._failure(self._result, stderr_tail, now)
        cut_short = text_field(self._result, "subtype") in _CUT_SHORT
        text = "\n\n".join(self._closing) if cut_short else text_field(self._result, "result")
        return Answer(
            text="" if failure else text,
            session_id=self._session,
            usage=self._usage,
            failure=failure,
            denials=tuple(_denial(denied) for denied in objects_field(self._result, "permission_denials")),
            exit_code=exit_code,
            agent_version=self._version,
            model=self._model,
        )

    def _unfinished(self, failure: Failure, exit_code: int) -> Answer:
        tokens = sum(self._message_tokens.values()) or None
        return Answer(
            session_id=self._session,
            usage=Usage(tokens=tokens),
            failure=failure,
            exit_code=exit_code,
            agent_version=self._version,
            model=self._model,
        )

    def _failure(self, result: Object, stderr_tail: str, now: float) -> Failure | None:
        """A failed call is told as `success` with `is_error`: only the second counts."""
        if text_field(result, "subtype") in _CUT_SHORT:
            return None
        text = text_field(result, "result")
        if field(result, "is_error") is not True:
            return self._with_reset(limit_in_answer(text, now))
        told = text or _errors(result) or stderr_tail
        failure = classify(told, status=status_field(result, "api_error_status"), now=now)
        return self._with_reset(self._refined(failure, result))

    def _refined(self, failure: Failure, result: Object) -> Failure:
        if text_field(result, "terminal_reason") == "prompt_too_long":
            return Failure(FailureKind.CONTEXT_FULL, failure.message)
        if text_field(result, "stop_reason") == "refusal":
            return Failure(FailureKind.REFUSED, failure.message)
        if failure.kind is FailureKind.CRASHED and self._error in _BY_ERROR:
            return Failure(_BY_ERROR[self._error], failure.message)
        return failure

    def _with_reset(self, failure: Failure | None) -> Failure | None:
        if failure is None or failure.kind is not FailureKind.LIMIT or failure.reset_at is not None:
            return failure
        return Failure(failure.kind, failure.message, self._limit_resets_at)


def _usage(result: Object, before: Usage) -> Usage:
    """What this run used. Newer versions add up a whole session, and tell the run apart; a run may have several results."""
    since = field(result, "model_usage_since_last_result")
    if not isinstance(since, dict):
        cost = number_field(result, "total_cost_usd")
        return Usage(cost, token_sum(object_field(result, "usage"), *_RUN_TOKENS))
    models = [object_field(since, model) for model in since]
    cost = sum(number_field(model, "costUSD") or 0.0 for model in models)
    tokens = sum(token_sum(model, *_MODEL_TOKENS) for model in models)
    return Usage((before.cost_usd or 0.0) + cost, (before.tokens or 0) + tokens)


def _errors(result: Object) -> str:
    told = field(result, "errors")
    return "; ".join(str(error) for error in told) if isinstance(told, list) else ""


def _denial(denied: Object) -> str:
    summary = tool_summary(object_field(denied, "tool_input"))
    return f"{text_field(denied, 'tool_name')}: {summary}" if summary else text_field(denied, "tool_name")


def _retry_sentence(told: Object) -> str:
    seconds = (number_field(told, "retry_delay_ms") or 0) / 1000
    attempt, most = status_field(told, "attempt"), status_field(told, "max_retries")
    status = status_field(told, "error_status")
    why = " ".join(part for part in (str(status or ""), text_field(told, "error").replace("_", " ")) if part)
    return f"claude tries its request again in {seconds:.0f} s ({attempt} of {most}): {why}"


def _result_text(block: Object) -> str:
    if isinstance(field(block, "content"), str):
        return text_field(block, "content")
    return "\n".join(text_field(part, "text") for part in objects_field(block, "content"))


AGENT = Claude()
