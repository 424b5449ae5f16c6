"""Loops as tasks, for clients that declare the extension `io.modelcontextprotocol/tasks`: `start` returns a task instead of a loop.

The task is the loop: nothing is kept here, so a task answers after the server was killed and started again. A client that does not
declare the extension, or speaks an older protocol, gets plain tools.
"""

from __future__ import annotations

import asyncio
from typing import Any

from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver.server import require_client_extension
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, RequestParams, TextContent
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from untildone.core.errors import UntilDoneError
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status, Urgency
from untildone.core.values.codec import timestamp
from untildone.faces.mcp import answers
from untildone.faces.mcp.answers import Started
from untildone.faces.mcp.loops import Loops
from untildone.faces.mcp.tools import Guard
from untildone.operations import control

IDENTIFIER = "io.modelcontextprotocol/tasks"
POLL_EVERY_MS = 1_000
_VERSIONS = frozenset(MODERN_PROTOCOL_VERSIONS)
Context = ServerRequestContext[Any, Any]


class TaskParams(RequestParams):
    """Which task a request is about."""

    task_id: str


class UpdateParams(TaskParams):
    """Answers to what a task asks, by the keys of the questions."""

    input_responses: dict[str, dict[str, Any]]


class LoopTasks(Extension):
    """The extension for some loops. `steers` is called with the name of a tool before a request that changes something."""

    identifier = IDENTIFIER

    def __init__(self, loops: Loops, steers: Guard) -> None:
        self._loops = loops
        self._steers = steers

    def methods(self) -> tuple[MethodBinding, ...]:
        return (
            MethodBinding("tasks/get", TaskParams, self._get, _VERSIONS),
            MethodBinding("tasks/update", UpdateParams, self._update, _VERSIONS),
            MethodBinding("tasks/cancel", TaskParams, self._cancel, _VERSIONS),
        )

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: Context, call_next: CallNext
    ) -> HandlerResult:
        """Return a task for a loop that was started, if the client knows tasks."""
        result = await call_next(ctx)
        if params.name != "start" or not _knows_tasks(ctx) or not isinstance(result, CallToolResult):
            return result
        if result.is_error or result.structured_content is None:
            return result
        _, loop = await self._found(result.structured_content["loop_id"])
        return {"resultType": "task", **_fields(loop), "status": "working"}

    async def _get(self, ctx: Context, params: TaskParams) -> HandlerResult:
        require_client_extension(ctx, IDENTIFIER)
        _, loop = await self._found(params.task_id)
        return {"resultType": "complete", **_fields(loop), **_state(loop, asks=_is_asked(ctx))}

    async def _update(self, ctx: Context, params: UpdateParams) -> HandlerResult:
        """Answer the question of a blocked loop. Answers to other keys are ignored: they may be those of an earlier question."""
        require_client_extension(ctx, IDENTIFIER)
        loop_id, loop = await self._found(params.task_id)
        text = _answer(params.input_responses.get(_key(loop), {}))
        if loop.outcome is Outcome.BLOCKED and text:
            await self._steered("say", lambda: self._loops.say(loop_id, text))
        return {"resultType": "complete"}

    async def _cancel(self, ctx: Context, params: TaskParams) -> HandlerResult:
        """End the loop, now."""
        require_client_extension(ctx, IDENTIFIER)
        loop_id, loop = await self._found(params.task_id)
        if not loop.status.ended:
            store, _ = await asyncio.to_thread(self._loops.find, loop_id)
            await self._steered("stop", lambda: control.stop(store, loop_id, Urgency.NOW))
        return {"resultType": "complete"}

    async def _found(self, task_id: str) -> tuple[str, Loop]:
        """The loop that a task is. The whole id is needed: a part of it, or `last`, may mean another loop the next time."""
        try:
            store, loop_id = await asyncio.to_thread(self._loops.find, task_id)
            loop = await asyncio.to_thread(store.load, loop_id)
        except UntilDoneError as problem:
            raise MCPError(INVALID_PARAMS, problem.sentence) from None
        if loop_id != task_id:
            raise MCPError(INVALID_PARAMS, f"There is no task {task_id}.")
        return loop_id, loop

    async def _steered(self, tool: str, work: Any) -> None:
        try:
            self._steers(tool)
            await asyncio.to_thread(work)
        except UntilDoneError as problem:
            raise MCPError(INVALID_PARAMS, f"{problem.sentence} hint: {problem.hint}") from None


def _knows_tasks(ctx: Context) -> bool:
    capabilities = ctx.session.client_capabilities
    declared = (capabilities.extensions or {}) if capabilities else {}
    return IDENTIFIER in declared and ctx.session.protocol_version in _VERSIONS


def _is_asked(ctx: Context) -> bool:
    """Whether the client can ask its person."""
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


def _fields(loop: Loop) -> dict[str, Any]:
    return {
        "taskId": loop.loop_id,
        "createdAt": timestamp(loop.created_at),
        "lastUpdatedAt": timestamp(loop.updated_at),
        "ttlMs": None,
        "pollIntervalMs": POLL_EVERY_MS,
    }


def _state(loop: Loop, *, asks: bool) -> dict[str, Any]:
    """The status of the task, and what belongs to it. A loop that rests has answered its call, whether it can go on or not."""
    if loop.status in (Status.CREATED, Status.RUNNING):
        return {"status": "working", "statusMessage": f"Round {loop.spend.iterations}"}
    if loop.outcome in (Outcome.STOPPED, Outcome.ABANDONED):
        return {"status": "cancelled", "statusMessage": loop.end_sentence}
    if loop.outcome is Outcome.BLOCKED and asks:
        return {
            "status": "input_required",
            "statusMessage": loop.reason,
            "inputRequests": {_key(loop): _question(loop)},
        }
    return {"status": "completed", "statusMessage": loop.end_sentence, "result": _result(loop)}


def _key(loop: Loop) -> str:
    """The key of the question that the loop asks now: each has another one."""
    return f"question-{len(loop.questions)}"


def _question(loop: Loop) -> dict[str, Any]:
    answer = {"type": "string", "title": "Answer", "description": "What the agent of the loop is told"}
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": loop.reason, "requestedSchema": schema},
    }


def _answer(response: dict[str, Any]) -> str:
    """What the person answered; empty: they declined."""
    content = response.get("content")
    text = content.get("answer") if response.get("action") == "accept" and isinstance(content, dict) else ""
    return text if isinstance(text, str) and text.strip() else ""


def _result(loop: Loop) -> dict[str, Any]:
    """The result of the call of `start`."""
    answer = Started(**answers.of(loop).model_dump(), notices=[])
    result = CallToolResult(
        content=[TextContent(type="text", text=answer.model_dump_json(indent=2))],
        structured_content=answer.model_dump(mode="json"),
    )
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)
