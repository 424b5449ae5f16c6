"""Shared by the dialects: the Dialect protocol, stream events and JSON helpers."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from untildone.testing.modelapi.steps import Json, Step

_PREFACE = re.compile(
    r"\A(?:\s*<(system-reminder|session_context|environment_context|current_datetime)>.*?</\1>\s*)+", re.DOTALL
)
_ASKS_FOR_TITLE = re.compile(r"title generator|(?:generat|extract|creat|writ)\w* [^.\n]{0,80}\btitle\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """A request as a dialect sees it."""

    path: str
    body: Json


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event: its content (JSON or plain text) and, in some dialects, its name."""

    content: Json | str
    name: str | None = None
    paced: bool = False
    """Whether the step's `chunk_delay` follows this event."""

    def encode(self) -> bytes:
        shown = self.content if isinstance(self.content, str) else json.dumps(self.content)
        name = f"event: {self.name}\n" if self.name else ""
        return f"{name}data: {shown}\n\n".encode()


class Dialect(Protocol):
    """One wire protocol, without I/O: recognises and reads requests, and formats answers."""

    name: str

    def lookup(self, method: str, call: Call) -> Json | None:
        """The reply to a request for a fact such as a token count; None for other requests."""
        ...

    def owns(self, method: str, path: str) -> bool:
        """Whether this is a request to the model in this dialect."""
        ...

    def is_side_request(self, call: Call) -> bool:
        """Whether the program asks for a title, a quota probe or similar, which uses up no step."""
        ...

    def side_text(self, call: Call) -> str: ...

    def user_text(self, call: Call) -> str:
        """The last text of the user; tool results do not count."""
        ...

    def wants_stream(self, call: Call) -> bool: ...

    def whole(self, call: Call, step: Step) -> Json: ...

    def stream(self, call: Call, step: Step) -> Iterator[Event]: ...

    def error_body(self, status: int, error: Json) -> Json: ...

    def error_events(self, call: Call, error: Json) -> Iterator[Event]:
        """A stream that starts well and then fails."""
        ...


def fresh_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:20]}"


def pieces(text: str, size: int = 12) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def estimate_tokens(body: Json) -> int:
    """An estimate of the tokens: four characters each."""
    return max(1, len(json.dumps(body)) // 4)


def objects(value: object) -> list[Json]:
    """The objects in a list; everything else is left out, because bodies come from other programs."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def text_of(content: object, keep_kinds: Sequence[str]) -> str:
    """The text of a message whose content is a text, or a list of parts of which only some kinds are words."""
    if isinstance(content, str):
        return _without_preface(content)
    parts = (str(part.get("text") or "") for part in objects(content) if part.get("type", "text") in keep_kinds)
    return "\n".join(own for part in parts if (own := _without_preface(part)))


def _without_preface(text: str) -> str:
    """The text without the context that agent programs put in front of it."""
    return _PREFACE.sub("", text)


def last_user_text(messages: object, keep_kinds: Sequence[str]) -> str:
    """The last user message that contains text."""
    texts = (
        text_of(one.get("content"), keep_kinds) for one in reversed(objects(messages)) if one.get("role") == "user"
    )
    return next((text for text in texts if text), "")


def asks_for_title(body: Json, system_prompt: object) -> bool:
    """Whether the request has no tools and its system prompt asks for a title."""
    return not body.get("tools") and _ASKS_FOR_TITLE.search(json.dumps(system_prompt)) is not None


def smallest(schema: Json) -> Any:
    """The smallest value that a simple JSON schema allows; answers side requests with a schema."""
    if schema.get("enum"):
        return schema["enum"][0]
    match str(schema.get("type", "string")).lower():
        case "object":
            known = schema.get("properties", {})
            return {name: smallest(known.get(name, {})) for name in schema.get("required", known)}
        case "array":
            return []
        case "boolean":
            return False
        case "number" | "integer":
            return 1
    return "scripted"
