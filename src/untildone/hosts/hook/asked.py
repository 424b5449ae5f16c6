"""What a person asked in a session, from the agent's own record of it: their words alone, not those of tools and hooks."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from typing import Any

from untildone.core import rounds
from untildone.core.plain_json import read_object
from untildone.hosts.hook import prompts

LONGEST = 20_000
"""Characters of one prompt; of a longer one, its beginning."""
MOST = 40_000
"""Characters of the first prompts together, and of the last ones."""
CUT = " …"
LEFT_OUT = "(Here, {count} of the person's messages are left out.)"

_TELLING = (
    b'"user"',
    b'"user.message"',
    b'"UserMessage"',
    b'"user_message"',
    b'"queued_command"',
    b'"hook.end"',
    b'"warning"',
)
_OF_A_TOOL = b'"toolUseResult":'
_NOT_SAID = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "toolUseResult")
"""Of a line of Claude Code: what a hook or a command put there, a subagent heard, or a summary repeats."""
_WRAPPED = re.compile(
    r"<(?:local-command|command-|bash-|system-reminder|task-notification|user-prompt-submit-hook|session_context|hook_prompt"
    r"|environment_context|user_instructions|turn_aborted)"
    r"|\[Request interrupted by user|Stop hook feedback:|Caveat: The messages below were generated"
    r"|This session is being continued from a previous conversation"
)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_BLOCKED = "Agent execution blocked: "
"""Gemini CLI's word for what a hook sent it back with."""


def merged(told: Iterable[str], heard: Iterable[str]) -> tuple[str, ...]:
    """What the record tells and what the loop heard itself, each once: what only the loop heard stands before what it heard later."""
    both = list(told)
    before = len(both)
    for text in reversed(tuple(heard)):
        place = next((place for place in reversed(range(before)) if _are_same(both[place], text)), None)
        if place is None:
            both.insert(before, text)
        else:
            both[place], before = text, place
    return tuple(both)


def _are_same(told: str, heard: str) -> bool:
    heard = heard.strip()
    return told == heard or (told.endswith(CUT) and heard.startswith(told.removesuffix(CUT)))


class Words:
    """Hears a record line by line."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._last: deque[str] = deque()
        self._left_out = 0
        self._room = [MOST, MOST]
        self._known: set[str] = set()
        self._sent_back_with: str | None = None

    @property
    def asked(self) -> tuple[str, ...]:
        gap = (LEFT_OUT.format(count=self._left_out),) if self._left_out else ()
        return (*self._first, *gap, *self._last)

    def hear(self, line: bytes, before: int | None = None) -> None:
        """`before`: of a session that another one was copied from, what has this number, or a greater one, is not part of the copy."""
        if _OF_A_TOOL in line or not any(mark in line for mark in _TELLING):
            return
        try:
            entry = read_object(line)
        except (ValueError, RecursionError):
            return
        if before is not None and not _is_number_below(entry.get("ordinal"), before):
            return
        for each in _entries(entry):
            self._take(each)

    def _take(self, entry: dict[str, Any]) -> None:
        if (reason := _sent_back_with(entry)) is not None:
            self._sent_back_with = reason.strip()
        text = _REMINDER.sub("", said(entry)).strip()
        identity = entry.get("id")
        if not text or _WRAPPED.match(text) or identity in self._known:
            return
        if isinstance(identity, str):
            self._known.add(identity)
        if text == self._sent_back_with:
            self._sent_back_with = None
            return
        words = rounds.parse(text, None).rest.strip()
        if words and prompts.understood(words) is None:
            self._keep(words if len(words) <= LONGEST else words[:LONGEST] + CUT)

    def _keep(self, text: str) -> None:
        if not self._last and len(text) <= self._room[0]:
            self._first.append(text)
            self._room[0] -= len(text)
            return
        self._last.append(text)
        self._room[1] -= len(text)
        while self._room[1] < 0:
            self._room[1] += len(self._last.popleft())
            self._left_out += 1


def _is_number_below(number: object, most: int) -> bool:
    return isinstance(number, int) and number < most


def _entries(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Gemini CLI writes several messages at once when it begins, or goes on with, a session."""
    several = entry.get("$set")
    messages = several.get("messages") if isinstance(several, dict) else None
    return [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else [entry]


def said(entry: dict[str, Any]) -> str:
    """What the person says in one entry; empty: it is no word of theirs."""
    match entry:
        case {"type": "user", "message": {"content": content}}:
            return "" if _is_put_there(entry) else _text(content)
        case {"type": "user", "content": content} | {"type": "user.message", "data": {"content": content}}:
            return _text(content)
        case {"attachment": {"type": "queued_command", "prompt": content, "origin": {"kind": "human"}}}:
            return _text(content)
        case {"type": "event_msg", "payload": {"item": {"type": "UserMessage", "content": content}}}:
            return _text(content)
        case {"type": "event_msg", "payload": {"type": "user_message", "message": str(message)}}:
            return message
        case _:
            return ""


def _is_put_there(entry: dict[str, Any]) -> bool:
    origin = entry.get("origin")
    elsewhere = isinstance(origin, dict) and origin.get("kind", "human") != "human"
    return elsewhere or any(entry.get(name) for name in _NOT_SAID)


def _text(content: object) -> str:
    """A text, or those among some blocks. A block of another kind beside them, such as an image, is passed over."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if block.get("type", "text") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _sent_back_with(entry: dict[str, Any]) -> str | None:
    """What a hook answered: Copilot and Gemini CLI write it down a second time, as if the person had said it."""
    match entry:
        case {"type": "hook.end", "data": {"output": {"decision": "block", "reason": str(reason)}}}:
            return reason
        case {"type": "warning", "content": str(told)} if told.startswith(_BLOCKED):
            return told.removeprefix(_BLOCKED)
        case _:
            return None
