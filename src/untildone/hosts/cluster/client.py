"""Requests to Temporal to look at a loop, after it was created, resumed, controlled or lost.

Write to the journal first, then poke. A poke is idempotent: it starts the loop's workflow if there is none, and wakes it if it waits.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Collection, Coroutine, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from untildone.core.model import Urgency
from untildone.hosts.cluster.connecting import POKE, WORKFLOW, Access, connect, unreachable

if TYPE_CHECKING:
    from temporalio.client import Client

ANSWER_WITHIN = 15.0
FEW, AT_ONCE = 20, 20
"""Up to this many loops are repaired without listing the workflows first; and this many requests run at the same time."""
TASK_TIMEOUT = timedelta(seconds=5)
"""After this time without an answer, another machine gets the workflow task."""
Result = TypeVar("Result")


async def poke(client: Client, queue: str, loop_id: str, urgency: Urgency = Urgency.AFTER_ITERATION) -> None:
    """Start or wake the workflow of a loop."""
    await _begin(client, queue, loop_id, start_signal=POKE, start_signal_args=[urgency])


async def repair(client: Client, queue: str, loop_ids: Collection[str]) -> None:
    """Start a workflow for each of these loops that has none."""
    slots, known = asyncio.Semaphore(AT_ONCE), await _known(client) if len(loop_ids) > FEW else frozenset[str]()

    async def start(loop_id: str) -> None:
        async with slots:
            await _begin(client, queue, loop_id)

    await asyncio.gather(*(start(loop_id) for loop_id in loop_ids if loop_id not in known))


async def _known(client: Client) -> frozenset[str]:
    """The loops with a running workflow. The list of Temporal may lag behind."""
    running = client.list_workflows(f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'")
    return frozenset([workflow.id async for workflow in running])


async def _begin(client: Client, queue: str, loop_id: str, **signal: Any) -> None:
    from temporalio.common import WorkflowIDConflictPolicy

    await client.start_workflow(
        WORKFLOW,
        loop_id,
        id=loop_id,
        task_queue=queue,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        task_timeout=TASK_TIMEOUT,
        rpc_timeout=timedelta(seconds=ANSWER_WITHIN),
        **signal,
    )


@functools.cache
def cluster_at(access: Access) -> Cluster:
    """The `Cluster` of this address, shared in this process."""
    return Cluster(access)


class Cluster:
    """A blocking, thread-safe client. It connects at the first use and keeps the connection."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._client: Client | None = None
        self._loop = asyncio.new_event_loop()
        self._connecting = asyncio.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, name="temporal", daemon=True)
        self._thread.start()

    def start(self, loop_id: str) -> None:
        """Have a loop driven after it was created, resumed or given more rounds."""
        self.poke(loop_id)

    def poke(self, loop_id: str, urgency: Urgency = Urgency.AFTER_ITERATION) -> None:
        """Report a new entry in the journal of a loop. With NOW, the running turn ends."""
        self._run(self._poke(loop_id, urgency), ANSWER_WITHIN)

    def repair(self, loop_ids: Iterable[str]) -> None:
        """Start the missing workflows of these loops, after Temporal lost its data or a process died before its poke."""
        ids = tuple(loop_ids)
        self._run(self._repair(ids), ANSWER_WITHIN + len(ids))

    def check(self) -> None:
        """StoreError if Temporal does not answer."""
        self._run(self._check(), 1.0)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ANSWER_WITHIN)
        if not self._thread.is_alive():
            self._loop.close()

    async def _poke(self, loop_id: str, urgency: Urgency) -> None:
        await poke(await self._connected(), self.access.queue, loop_id, urgency)

    async def _check(self) -> None:
        client = await self._connected()
        await client.service_client.check_health(timeout=timedelta(seconds=2))

    async def _repair(self, loop_ids: tuple[str, ...]) -> None:
        await repair(await self._connected(), self.access.queue, loop_ids)

    async def _connected(self) -> Client:
        async with self._connecting:
            if self._client is None:
                self._client = await connect(self.access)
            return self._client

    def _run(self, work: Coroutine[Any, Any, Result], within: float) -> Result:
        from temporalio.service import RPCError

        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result(within + ANSWER_WITHIN)
        except (RPCError, TimeoutError) as problem:
            running.cancel()
            raise unreachable(self.access, problem) from problem
