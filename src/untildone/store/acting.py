"""Numbers new entries, and adds the name of the caller's token, which a server sets for each request."""

from __future__ import annotations

from contextvars import ContextVar

from untildone.core.events import BY_PERSON, Entry, Event

who: ContextVar[str] = ContextVar("who", default="")
"""The name of the token of the present request."""


def numbered(events: tuple[Event, ...], first: int, now: float) -> tuple[Entry, ...]:
    """The entries of these events, from the number `first` on."""
    name = who.get()
    return tuple(
        Entry(seq, now, event, name if isinstance(event, BY_PERSON) else "") for seq, event in enumerate(events, first)
    )
