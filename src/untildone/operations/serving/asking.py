"""The caller of a request of the server, which entries name, and how long the request waits for a store that does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from untildone.store import acting, waiting

PATIENCE = 1.5
"""Seconds for which a request tries to reach a database again. A runner tries for longer: it has work to lose."""


@contextmanager
def on_behalf_of(caller: str, *, prompt: bool) -> Iterator[None]:
    """Entries that are written in this block name the caller. With `prompt`, a database that is away is reported soon."""
    name, patience = acting.who.set(caller), waiting.longest.set(PATIENCE if prompt else waiting.longest.get())
    try:
        yield
    finally:
        acting.who.reset(name)
        waiting.longest.reset(patience)
