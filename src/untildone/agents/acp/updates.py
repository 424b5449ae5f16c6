"""What a program reports while it works: the notifications `session/update` become events and the closing text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from untildone.agents._lines import (
    ClosingText,
    Object,
    first_line,
    object_field,
    objects_field,
    spent_field,
    text_field,
    tokens_field,
    tool_summary,
)
from untildone.core.plugins.agent_io import AgentEvent, Notice, Said, Thought, ToolEnded, ToolStarted

_PLACES = ("cwd", "description")
"""Arguments of a tool that do not say what it does."""
_ENDS = ("completed", "failed")
MOST_TOOLS = 1000
"""Tool calls without an end that are remembered: the newest."""
_LONGEST_ID, _LONGEST_KIND = 1000, 40


class Updates:
    """Collects the updates of one turn."""

    def __init__(self, *, marks_messages: bool = False) -> None:
        """`marks_messages`: text without the id of a message is a note of the program."""
        self.note = ""
        """The last note of the program."""
        self._marks_messages = marks_messages
        self.cost: float | None = None
        """The dollars of the session so far; None: not reported."""
        self.tokens: int | None = None
        """The tokens of the requests so far, where the program adds them to its text; None: it does not."""
        self._closing = ClosingText()
        self._saying = ClosingText()
        self._thinking = ClosingText()
        self._message = ""
        self._tools: dict[str, str] = {}
        """The kinds of the tools at work, by the id of the call."""
        self._announced: dict[str, None] = {}
        self._step = ""

    @property
    def text(self) -> str:
        """The text of the program since its last tool call."""
        return self._closing.joined("\n\n").strip()

    def take(self, update: Object) -> Iterator[AgentEvent]:
        match text_field(update, "sessionUpdate"):
            case "agent_message_chunk":
                self._count(tokens_field(update, "_meta", "usage", "totalTokens"))
                yield from self._take_text(update)
            case "agent_thought_chunk":
                yield from self._said()
                self._thinking.add(text_field(update, "content", "text"))
            case "tool_call" | "tool_call_update":
                yield from self.flush()
                yield from self._take_tool(update)
            case "plan":
                yield from self.flush()
                yield from self._take_plan(update)
            case "usage_update":
                self.take_cost(update)

    def take_cost(self, update: Object) -> None:
        """Note the dollars of the session so far, if the update has them."""
        is_told = text_field(update, "sessionUpdate") == "usage_update" and "cost" in update
        if is_told and text_field(update, "cost", "currency") in ("", "USD"):
            self.cost = spent_field(update, "cost", "amount")

    def flush(self) -> Iterator[AgentEvent]:
        """The text that arrived in pieces, once something else follows."""
        yield from self._thought()
        yield from self._said()

    def _count(self, tokens: int | None) -> None:
        self.tokens = self.tokens if tokens is None else (self.tokens or 0) + tokens

    def _take_text(self, update: Object) -> Iterator[AgentEvent]:
        yield from self._thought()
        if self._marks_messages and not text_field(update, "messageId"):
            yield from self._take_note(text_field(update, "content", "text"))
            return
        if text_field(update, "messageId") != self._message:
            self._message = text_field(update, "messageId")
            yield from self._said()
        self._saying.add(text_field(update, "content", "text"))

    def _take_note(self, text: str) -> Iterator[AgentEvent]:
        if text.strip():
            self.note = text.strip()
            yield Notice(first_line(text))

    def _said(self) -> Iterator[AgentEvent]:
        text = self._saying.joined("")
        self._saying.clear()
        if text:
            self._closing.add(text)
            yield Said(text)

    def _thought(self) -> Iterator[AgentEvent]:
        text = self._thinking.joined("")
        self._thinking.clear()
        if text:
            yield Thought(text)

    def _take_tool(self, call: Object) -> Iterator[AgentEvent]:
        status = text_field(call, "status")
        # The first report of a call may come before its arguments.
        if status in ("in_progress", *_ENDS) or _arguments(call):
            yield from self.announce(call)
        if status in _ENDS:
            self._closing.clear()
            identity = _identity(call)
            self._announced.pop(identity, None)
            yield ToolEnded(self._tools.pop(identity, ""), status == "completed", first_line(_outcome(call)))
        elif _identity(call):
            self.kind(call)

    def announce(self, call: Object) -> Iterator[AgentEvent]:
        """That a tool is used, once for each call."""
        self._closing.clear()
        identity, kind = _identity(call), self.kind(call)
        if identity not in self._announced:
            self._announced[identity] = None
            _forget_oldest(self._announced)
            yield ToolStarted(kind, summary(call))

    def kind(self, call: Object) -> str:
        """The kind of a tool call, by this or an earlier report of it."""
        identity = _identity(call)
        known = text_field(call, "kind")[:_LONGEST_KIND] or self._tools.get(identity, "other")
        if identity:
            self._tools[identity] = known
            _forget_oldest(self._tools)
        return known

    def _take_plan(self, update: Object) -> Iterator[AgentEvent]:
        """The step of the plan that is at work, when it changes."""
        entries = objects_field(update, "entries")
        done = sum(text_field(entry, "status") == "completed" for entry in entries)
        step = next((text_field(entry, "content") for entry in entries if _is_at_work(entry)), "")
        if step and step != self._step:
            self._step = step
            yield Notice(f"plan, {done} of {len(entries)} done: {first_line(step)}")


def _identity(call: Object) -> str:
    return text_field(call, "toolCallId")[:_LONGEST_ID]


def _forget_oldest(calls: dict[str, Any]) -> None:
    if len(calls) > MOST_TOOLS:
        del calls[next(iter(calls))]


def summary(call: Object) -> str:
    """What a tool call does, in one line."""
    places = (text_field(place, "path") for place in objects_field(call, "locations"))
    arguments = tool_summary(_arguments(call))
    return arguments or first_line(text_field(call, "title")) or first_line(next(places, ""))


def _arguments(call: Object) -> Object:
    given = object_field(call, "rawInput")
    return {name: value for name, value in given.items() if name not in _PLACES}


def _outcome(call: Object) -> str:
    parts = (text_field(part, "content", "text") for part in objects_field(call, "content"))
    raw = object_field(call, "rawOutput")
    texts = (*parts, *(text_field(raw, name) for name in ("output", "content", "error", "message")))
    return next((text for text in texts if text.strip()), "")


def _is_at_work(entry: Object) -> bool:
    return text_field(entry, "status") == "in_progress"
