"""Loops that a cluster drives: started from a terminal and watched until they rest."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from untildone import settings
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Outcome
from untildone.core.values.codec import timestamp
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.commands.records import watch
from untildone.faces.cli.driver import Show, create_loop
from untildone.faces.cli.signals import ctrl_c_afterwards
from untildone.faces.cli.views import loop_end
from untildone.operations import look
from untildone.operations.driving import cluster
from untildone.operations.stores import Store


def begin(task: str, place: Path, flags: dict[str, Any], *, detach: bool, plain: bool, as_json: bool) -> int:
    """Create a loop and give it to the cluster. Ctrl-C leaves a loop alone that machines may have found already."""
    chosen = settings.load(place, flags, parameters.environment())
    target = cluster.cluster(place, parameters.environment())
    store = parameters.open_store(place)
    loop_id = ""
    try:
        with ctrl_c_afterwards():
            loop_id = create_loop(store, task, chosen, place, Host.CLUSTER).loop_id
        if not chosen.remote and cluster.has_unpublished_work(place):
            streams.talk().prose("This folder has work that its remote does not have: the loop does not see it.")
        streams.talk().prose(f"Loop {loop_id} was given to the cluster at {target.access.address}.")
    except KeyboardInterrupt:
        if not loop_id:
            raise
        return _left(loop_id)
    return detached(loop_id, as_json=as_json) if detach else watched(store, loop_id, Show(as_json=as_json, plain=plain))


def detached(loop_id: str, *, as_json: bool) -> int:
    """Print the id of the loop, without waiting for it."""
    if as_json:
        streams.data().record({"event": "loop_detached", "ts": timestamp(time.time()), "loop_id": loop_id})
    else:
        streams.data().line(loop_id)
    return 0


def watched(store: Store, loop_id: str, show: Show, after: int = 0) -> int:
    """Show a loop until it rests. Returns the exit code of its outcome. Ctrl-C does not affect the loop."""
    try:
        loop = _recorded(store, loop_id, after) if show.as_json else watch.watched(store, loop_id, show)
    except KeyboardInterrupt:
        return _left(loop_id)
    return loop.outcome.exit_code if loop.outcome else 0


def _left(loop_id: str) -> int:
    """Say that the loop goes on without this command."""
    streams.talk().prose(f"Loop {loop_id} goes on in the cluster; `untildone pause {loop_id}` pauses it.")
    return Outcome.INTERRUPTED.exit_code


def _recorded(store: Store, loop_id: str, after: int) -> Loop:
    data = streams.data()
    for entry in look.follow(store, loop_id, to_rest=True):
        if entry.seq > after:
            data.json(look.entry_json(entry, loop_id))
    loop = store.load(loop_id)
    data.record(loop_end.fields(loop, loop.outcome.exit_code if loop.outcome else 0, time.time()))
    return loop
