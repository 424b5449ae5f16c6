"""What the dialects share: the shape of a dialect, the events of a stream, and small pieces of JSON."""

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
_TITLE_WANTED = re.compile(r"title generator|(?:generat|extract|creat|writ)\w* [^.\n]{0,80}\btitle\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """A request as a dialect sees it."""

    path: str
    body: Json


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event: its content (JSON, or a text as it is) and, in some dialects, its name."""

    content: Json | str
    name: str | None = None
    paced: bool = False
    """A piece of text: the step's `chunk_delay` follows it."""

    def encode(self) -> bytes:
        shown = self.content if isinstance(self.content, str) else json.dumps(self.content)
        name = f"event: {self.name}\n" if self.name else ""
        return f"{name}data: {shown}\n\n".encode()


class Dialect(Protocol):
    """One wire protocol, without I/O: which requests are its own, what they say, and what an answer looks like."""

    name: str

    def lookup(self, method: str, call: Call) -> Json | None:
        """The reply to a request that asks for a fact (a count, a list), not for an answer."""
        ...

    def owns(self, method: str, path: str) -> bool:
        """Is this a request for an answer, in this dialect?"""
        ...

    def is_side_request(self, call: Call) -> bool:
        """A program asks on the side (a title, a probe of the quota): no step is used up for it."""
        ...

    def side_text(self, call: Call) -> str: ...

    def user_text(self, call: Call) -> str:
        """The last thing that the person's side said in words; results of tools are not words."""
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
    """What a count of tokens answers: about four characters each."""
    return max(1, len(json.dumps(body)) // 4)


def objects(value: object) -> list[Json]:
    """The objects of a list; a body comes from another program and may hold anything."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def words(content: object, keep_kinds: Sequence[str]) -> str:
    """The text of a message whose content is a text, or a list of parts of which only some kinds are words."""
    if isinstance(content, str):
        return _own_words(content)
    parts = (str(part.get("text") or "") for part in objects(content) if part.get("type", "text") in keep_kinds)
    return "\n".join(own for part in parts if (own := _own_words(part)))


def _own_words(text: str) -> str:
    """What the person said, without what the agent program put in front of it."""
    return _PREFACE.sub("", text)


def last_words(messages: object, keep_kinds: Sequence[str]) -> str:
    """The last message of the user that has words in it."""
    spoken = (words(one.get("content"), keep_kinds) for one in reversed(objects(messages)) if one.get("role") == "user")
    return next((text for text in spoken if text), "")


def asks_for_title(body: Json, system_prompt: object) -> bool:
    """A request without tools whose system prompt wants a title is a program naming its conversation."""
    return not body.get("tools") and _TITLE_WANTED.search(json.dumps(system_prompt)) is not None


def smallest(schema: Json) -> Any:
    """The smallest value that a simple JSON schema allows: what a side request with a schema is given."""
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
