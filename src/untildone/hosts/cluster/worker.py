"""A worker: one machine's share of the cluster. It takes as many loops at once as it has slots, until it is told to end."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from untildone.core.errors import LoopNotFound, StoreError, UntilDoneError
from untildone.core.kinds import Host
from untildone.core.model import Urgency
from untildone.hosts.cluster import client as clients
from untildone.hosts.cluster.connecting import check_namespace, connect
from untildone.hosts.cluster.options import Options
from untildone.store import Store

if TYPE_CHECKING:
    from temporalio.client import Client
    from temporalio.worker import Worker

    from untildone.hosts.cluster.advancing import Advancing, Means

REPAIR_EVERY, TIDY_EVERY = 300.0, 3600.0
"""How often, in seconds, loops are looked for that are to run and of which Temporal knows nothing; and folders of no more use."""
TRY_AGAIN = 3.0
END_WITHIN = 30.0
"""How long, in seconds, it may take after the drain to end agents and publish what they did."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Orders:
    """To end: when the turns under way have ended, or at once."""

    ending: asyncio.Event
    at_once: asyncio.Event


@dataclass(frozen=True, slots=True)
class Notices:
    """Whom to tell when the worker is ready, and what it waits for."""

    ready: Callable[[], None]
    waiting: Callable[[str], None]


async def work(options: Options, means: Means, orders: Orders, notices: Notices) -> None:
    """Until it is ordered to end, and what is under way was finished or handed over."""
    from untildone.hosts.cluster.advancing import Advancing

    client = await _connected(options, orders.ending, notices)
    if client is None:
        return
    queue = options.access.queue
    advancing = Advancing(means, lambda: _others_wait(client, queue))
    worker = _worker(client, options, means, advancing)
    beside = [asyncio.create_task(_repair(client, queue, means.store)), asyncio.create_task(_tidy(means))]
    async with worker:
        notices.ready()
        await orders.ending.wait()
        for task in beside:
            task.cancel()
        draining = asyncio.create_task(_drain(advancing, orders.at_once, options.drain))
        await worker.shutdown()
        draining.cancel()


async def _connected(options: Options, ending: asyncio.Event, notices: Notices) -> Client | None:
    """Tried until it works: a worker may be started before the rest of the cluster. None: it is to end before that."""
    told = ""
    while not ending.is_set():
        try:
            client = await connect(options.access, options.machine)
            await check_namespace(client)
            return client
        except StoreError as problem:
            if problem.sentence != told:
                told = problem.sentence
                notices.waiting(f"Waiting: {told}")
        with suppress(TimeoutError):
            await asyncio.wait_for(ending.wait(), TRY_AGAIN)
    return None


def _worker(client: Client, options: Options, means: Means, advancing: Advancing) -> Worker:
    from temporalio.worker import UnsandboxedWorkflowRunner, Worker

    from untildone.hosts.cluster.workflow import LoopWorkflow

    LoopWorkflow.heartbeat_timeout = options.heartbeat_timeout
    beat = timedelta(seconds=1)
    return Worker(
        client,
        task_queue=options.access.queue,
        identity=options.machine,
        workflows=[LoopWorkflow],
        activities=[advancing.advance],
        workflow_runner=UnsandboxedWorkflowRunner(),
        # A workflow that sticks to a machine would wait for it when it is gone; reading ours anew takes a moment.
        max_cached_workflows=0,
        max_concurrent_activities=means.slots,
        # A frozen machine may take what its open polls are given: so there is one, and others have their turn soon.
        max_concurrent_activity_task_polls=1,
        max_concurrent_workflow_task_polls=1,
        # A loop that has just left its slot must not have it again before those that wait.
        disable_eager_activity_execution=True,
        # The answer to a heartbeat is how an interruption arrives.
        max_heartbeat_throttle_interval=beat,
        default_heartbeat_throttle_interval=beat,
        graceful_shutdown_timeout=timedelta(seconds=options.drain + END_WITHIN),
    )


async def _drain(advancing: Advancing, at_once: asyncio.Event, within: float) -> None:
    """Turns that are under way may end by themselves for a while."""
    advancing.hand_over(Urgency.AFTER_ITERATION)
    with suppress(TimeoutError):
        await asyncio.wait_for(at_once.wait(), within)
    advancing.hand_over(Urgency.NOW)


async def _others_wait(client: Client, queue: str) -> bool:
    """Whether a loop waits for a slot."""
    from temporalio.api.enums.v1 import TaskQueueType
    from temporalio.api.taskqueue.v1 import TaskQueue
    from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
    from temporalio.service import RPCError

    asked = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        report_stats=True,
    )
    try:
        told = await client.workflow_service.describe_task_queue(asked)
    except RPCError:
        return False
    return told.stats.approximate_backlog_count > 0


async def _repair(client: Client, queue: str, store: Store) -> None:
    """Whatever Temporal lost or was never told: what the journals say is to run, runs."""
    from temporalio.service import RPCError

    while True:
        try:
            await clients.repair(client, queue, await asyncio.to_thread(store.running_ids, Host.CLUSTER))
        except (RPCError, UntilDoneError) as problem:
            _log.warning("Looking for loops that nobody drives: %s", problem)
        await asyncio.sleep(REPAIR_EVERY)


async def _tidy(means: Means) -> None:
    """Folders of loops that ended elsewhere are of no more use here."""
    while True:
        await asyncio.to_thread(_remove_ended, means.store, means.folder / "work")
        await asyncio.sleep(TIDY_EVERY)


def _remove_ended(store: Store, folder: Path) -> None:
    for place in folder.glob("loop-*"):
        with suppress(UntilDoneError):
            if _has_ended(store, place.name):
                shutil.rmtree(place, ignore_errors=True)


def _has_ended(store: Store, loop_id: str) -> bool:
    try:
        return store.load(loop_id).status.ended
    except LoopNotFound:
        return True
