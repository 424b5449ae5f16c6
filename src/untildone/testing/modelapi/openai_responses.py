"""The OpenAI Responses API: `POST …/responses`, streamed or whole."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from untildone.testing.modelapi.openai_chat import openai_error_body
from untildone.testing.modelapi.steps import Json, Step, ToolCall, Usage
from untildone.testing.modelapi.wire import Call, Event, asks_for_title, fresh_id, last_user_text, pieces, smallest

Item = dict[str, Any]


class OpenAIResponses:
    name = "openai_responses"

    def lookup(self, method: str, call: Call) -> Json | None:
        return None

    def owns(self, method: str, path: str) -> bool:
        return method == "POST" and path.endswith("/responses")

    def is_side_request(self, call: Call) -> bool:
        """Whether the request only asks for a title, as interactive Codex does with a schema."""
        only_title = not call.body.get("tools") and set(_answer_schema(call).get("properties", ())) == {"title"}
        return only_title or asks_for_title(call.body, call.body.get("instructions"))

    def side_text(self, call: Call) -> str:
        schema = _answer_schema(call)
        return json.dumps(smallest(schema)) if schema else "A scripted title"

    def user_text(self, call: Call) -> str:
        given = call.body.get("input")
        return given if isinstance(given, str) else last_user_text(given, ["input_text", "text"])

    def wants_stream(self, call: Call) -> bool:
        return bool(call.body.get("stream"))

    def whole(self, call: Call, step: Step) -> Json:
        return {**_envelope(call, "completed"), "output": list(_items(step)), "usage": _usage(step.usage)}

    def stream(self, call: Call, step: Step) -> Iterator[Event]:
        done = self.whole(call, step)
        started = {**done, "status": "in_progress", "output": [], "usage": None}
        return _numbered(_answer_events(started, done))

    def error_body(self, status: int, error: Json) -> Json:
        return openai_error_body(status, error)

    def error_events(self, call: Call, error: Json) -> Iterator[Event]:
        started = _envelope(call, "in_progress")
        described = {"code": "server_error", "message": "scripted failure", **error}
        failed = {**started, "status": "failed", "error": described}
        return _numbered(
            iter([_event("response.created", response=started), _event("response.failed", response=failed)])
        )


def _answer_schema(call: Call) -> Json:
    text = call.body.get("text")
    answer_format = text.get("format") if isinstance(text, Mapping) else None
    schema = answer_format.get("schema") if isinstance(answer_format, Mapping) else None
    return schema if isinstance(schema, Mapping) else {}


def _envelope(call: Call, status: str) -> Item:
    return {
        "id": fresh_id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "model": call.body.get("model"),
        "output": [],
        "error": None,
        "incomplete_details": None,
        "usage": None,
    }


def _usage(usage: Usage) -> Item:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total_tokens,
    }


def _items(step: Step) -> Iterator[Item]:
    if step.thinking:
        summary = [{"type": "summary_text", "text": step.thinking}]
        yield {"type": "reasoning", "id": fresh_id("rs"), "summary": summary, "encrypted_content": None}
    if step.text:
        part = {"type": "output_text", "text": step.text, "annotations": []}
        yield {"type": "message", "id": fresh_id("msg"), "role": "assistant", "status": "completed", "content": [part]}
    for tool in step.tools:
        yield _tool_item(tool)


def _tool_item(tool: ToolCall) -> Item:
    call: Item = {"id": fresh_id("fc"), "call_id": fresh_id("call"), "name": tool.name, "status": "completed"}
    if tool.namespace:
        call["namespace"] = tool.namespace
    if isinstance(tool.input, str):
        return {"type": "custom_tool_call", "input": tool.input, **call}
    return {"type": "function_call", "arguments": json.dumps(dict(tool.input)), **call}


def _event(kind: str, **more: Any) -> Event:
    return Event({"type": kind, **more}, name=kind, paced=kind == "response.output_text.delta")


def _numbered(events: Iterator[Event]) -> Iterator[Event]:
    for number, event in zip(count(), events, strict=False):
        assert not isinstance(event.content, str)
        yield Event({**event.content, "sequence_number": number}, event.name, event.paced)


def _answer_events(started: Json, done: Json) -> Iterator[Event]:
    yield _event("response.created", response=started)
    for index, item in enumerate(done["output"]):
        yield _event("response.output_item.added", output_index=index, item=_blank(item))
        yield from _filling(item, {"output_index": index, "item_id": item["id"]})
        yield _event("response.output_item.done", output_index=index, item=item)
    yield _event("response.completed", response=done)


def _blank(item: Item) -> Item:
    """The empty item that starts a stream."""
    match item["type"]:
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case "reasoning":
            return {**item, "summary": []}
        case "function_call":
            return {**item, "status": "in_progress", "arguments": ""}
    return {**item, "status": "in_progress", "input": ""}


def _filling(item: Item, where: Item) -> Iterator[Event]:
    match item["type"]:
        case "message":
            yield from _text_events(item["content"][0], {**where, "content_index": 0})
        case "reasoning":
            thought = item["summary"][0]["text"]
            yield _event("response.reasoning_summary_text.delta", delta=thought, summary_index=0, **where)
            yield _event("response.reasoning_summary_text.done", text=thought, summary_index=0, **where)
        case "function_call":
            yield _event("response.function_call_arguments.delta", delta=item["arguments"], **where)
            yield _event("response.function_call_arguments.done", arguments=item["arguments"], **where)
        case _:
            yield _event("response.custom_tool_call_input.delta", delta=item["input"], **where)
            yield _event("response.custom_tool_call_input.done", input=item["input"], **where)


def _text_events(part: Item, where: Item) -> Iterator[Event]:
    yield _event("response.content_part.added", part={**part, "text": ""}, **where)
    for piece in pieces(part["text"]):
        yield _event("response.output_text.delta", delta=piece, **where)
    yield _event("response.output_text.done", text=part["text"], **where)
    yield _event("response.content_part.done", part=part, **where)
