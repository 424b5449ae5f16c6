"""The Temporal workflow of a loop: calls `advance` until it returns DONE, and waits between two calls if it returns WAIT.

The workflow holds only the id of the loop, and the journal holds its state. So a new release never breaks a running workflow, and a lost
workflow is simply started again.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, is_cancelled_exception

from untildone.core.model import Urgency
from untildone.hosts.cluster.connecting import ADVANCE, POKE, WORKFLOW
from untildone.hosts.cluster.options import HEARTBEAT_TIMEOUT

LONGEST_ADVANCE = timedelta(days=365)
AGAIN = RetryPolicy(initial_interval=timedelta(milliseconds=100), maximum_interval=timedelta(seconds=30))


class Then(StrEnum):
    """What the workflow does after an advance."""

    AGAIN = "again"
    WAIT = "wait"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Step:
    """The result of an advance. `until` is the time to wait for, in epoch seconds."""

    then: Then
    until: float = 0.0


@workflow.defn(name=WORKFLOW)
class LoopWorkflow:
    """Drives one loop, by its id."""

    heartbeat_timeout = HEARTBEAT_TIMEOUT
    """Seconds. Each machine sets its own value before it starts."""

    def __init__(self) -> None:
        self._poked = False
        self._advancing: workflow.ActivityHandle[Step] | None = None

    @workflow.run
    async def run(self, loop_id: str) -> None:
        while not workflow.info().is_continue_as_new_suggested():
            self._poked = False
            step = await self._advance(loop_id)
            if step.then is Then.DONE and not self._poked:
                return
            if step.then is Then.WAIT:
                await self._wait(step.until)
        workflow.continue_as_new(loop_id)

    @workflow.signal(name=POKE)
    def poke(self, urgency: Urgency) -> None:
        """The journal has a new entry, so the loop is advanced again. With NOW, the running turn ends."""
        self._poked = True
        if urgency is Urgency.NOW and self._advancing is not None:
            self._advancing.cancel()

    async def _advance(self, loop_id: str) -> Step:
        self._advancing = workflow.start_activity(
            ADVANCE,
            loop_id,
            result_type=Step,
            start_to_close_timeout=LONGEST_ADVANCE,
            heartbeat_timeout=timedelta(seconds=self.heartbeat_timeout),
            retry_policy=AGAIN,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        try:
            return await self._advancing
        except ActivityError as problem:
            if not is_cancelled_exception(problem):
                raise
            return Step(Then.AGAIN)
        finally:
            self._advancing = None

    async def _wait(self, until: float) -> None:
        """Wait until a time, or until the next poke."""
        left = max(0.0, until - workflow.time())
        with suppress(TimeoutError):
            await workflow.wait_condition(lambda: self._poked, timeout=left)
