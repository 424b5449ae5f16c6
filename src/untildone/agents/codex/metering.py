"""What a run of codex has used so far, from its own log on standard error. Its output reports the totals of the session, at the end.

The log says it as soon as the model has written a message. The files of its sessions say it too, but only when the tools of that
message have ended: then the next message has begun.
"""

from __future__ import annotations

import re

from untildone.agents._lines import tokens_field
from untildone.agents._tally import Tally, count_of
from untildone.core.model import Usage
from untildone.core.plugins.agent_io import AgentEvent
from untildone.core.prices import Prices

_LOG = "codex_otel.trace_safe"
REPORTING = {"RUST_LOG": f"error,{_LOG}=info"}
"""Variables with which the program logs what each message used, beside its errors."""
_MARK = f" {_LOG}: ".encode()
_MESSAGE = b'event.name="codex.sse_event" event.kind=response.completed '
_FIELD = re.compile(r"([a-z_.]+)=(?:\"([^\"]*)\"|(\S+))")
_LONGEST = 4096
"""Bytes of a line of the log that are read."""


class Metering:
    """Adds up the messages of a run, and those of its own session apart: agents that it starts have sessions of their own."""

    def __init__(self, prices: Prices) -> None:
        self._all, self._own = Tally(prices), Tally(prices)

    @property
    def usage(self) -> Usage:
        return self._all.usage

    @property
    def priced(self) -> str:
        return self._all.priced

    def used(self) -> tuple[AgentEvent, ...]:
        return self._all.used()

    @property
    def of_session(self) -> Usage:
        return self._own.usage

    def take(self, line: bytes, session: str | None) -> bool | None:
        """Take a line of standard error. True: the usage has grown; None: the line is no line of this log."""
        place = line.find(_MARK, 0, 80)
        if place < 0:
            return None
        if not line.startswith(_MESSAGE, place + len(_MARK)):
            return False
        fields = _fields(line[place : place + _LONGEST].decode(errors="replace"))
        numbers = {name: int(value) for name, value in fields.items() if value.isascii() and value.isdigit()}
        kinds = ("input", "output", "cached", "cache_write")
        count = count_of(*(tokens_field(numbers, f"{kind}_token_count") for kind in kinds))
        self._all.add(fields.get("model", ""), count)
        if fields.get("conversation.id") == session:
            self._own.add(fields.get("model", ""), count)
        return bool(count.total)


def _fields(text: str) -> dict[str, str]:
    return {name: quoted or bare for name, quoted, bare in _FIELD.findall(text)}
