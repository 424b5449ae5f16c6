"""Starting a runner in the background. Loads quickly: `say` may start one."""

from __future__ import annotations

import os
from collections.abc import Mapping

from untildone.store import Store


def start_runner(store: Store, loop_id: str, environment: Mapping[str, str] = os.environ) -> int:
    """Start a process that drives the loop; its process id, once it holds the loop's lease."""
    from untildone.hosts import detach

    return detach.start_runner(store, loop_id, environment)
