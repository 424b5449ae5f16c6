"""The Anthropic Messages API: `POST /v1/messages`, streamed or whole, and `count_tokens`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from untildone.testing.modelapi.steps import Json, Step, Usage
from untildone.testing.modelapi.wire import (
    Call,
    Event,
    asks_for_title,
    estimate_tokens,
    fresh_id,
    last_user_text,
    pieces,
)

_OVERLOADED = {"type": "overloaded_error", "message": "Overloaded"}


class Anthropic:
    name = "anthropic"

    def lookup(self, method: str, call: Call) -> Json | None:
        if call.path.endswith("/v1/messages/count_tokens"):
            return {"input_tokens": estimate_tokens(call.body)}
        return None

    def owns(self, method: str, path: str) -> bool:
        return method == "POST" and path.endswith("/v1/messages")

    def is_side_request(self, call: Call) -> bool:
        """Whether the request asks for a title or, with one token, probes the quota."""
        return call.body.get("max_tokens") == 1 or asks_for_title(call.body, call.body.get("system"))

    def side_text(self, call: Call) -> str:
        return "A scripted title"

    def user_text(self, call: Call) -> str:
        return last_user_text(call.body.get("messages"), ["text"])

    def wants_stream(self, call: Call) -> bool:
        return bool(call.body.get("stream"))

    def whole(self, call: Call, step: Step) -> Json:
        usage = step.usage
        return {
            "id": fresh_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": call.body.get("model", "scripted"),
            "content": list(_blocks(step)),
            "stop_reason": step.stop_reason or ("tool_use" if step.tools else "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cache_creation_input_tokens": usage.cache_write_tokens,
                "cache_read_input_tokens": usage.cache_read_tokens,
            },
        }

    def stream(self, call: Call, step: Step) -> Iterator[Event]:
        message = self.whole(call, step)
        yield _message_start(message)
        yield _event("ping")
        for index, block in enumerate(message["content"]):
            yield from _block_events(index, block)
        reason = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield _event("message_delta", delta=reason, usage={"output_tokens": message["usage"]["output_tokens"]})
        yield _event("message_stop")

    def error_body(self, status: int, error: Json) -> Json:
        described = {"type": _error_type(status), "message": f"HTTP {status}", **error}
        return {"type": "error", "error": described, "request_id": fresh_id("req")}

    def error_events(self, call: Call, error: Json) -> Iterator[Event]:
        yield _message_start(self.whole(call, Step(text="", usage=Usage())))
        yield _event("error", error={**_OVERLOADED, **error})


def _error_type(status: int) -> str:
    known = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        529: "overloaded_error",
    }
    return known.get(status, "api_error")


def _blocks(step: Step) -> Iterator[dict[str, Any]]:
    if step.thinking:
        yield {"type": "thinking", "thinking": step.thinking, "signature": "c2NyaXB0ZWQ="}
    if step.text:
        yield {"type": "text", "text": step.text}
    for tool in step.tools:
        yield {"type": "tool_use", "id": fresh_id("toolu"), "name": tool.name, "input": tool.input}


def _event(kind: str, **more: Any) -> Event:
    return Event({"type": kind, **more}, name=kind, paced=more.get("delta", {}).get("type") == "text_delta")


def _message_start(message: Json) -> Event:
    usage = {**message["usage"], "output_tokens": min(1, message["usage"]["output_tokens"])}
    return _event("message_start", message={**message, "content": [], "stop_reason": None, "usage": usage})


def _block_events(index: int, block: dict[str, Any]) -> Iterator[Event]:
    blank, deltas = _deltas(block)
    yield _event("content_block_start", index=index, content_block=blank)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The empty block that starts a stream, and the deltas that fill it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in pieces(block["text"])]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [thought, signature]
    parts = pieces(json.dumps(block["input"]), size=40)
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
