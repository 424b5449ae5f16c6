"""What works on a loop: a runner, a server, a cluster, or the agent's own session."""

from __future__ import annotations

from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.values.value import replace
from untildone.store import Store


def without_closed_session(store: Store, loop: Loop) -> Loop:
    """The loop, with its host cleared if the loop works in a session whose process has exited."""
    if not loop.works_in_session or store.root is None:
        return loop
    from untildone.hosts.hook import presence

    return replace(loop, host=Host.NONE) if presence.is_left(str(store.root), loop) else loop


def is_at_work(store: Store, loop_id: str) -> bool:
    """Whether a runner drives the loop, or an open session of the agent does."""
    return store.is_driven(loop_id) or without_closed_session(store, store.load(loop_id)).works_in_session


def goes_on_by_itself(store: Store, loop: Loop) -> bool:
    """Whether a runner, session, server or cluster will go on with a running loop without a new runner."""
    if without_closed_session(store, loop).works_in_session:
        return True
    # A runner that wrote that the loop rests holds the lease until it exits, and does not go on with the loop.
    is_driven = loop.runner is not None and store.is_driven(loop.loop_id)
    return loop.host is Host.CLUSTER or is_driven or (loop.host is Host.SERVER and store.is_served())
