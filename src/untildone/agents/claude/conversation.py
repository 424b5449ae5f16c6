"""A turn of `claude -p --input-format=stream-json`: the prompt is a message on standard input, and the process waits for the next one."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from untildone.agents._lines import Object, objects_field, session_to_use, text_field
from untildone.agents.claude.command_line import prompt_of
from untildone.agents.claude.stream import ClaudeReader, usage_of
from untildone.core.model import SessionUse, Usage
from untildone.core.plugins.agent_io import AgentEvent, Conversation, Request
from untildone.core.values.value import dataclass, field

INTERRUPT = "untildone-interrupt"
SAME = 1e-5
"""Dollars. Sums that differ by less are the same."""


@dataclass(frozen=True, slots=True)
class Past:
    """The state that a process brings from its earlier turns into the next one."""

    session: str
    cap: float | None
    """The dollars that it may spend; None: no limit."""
    spent: float = 0.0
    late: Usage = field(default_factory=Usage)
    """What it has used since its last turn, without being asked."""


class ClaudeConversation(ClaudeReader, Conversation):
    """The program says when it begins with a message, by the id of the message. What it prints before that is of no turn of ours."""

    def __init__(self, request: Request, past: Past | None = None) -> None:
        """`past`: the last conversation of the process, whose session goes on; None: the process begins with this turn."""
        super().__init__(request)
        self._message = str(uuid.uuid5(uuid.NAMESPACE_OID, request.fresh_id))
        self._out = [_line(_user_message(request, self._message))]
        self._marks_beginnings = False
        self._is_begun = past is None
        self._has_ended = self._has_said_all = False
        self._background = 0
        """Tasks of the program that go on in the background."""
        self._late = Usage()
        """What the process has used since the end of the turn, without being asked."""
        self._past = past or Past("", request.max_cost_usd)
        self._session, self._usage = self._past.session or None, self._past.late

    @property
    def is_open(self) -> bool:
        return True

    @property
    def has_ended(self) -> bool:
        return self._has_ended

    @property
    def has_said_all(self) -> bool:
        return self._has_said_all

    @property
    def session(self) -> str:
        return self._session or ""

    def outgoing(self) -> bytes:
        written = b"".join(self._out)
        self._out.clear()
        return written

    def interrupt(self) -> None:
        request = {"subtype": "interrupt"}
        self._out.append(_line({"type": "control_request", "request_id": INTERRUPT, "request": request}))

    def give_up(self, seconds: float) -> None:
        self._has_ended = True

    def next_turn(self, request: Request) -> ClaudeConversation | None:
        use, session_id = session_to_use(request)
        is_same = use is SessionUse.RESUME and session_id == self._session
        if not (is_same and self._is_whole and self._is_capped_as(request)):
            return None
        return ClaudeConversation(request, Past(session_id, self._past.cap, self._spent, self._late))

    @property
    def _is_whole(self) -> bool:
        """Whether the turn came to its end, and the program reports where each turn begins and what it used."""
        is_counted = isinstance((self._result or {}).get("model_usage_since_last_result"), dict)
        return self._has_ended and self._marks_beginnings and is_counted and not self._background

    def _is_capped_as(self, request: Request) -> bool:
        """Whether the limit of dollars of the process is, after what it has spent, what the request asks for."""
        cap, requested = self._past.cap, request.max_cost_usd
        if cap is None or requested is None:
            return cap is requested
        return abs(cap - self._spent - (self._late.cost_usd or 0.0) - requested) < SAME

    @property
    def _spent(self) -> float:
        """Dollars of the process until the end of the turn."""
        return self._past.spent + (self._usage.cost_usd or 0.0)

    def _take(self, fields: Object) -> Iterator[AgentEvent]:
        kind = text_field(fields, "type")
        if kind == "command_lifecycle":
            self._take_beginning(fields)
        elif kind == "system" and text_field(fields, "subtype") == "background_tasks_changed":
            self._background = len(objects_field(fields, "tasks"))
        elif not self._is_begun:
            self._usage = usage_of(fields, self._usage) if kind == "result" else self._usage
        elif self._has_ended:
            self._late = usage_of(fields, self._late) if kind == "result" else self._late
        else:
            yield from super()._take(fields)
            if kind == "result":
                self._end()

    def _take_beginning(self, fields: Object) -> None:
        is_own = text_field(fields, "command_uuid") == self._message
        if is_own and text_field(fields, "state") == "started":
            self._marks_beginnings = self._is_begun = True

    def _end(self) -> None:
        """Note the end of the turn. If tasks run in the background, the program goes on with the turn when they end, and then exits."""
        if self._background or self._has_said_all:
            self._has_said_all = True
        else:
            self._has_ended = True


def _user_message(request: Request, message_id: str) -> dict[str, Any]:
    message = {"role": "user", "content": prompt_of(request)}
    return {"type": "user", "message": message, **({"uuid": message_id} if request.fresh_id else {})}


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
