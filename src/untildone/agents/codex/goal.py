"""Codex's own goal loop: a conversation with `codex app-server`, whose turns follow one another until the model ends its goal.

Its notifications are turned into the lines of `codex exec`, which the same reader reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from untildone.agents._conversing import JsonConversation
from untildone.agents._lines import (
    Object,
    field,
    first_line,
    object_field,
    session_to_use,
    text_field,
    tokens_field,
)
from untildone.agents._tally import Tally, count_of
from untildone.agents.codex.command_line import BOUNDED, SANDBOX, goal_of
from untildone.agents.codex.stream import CodexReader
from untildone.core.model import Answer, Failure, FailureKind, SessionUse
from untildone.core.plugins.agent_io import AgentEvent, Invocation, Notice, Request
from untildone.core.values.value import replace

MOST_TURNS = 20
"""Turns of one goal, after which the round ends without a claim: the program itself has no such bound."""
_INITIALIZE, _GOAL, _INTERRUPT, _UNKNOWN = "initialize", "thread/goal/set", "turn/interrupt", -32601
_OPENING = {SessionUse.NEW: "thread/start", SessionUse.RESUME: "thread/resume", SessionUse.FORK: "thread/fork"}
_ITEMS = {
    "agentMessage": "agent_message",
    "commandExecution": "command_execution",
    "fileChange": "file_change",
    "mcpToolCall": "mcp_tool_call",
    "webSearch": "web_search",
    "reasoning": "reasoning",
}
_TOKENS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cachedInputTokens": "cached_input_tokens",
    "cacheWriteInputTokens": "cache_write_input_tokens",
}
_LIMITED = "usageLimited"
MOST_REQUESTS = 1000
"""Requests of the program in one run, and characters of their ids. None of them is granted, so one that sends more is ended."""


def invocation(request: Request) -> Invocation:
    """The command line of the server. Everything else goes through the conversation."""
    return Invocation(("codex", "app-server", *BOUNDED, *request.args))


class CodexGoal(JsonConversation):
    def __init__(self, request: Request) -> None:
        client = {"name": "untildone", "title": "untildone", "version": "1"}
        greeting = {"clientInfo": client, "capabilities": {"experimentalApi": True}}
        super().__init__("codex", _request(_INITIALIZE, greeting))
        self._request, self._reader = request, CodexReader(request)
        self._thread = self._turn = self._goal = ""
        self._turns = 0
        self._requests = 0
        self._is_greeted = self._is_set = self._has_ended = False
        self._problem: Failure | None = None
        self._all, self._own = Tally(request.prices), Tally(request.prices)
        """What the messages of this run used; and those of its own session: agents that it starts have sessions of their own."""

    @property
    def is_open(self) -> bool:
        """Whether the session is open and has its goal."""
        return self._is_set

    @property
    def has_ended(self) -> bool:
        return self._has_ended

    def interrupt(self) -> None:
        if not self._turn:
            self._has_ended = True
            return
        self._out.append(_request(_GOAL, {"threadId": self._thread, "status": "paused"}))
        self._out.append(_request(_INTERRUPT, {"threadId": self._thread, "turnId": self._turn}))

    def give_up(self, seconds: float) -> None:
        self._fail(FailureKind.TIMEOUT, f"codex did not open a session within {seconds:g} s")

    def _take(self, fields: Object) -> Iterator[AgentEvent]:
        method, params = text_field(fields, "method"), object_field(fields, "params")
        if method and "id" in fields:
            self._refuse(fields["id"])
        elif method:
            yield from self._take_notification(method, params)
        elif "error" in fields and field(fields, "id") == _INTERRUPT:
            # The turn ended by itself meanwhile.
            self._has_ended = True
        elif "error" in fields:
            message = text_field(fields, "error", "message")
            self._fail(FailureKind.UNAVAILABLE, f"codex refused {field(fields, 'id')}: {first_line(message)}")
        else:
            yield from self._take_result(field(fields, "id"), object_field(fields, "result"))

    def _refuse(self, request_id: object) -> None:
        self._requests += 1
        if self._requests > MOST_REQUESTS or len(str(request_id)) > MOST_REQUESTS:
            self._fail(FailureKind.MALFORMED, "codex sent too many requests, or one with a very long id")
        else:
            self._out.append(_line({"id": request_id, "error": {"code": _UNKNOWN, "message": "not supported"}}))

    def _take_result(self, request_id: object, result: Object) -> Iterator[AgentEvent]:
        if request_id == _INITIALIZE and not self._is_greeted:
            self._is_greeted = True
            self._out += [_line({"method": "initialized"}), self._opening()]
        elif request_id == _GOAL:
            self._is_set = True
        elif request_id in _OPENING.values() and not self._thread:
            self._thread = text_field(result, "thread", "id")
            self._reader.model = self._request.model or text_field(result, "model") or None
            yield from self._read({"type": "thread.started", "thread_id": self._thread})
            goal = {"threadId": self._thread, "objective": goal_of(self._request), "status": "active"}
            self._out.append(_request(_GOAL, goal))

    def _opening(self) -> bytes:
        use, session_id = session_to_use(self._request)
        session = {} if use is SessionUse.NEW else {"threadId": session_id}
        model = {"model": self._request.model} if self._request.model else {}
        folder = {"cwd": self._request.folder} if self._request.folder else {}
        rights = {"approvalPolicy": "never", "sandbox": SANDBOX[self._request.permissions]}
        return _request(_OPENING[use], {**session, **model, **folder, **rights})

    def _take_notification(self, method: str, params: Object) -> Iterator[AgentEvent]:
        is_own = text_field(params, "threadId") in ("", self._thread)
        match method:
            case "thread/tokenUsage/updated":
                yield from self._take_usage(object_field(params, "tokenUsage"), is_own=is_own)
            case _ if not is_own:
                return
            case "item/started" | "item/completed":
                yield from self._read({"type": method.replace("/", "."), "item": _item(object_field(params, "item"))})
            case "thread/goal/updated":
                self._goal = text_field(params, "goal", "status")
            case "turn/started":
                self._turn, self._is_set = text_field(params, "turn", "id"), True
            case "turn/completed":
                yield from self._take_turn(object_field(params, "turn"))
            case "warning" | "error":
                yield Notice(first_line(text_field(params, "message") or text_field(params, "error", "message")))

    def _take_usage(self, usage: Object, *, is_own: bool) -> Iterator[AgentEvent]:
        """Take what a message used. Without a turn, it is that of an earlier run: the program repeats it when a session is opened."""
        if is_own:
            self._take_totals(object_field(usage, "total"))
        if not self._turn:
            return
        count = count_of(*(tokens_field(usage, "last", kind) for kind in _TOKENS))
        for tally in (self._all, self._own) if is_own else (self._all,):
            tally.add(self._reader.model or "", count)
        yield replace(self._all.used_so_far, session_growth=self._own.usage)
        yield from self._all.not_all()

    def _take_totals(self, total: Object) -> None:
        """Take the totals after each message: a goal that is ended by a limit has no last one."""
        self._reader.take_totals({ours: tokens_field(total, theirs) or 0 for theirs, ours in _TOKENS.items()})

    def _take_turn(self, turn: Object) -> Iterator[AgentEvent]:
        """A turn of the goal has ended: the goal too, if it is no longer active."""
        self._turns += 1
        self._turn = ""
        if message := text_field(turn, "error", "message"):
            yield from self._read({"type": "turn.failed", "error": {"message": message}})
            self._has_ended = True
        elif self._goal == _LIMITED:
            self._fail(FailureKind.LIMIT, "codex has reached the usage limit of its account")
        elif self._goal != "active":
            self._has_ended = True
        elif self._turns >= MOST_TURNS:
            yield Notice(f"the goal was not reached in {MOST_TURNS} turns of codex")
            self._has_ended = True

    def _read(self, fields: Object) -> tuple[AgentEvent, ...]:
        return self._reader.feed(json.dumps(fields).encode())

    def _fail(self, kind: FailureKind, message: str) -> None:
        self._problem, self._has_ended = self._problem or Failure(kind, message), True

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        if self._has_ended and self._problem is None:
            self._reader.complete()
        answer = self._reader.finish(exit_code, stderr_tail, now)
        answer = replace(answer, usage=self._all.usage, priced=answer.priced or self._all.priced)
        if self._problem is not None:
            return replace(answer, text="", failure=self._problem)
        return replace(answer, claims=answer.failure is None and self._goal == "complete")


def _item(item: Object) -> dict[str, Any]:
    """An item as `codex exec` prints it."""
    summary = field(item, "summary")
    thought = "\n".join(part for part in summary if isinstance(part, str)) if isinstance(summary, list) else ""
    return {
        **item,
        "type": _ITEMS.get(text_field(item, "type"), ""),
        "text": text_field(item, "text") or thought,
        "aggregated_output": text_field(item, "aggregatedOutput"),
    }


def _request(method: str, params: Object) -> bytes:
    return _line({"id": method, "method": method, "params": params})


def _line(fields: Object) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
