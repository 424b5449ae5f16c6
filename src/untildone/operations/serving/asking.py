"""In whose name a request of a server acts, and for how long it waits for a store that does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from untildone.store import acting, waiting

PATIENCE = 1.5
"""Seconds for which a request tries to reach a database again. A runner tries for longer: it has work to lose."""


@contextmanager
def on_behalf_of(who: str, *, prompt: bool) -> Iterator[None]:
    """Entries that are written in this block name `who`. With `prompt`, a database that is away is reported soon."""
    name, patience = acting.who.set(who), waiting.longest.set(PATIENCE if prompt else waiting.longest.get())
    try:
        yield
    finally:
        acting.who.reset(name)
        waiting.longest.reset(patience)
