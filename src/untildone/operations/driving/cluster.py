"""The cluster that drives loops on many machines, as the settings name it."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from untildone.core.errors import UntilDoneError
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Urgency
from untildone.store import Group, Store

if TYPE_CHECKING:
    from untildone.hosts.cluster.client import Cluster

_log = logging.getLogger(__name__)


def cluster(folder: Path, environment: Mapping[str, str] = os.environ) -> Cluster:
    """The client of the cluster that the settings of a folder name."""
    from untildone import settings
    from untildone.hosts.cluster.client import cluster_at
    from untildone.hosts.cluster.options import options

    return cluster_at(options(settings.load(folder, {}, environment).cluster, {}).access)


def poke(store: Store, loop: Loop, environment: Mapping[str, str]) -> None:
    """Notify the cluster that a control was written. If that fails, its machines find the control in the journal later."""
    urgency = Urgency.NOW if loop.interrupts_now else Urgency.AFTER_ITERATION
    try:
        cluster(store.home, environment).poke(loop.loop_id, urgency)
    except UntilDoneError as problem:
        _log.warning("Temporal could not be notified of loop %s: %s", loop.loop_id, problem.sentence)


def change_group(
    store: Store, name: str, environment: Mapping[str, str], *, max_cost: float | None, at_once: int | None
) -> Group:
    """Set the limits of a group. Loops that may go on now are woken."""
    changed = store.change_group(name, max_cost=max_cost, at_once=at_once)
    for loop_id in store.waiting_in(name)[: changed.free]:
        loop = store.load(loop_id)
        if loop.host is Host.CLUSTER:
            poke(store, loop, environment)
    return changed


def has_unpublished_work(folder: Path) -> bool:
    """Whether the folder has work that its git remote does not have."""
    from untildone.hosts.cluster.reading import unpublished

    return unpublished(str(folder))
