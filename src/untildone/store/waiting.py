"""For how long a caller waits for a store that does not answer."""

from __future__ import annotations

from contextvars import ContextVar

longest: ContextVar[float] = ContextVar("longest", default=float("inf"))
"""Seconds; a store may have a shorter limit of its own."""
