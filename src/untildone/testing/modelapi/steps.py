"""The parts of a script: steps, tool calls and token usage. All are frozen and have a JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Literal

from untildone.core.model import EMPTY

Json = Mapping[str, Any]
Forever = Literal["forever"]


class Fault(StrEnum):
    """How an answer goes wrong on the wire."""

    CLOSE = "close"
    """The connection ends before the first byte."""
    CUT = "cut"
    """The connection ends half-way through the answer."""
    GARBAGE = "garbage"
    """Status 200 with an invalid body: the step's text, or a default text."""
    ERROR_EVENT = "error_event"
    """Status 200 with an error event inside the stream."""
    HANG = "hang"
    """No byte is sent for `seconds`; then the connection ends."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token usage that an answer reports. `input_tokens` excludes cached tokens; each dialect sums as its API does."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Usage)))

    @property
    def prompt_tokens(self) -> int:
        """All input tokens, cached or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.output_tokens

    def to_json(self) -> dict[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(Usage) if getattr(self, f.name)}


TYPICAL_USAGE = Usage(input_tokens=100, output_tokens=20)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of the model. A text as `input` makes a free-form call (OpenAI Responses only)."""

    name: str
    input: Json | str = field(default_factory=lambda: EMPTY)
    namespace: str | None = None
    """The tool group in the Responses API."""

    def to_json(self) -> dict[str, Any]:
        given = self.input if isinstance(self.input, str) else dict(self.input)
        return {"name": self.name, "input": given} | ({"namespace": self.namespace} if self.namespace else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How the model API answers one request."""

    text: str | None = None
    thinking: str | None = None
    tools: tuple[ToolCall, ...] = ()
    usage: Usage = TYPICAL_USAGE
    stop_reason: str | None = None
    """Overrides the stop reason, in the terms of the dialect."""
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    error: Json = field(default_factory=lambda: EMPTY)
    fault: Fault | None = None
    seconds: float = 30.0
    delay: float = 0.0
    """Seconds before the first byte."""
    chunk_delay: float = 0.0
    """Seconds after each piece of text in a stream."""
    repeat: int | Forever = 1
    match: str | None = None
    """A regular expression: only a request whose last user text contains it gets this step."""

    def to_json(self) -> dict[str, Any]:
        """The JSON form for script files, without default values."""
        return {
            f.name: _plain(getattr(self, f.name)) for f in fields(Step) if getattr(self, f.name) != _DEFAULTS[f.name]
        }


def subscription_limit(resets_at: float, claim: str = "five_hour") -> Step:
    """The answer to a subscriber who has used up a limit (`five_hour`, `seven_day`, `seven_day_opus`, `overage`) until a time (epoch
    seconds). Claude Code then sends no second request, and reports the exact time in a `rate_limit_event`."""
    unified = "anthropic-ratelimit-unified"
    headers = {
        f"{unified}-status": "rejected",
        f"{unified}-reset": str(int(resets_at)),
        f"{unified}-representative-claim": claim,
        "retry-after": "7200",
    }
    return Step(status=429, headers=headers, error={"message": "This request would exceed your account's limit."})


_DEFAULTS: Mapping[str, Any] = {f.name: getattr(Step(), f.name) for f in fields(Step)}


def _plain(value: object) -> object:
    match value:
        case Usage():
            return value.to_json()
        case Fault():
            return value.value
        case Mapping():
            return dict(value)
        case tuple():
            return [tool.to_json() for tool in value]
    return value
