"""The OpenAI Chat Completions API: `POST …/chat/completions`, streamed or whole."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from untildone.testing.modelapi.steps import Json, Step, ToolCall, Usage
from untildone.testing.modelapi.wire import Call, Event, asks_for_title, fresh_id, last_user_text, objects, pieces


class OpenAIChat:
    name = "openai_chat"

    def lookup(self, method: str, call: Call) -> Json | None:
        return None

    def owns(self, method: str, path: str) -> bool:
        return method == "POST" and path.endswith("/chat/completions")

    def is_side_request(self, call: Call) -> bool:
        system = [one for one in objects(call.body.get("messages")) if one.get("role") in ("system", "developer")]
        return asks_for_title(call.body, system)

    def side_text(self, call: Call) -> str:
        return "A scripted title"

    def user_text(self, call: Call) -> str:
        return last_user_text(call.body.get("messages"), ["text"])

    def wants_stream(self, call: Call) -> bool:
        return bool(call.body.get("stream"))

    def whole(self, call: Call, step: Step) -> Json:
        calls = [_tool_call(tool) for tool in step.tools]
        message = {"role": "assistant", "content": step.text} | ({"tool_calls": calls} if calls else {})
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(step)}
        return {**_head(call, "chat.completion"), "choices": [choice], "usage": _usage(step.usage)}

    def stream(self, call: Call, step: Step) -> Iterator[Event]:
        head = _head(call, "chat.completion.chunk")
        yield _chunk(head, {"role": "assistant", "content": ""})
        if step.thinking:
            yield _chunk(head, {"reasoning_content": step.thinking})
        for part in pieces(step.text or ""):
            yield _chunk(head, {"content": part})
        for index, tool in enumerate(step.tools):
            yield _chunk(head, {"tool_calls": [{"index": index, **_tool_call(tool)}]})
        yield _chunk(head, {}, _finish_reason(step))
        yield Event({**head, "choices": [], "usage": _usage(step.usage)})
        yield Event("[DONE]")

    def error_body(self, status: int, error: Json) -> Json:
        return openai_error_body(status, error)

    def error_events(self, call: Call, error: Json) -> Iterator[Event]:
        yield _chunk(_head(call, "chat.completion.chunk"), {"role": "assistant", "content": ""})
        yield Event(openai_error_body(500, error))


def openai_error_body(status: int, error: Json) -> Json:
    kind = "server_error" if status >= 500 else "rate_limit_error" if status == 429 else "invalid_request_error"
    return {"error": {"message": f"HTTP {status}", "type": kind, "code": None, "param": None, **error}}


def _head(call: Call, kind: str) -> dict[str, Any]:
    return {"id": fresh_id("chatcmpl"), "object": kind, "created": int(time.time()), "model": call.body.get("model")}


def _chunk(head: Json, delta: Json, finish_reason: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return Event({**head, "choices": [choice]}, paced=bool(delta.get("content")))


def _tool_call(tool: ToolCall) -> dict[str, Any]:
    arguments = tool.input if isinstance(tool.input, str) else json.dumps(dict(tool.input))
    return {"id": fresh_id("call"), "type": "function", "function": {"name": tool.name, "arguments": arguments}}


def _finish_reason(step: Step) -> str:
    return step.stop_reason or ("tool_calls" if step.tools else "stop")


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
    }
