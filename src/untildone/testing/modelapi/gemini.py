"""The Gemini API: `…:generateContent`, `…:streamGenerateContent` (server-sent events) and `…:countTokens`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from untildone.testing.modelapi.steps import Json, Step, Usage
from untildone.testing.modelapi.wire import Call, Event, estimate_tokens, fresh_id, objects, pieces, smallest, text_of

Part = dict[str, Any]


class Gemini:
    name = "gemini"

    def lookup(self, method: str, call: Call) -> Json | None:
        return {"totalTokens": estimate_tokens(call.body)} if call.path.endswith(":countTokens") else None

    def owns(self, method: str, path: str) -> bool:
        return method == "POST" and path.endswith((":generateContent", ":streamGenerateContent"))

    def is_side_request(self, call: Call) -> bool:
        """Whether the request has no tools: it chooses a model or the next speaker, or asks for a summary."""
        return not call.body.get("tools")

    def side_text(self, call: Call) -> str:
        config = call.body.get("generationConfig")
        schemas = (
            [config.get("responseJsonSchema"), config.get("responseSchema")] if isinstance(config, Mapping) else []
        )
        schema = next((one for one in schemas if isinstance(one, Mapping)), None)
        return json.dumps(smallest(schema)) if schema else "A scripted summary"

    def user_text(self, call: Call) -> str:
        contents = (one for one in reversed(objects(call.body.get("contents"))) if one.get("role", "user") == "user")
        return next((text for text in (text_of(one.get("parts"), ["text"]) for one in contents) if text), "")

    def wants_stream(self, call: Call) -> bool:
        return call.path.endswith(":streamGenerateContent")

    def whole(self, call: Call, step: Step) -> Json:
        text = [{"text": step.text}] if step.text else []
        return _chunk(call, step.usage, [*_thoughts(step), *text, *_calls(step)], _finish_reason(step))

    def stream(self, call: Call, step: Step) -> Iterator[Event]:
        if step.thinking:
            yield Event(_chunk(call, step.usage, _thoughts(step)))
        for piece in pieces(step.text or ""):
            yield Event(_chunk(call, step.usage, [{"text": piece}]), paced=True)
        yield Event(_chunk(call, step.usage, _calls(step) or [{"text": ""}], _finish_reason(step)))

    def error_body(self, status: int, error: Json) -> Json:
        return {"error": {"code": status, "message": f"HTTP {status}", "status": _status_word(status), **error}}

    def error_events(self, call: Call, error: Json) -> Iterator[Event]:
        yield Event(self.error_body(500, error))


def _status_word(status: int) -> str:
    known = {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED",
        503: "UNAVAILABLE",
    }
    return known.get(status, "INTERNAL")


def _finish_reason(step: Step) -> str:
    return step.stop_reason or "STOP"


def _thoughts(step: Step) -> list[Part]:
    return [{"text": step.thinking, "thought": True}] if step.thinking else []


def _calls(step: Step) -> list[Part]:
    return [{"functionCall": {"name": tool.name, "args": tool.input}} for tool in step.tools]


def _chunk(call: Call, usage: Usage, parts: list[Part], finish_reason: str | None = None) -> Json:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish_reason:
        candidate["finishReason"] = finish_reason
    return {
        "candidates": [candidate],
        "modelVersion": call.path.rsplit("/", 1)[-1].split(":")[0],
        "responseId": fresh_id("response"),
        "usageMetadata": {
            "promptTokenCount": usage.prompt_tokens,
            "candidatesTokenCount": usage.output_tokens,
            "totalTokenCount": usage.total_tokens,
            "cachedContentTokenCount": usage.cache_read_tokens,
        },
    }
