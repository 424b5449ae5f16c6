"""Telling Temporal to look at a loop: what creating, resuming, controlling and repairing one all come to.

Write into the journal first, then poke. A poke is idempotent: it starts the loop's workflow if there is none, and wakes it if it waits.
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
"""So many loops are told to Temporal without asking first which of them it knows; and at the same time."""
TASK_TIMEOUT = timedelta(seconds=5)
"""After this, a worker that took a step of a workflow is taken for dead."""
Result = TypeVar("Result")


async def poke(client: Client, queue: str, loop_id: str, urgency: Urgency = Urgency.AFTER_ITERATION) -> None:
    await _begin(client, queue, loop_id, start_signal=POKE, start_signal_args=[urgency])


async def repair(client: Client, queue: str, loop_ids: Collection[str]) -> None:
    """See to it that each of these loops has a workflow; one that has is not disturbed."""
    turns, there = asyncio.Semaphore(AT_ONCE), await _known(client) if len(loop_ids) > FEW else frozenset[str]()

    async def mend(loop_id: str) -> None:
        async with turns:
            await _begin(client, queue, loop_id)

    await asyncio.gather(*(mend(loop_id) for loop_id in loop_ids if loop_id not in there))


async def _known(client: Client) -> frozenset[str]:
    """The loops that have a workflow, as far as Temporal has got round to listing them."""
    running = client.list_workflows(f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'")
    return frozenset([found.id async for found in running])


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
    """One for all who ask in this process."""
    return Cluster(access)


class Cluster:
    """The same for callers without an event loop, from any thread. Connected at the first use, and kept."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._client: Client | None = None
        self._loop = asyncio.new_event_loop()
        self._connecting = asyncio.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, name="temporal", daemon=True)
        self._thread.start()

    def start(self, loop_id: str) -> None:
        """Have a loop driven that is to run, because it was created, resumed or given rounds."""
        self.poke(loop_id)

    def poke(self, loop_id: str, urgency: Urgency = Urgency.AFTER_ITERATION) -> None:
        """Something was written into the loop's journal; with NOW, the turn under way ends."""
        self._asked(self._poke(loop_id, urgency), ANSWER_WITHIN)

    def repair(self, loop_ids: Iterable[str]) -> None:
        """Have all of these driven that are not: after Temporal lost its memory, or somebody died before they poked."""
        wanted = tuple(loop_ids)
        self._asked(self._repair(wanted), ANSWER_WITHIN + len(wanted))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ANSWER_WITHIN)
        if not self._thread.is_alive():
            self._loop.close()

    async def _poke(self, loop_id: str, urgency: Urgency) -> None:
        await poke(await self._connected(), self.access.queue, loop_id, urgency)

    async def _repair(self, loop_ids: tuple[str, ...]) -> None:
        await repair(await self._connected(), self.access.queue, loop_ids)

    async def _connected(self) -> Client:
        async with self._connecting:
            if self._client is None:
                self._client = await connect(self.access)
            return self._client

    def _asked(self, work: Coroutine[Any, Any, Result], within: float) -> Result:
        from temporalio.service import RPCError

        asked = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return asked.result(within + ANSWER_WITHIN)
        except (RPCError, TimeoutError) as problem:
            asked.cancel()
            raise unreachable(self.access, problem) from problem
