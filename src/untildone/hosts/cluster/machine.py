"""One machine of a cluster. It drives as many loops at the same time as it has slots, until it is stopped."""

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
from untildone.engine.verdicts import loop_rooms
from untildone.hosts.cluster import client as clients
from untildone.hosts.cluster.connecting import check_namespace, connect
from untildone.hosts.cluster.options import Options
from untildone.store import Store
from untildone.workspace.shadow import Shadow, tidying

if TYPE_CHECKING:
    from temporalio.client import Client
    from temporalio.worker import Worker

    from untildone.hosts.cluster.advancing import Advancing, Means

REPAIR_EVERY, TIDY_EVERY = 300.0, 3600.0
"""Seconds between two searches for running loops that Temporal does not know, and for folders of ended loops."""
TRY_AGAIN = 3.0
"""Seconds between two attempts to connect."""
END_WITHIN = 30.0
"""Seconds after the drain to end agents and publish their work."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stop:
    """Events that stop the machine: after the running turns, or at once."""

    ending: asyncio.Event
    at_once: asyncio.Event


@dataclass(frozen=True, slots=True)
class Notices:
    """Callbacks: the machine takes loops now; the machine waits, with the reason."""

    ready: Callable[[], None]
    waiting: Callable[[str], None]


async def work(options: Options, means: Means, stop: Stop, notices: Notices) -> None:
    """Drive loops until the machine is stopped and its running loops are finished or handed over."""
    from untildone.hosts.cluster.advancing import Advancing

    client = await _connected(options, stop.ending, notices)
    if client is None:
        return
    queue = options.access.queue
    advancing = Advancing(
        means, lambda: _others_wait(client, queue), lambda loop_id: clients.poke(client, queue, loop_id)
    )
    worker = _worker(client, options, means, advancing)
    beside = [asyncio.create_task(_repair(client, queue, means.store)), asyncio.create_task(_tidy(means))]
    async with worker:
        notices.ready()
        await stop.ending.wait()
        for task in beside:
            task.cancel()
        draining = asyncio.create_task(_drain(advancing, stop.at_once, options.drain))
        await worker.shutdown()
        draining.cancel()


async def _connected(options: Options, ending: asyncio.Event, notices: Notices) -> Client | None:
    """A connection to Temporal, retried because the machine may be started before the rest of the cluster; None if it is stopped first."""
    reported = ""
    while not ending.is_set():
        try:
            client = await connect(options.access, options.machine)
            await check_namespace(client)
            return client
        except StoreError as problem:
            if problem.sentence != reported:
                reported = problem.sentence
                notices.waiting(f"Waiting: {reported}")
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
        # A workflow cached on a machine would wait for a dead machine. Replaying ours is cheap.
        max_cached_workflows=0,
        max_concurrent_activities=means.slots,
        # A frozen machine can swallow one task for each open poll. With one poll, other machines get the next task soon.
        max_concurrent_activity_task_polls=1,
        max_concurrent_workflow_task_polls=1,
        # A loop that has just left its slot must not get it back before the waiting loops.
        disable_eager_activity_execution=True,
        # Interruptions arrive with the answers to heartbeats.
        max_heartbeat_throttle_interval=beat,
        default_heartbeat_throttle_interval=beat,
        graceful_shutdown_timeout=timedelta(seconds=options.drain + END_WITHIN),
    )


async def _drain(advancing: Advancing, at_once: asyncio.Event, within: float) -> None:
    """Let running turns end by themselves for `within` seconds, then interrupt them."""
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

    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        report_stats=True,
    )
    try:
        queue_info = await client.workflow_service.describe_task_queue(request)
    except RPCError:
        return False
    return queue_info.stats.approximate_backlog_count > 0


async def _repair(client: Client, queue: str, store: Store) -> None:
    """Start a workflow for every running loop that Temporal does not know, every `REPAIR_EVERY` seconds."""
    from temporalio.service import RPCError

    while True:
        try:
            await clients.repair(client, queue, await asyncio.to_thread(store.running_ids, Host.CLUSTER))
        except (RPCError, UntilDoneError) as problem:
            _log.warning("Cannot look for loops without a workflow: %s", problem)
        await asyncio.sleep(REPAIR_EVERY)


async def _tidy(means: Means) -> None:
    """Delete the folders of loops that ended on another machine, every `TIDY_EVERY` seconds."""
    while True:
        await asyncio.to_thread(_remove_ended, means.store, means.folder / "work")
        await asyncio.sleep(TIDY_EVERY)


def _remove_ended(store: Store, folder: Path) -> None:
    for place in folder.glob("loop-*"):
        with suppress(UntilDoneError):
            if _is_over(store, place):
                shutil.rmtree(place, ignore_errors=True)


def _is_over(store: Store, place: Path) -> bool:
    """Whether a loop has ended or was deleted. What was kept of its start for rooms shrinks then, or goes."""
    shadow = Shadow(str(place), loop_id=place.name)
    try:
        loop = store.load(place.name)
    except LoopNotFound:
        loop_rooms.forget(place.name, str(place))
        tidying.loop_deleted(shadow)
        return True
    if loop.status.ended:
        loop_rooms.shrink(loop, str(place))
        tidying.loop_ended(shadow)
    return loop.status.ended
