"""How long a loop may keep its slot of a server or machine while it waits for a usage limit."""

from __future__ import annotations

LONG_WAIT = 5.0
"""Seconds. A loop that waits longer leaves its slot to another one meanwhile."""
