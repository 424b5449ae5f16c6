"""The activity `advance`: runs an attempt in a thread, and sends a heartbeat to Temporal every second."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from untildone.core.errors import UntilDoneError
from untildone.core.model import Urgency
from untildone.core.values.codec import timestamp
from untildone.engine.surroundings import Surroundings
from untildone.hosts.cluster.attempts import Attempt
from untildone.hosts.cluster.connecting import ADVANCE
from untildone.hosts.cluster.workflow import Step
from untildone.store import Store

BEAT_EVERY = 1.0
ASK_EVERY = 15.0
"""Seconds between two checks whether another loop waits for a slot."""
END_WITHIN = 60.0
"""Seconds that an older attempt of the same loop in this process has to end."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Means:
    """What attempts need: the store, the surroundings of a runner, and the work folder of this machine."""

    store: Store
    surroundings: Callable[[], Surroundings]
    folder: Path
    slots: int
    share: float
    """Seconds after which a loop leaves its slot to a waiting loop, between two turns."""


class Advancing:
    """The attempts that run on this machine."""

    def __init__(
        self, means: Means, others_wait: Callable[[], Awaitable[bool]], wake: Callable[[str], Awaitable[None]]
    ) -> None:
        """`others_wait` says whether a loop waits for a slot; `wake` makes a machine look at a loop."""
        self._means = means
        self._others_wait = others_wait
        self._wake = wake
        self._threads = ThreadPoolExecutor(2 * means.slots, "advance")
        """Twice as many as slots: an attempt that Temporal gave up may still be ending when the next one begins."""
        self._under_way: dict[str, Attempt] = {}

    def hand_over(self, urgency: Urgency) -> None:
        """Hand all running loops over to other machines."""
        for attempt in list(self._under_way.values()):
            attempt.hand_over(urgency)

    @activity.defn(name=ADVANCE)
    async def advance(self, loop_id: str) -> Step:
        token = timestamp(activity.info().current_attempt_scheduled_time.timestamp())
        means = self._means
        attempt = Attempt(means.store, means.surroundings(), means.folder, loop_id, token)
        older, self._under_way[loop_id] = self._under_way.get(loop_id), attempt
        beside = [asyncio.create_task(_beat()), asyncio.create_task(self._share_out(attempt))]
        _log.info("Loop %s: started, attempt %d", loop_id, activity.info().attempt)
        try:
            step = await self._carry_out(attempt, older)
            _log.info("Loop %s: %s", loop_id, attempt.left_as)
            await self._wake_next(attempt)
            return step
        except UntilDoneError as problem:
            _log.warning("Loop %s: %s", loop_id, problem.sentence)
            raise ApplicationError(problem.sentence, type=type(problem).__name__) from problem
        except Exception:
            _log.exception("Loop %s cannot be advanced", loop_id)
            raise
        finally:
            for task in beside:
                task.cancel()
            if self._under_way.get(loop_id) is attempt:
                del self._under_way[loop_id]

    async def _carry_out(self, attempt: Attempt, older: Attempt | None) -> Step:
        """Run an attempt in a thread, and always wait for its end, because no agent may be left behind."""
        running = asyncio.get_running_loop().run_in_executor(self._threads, _go, attempt, older)
        while True:
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                if running.cancelled():
                    raise
                attempt.hand_over(Urgency.NOW)

    async def _wake_next(self, attempt: Attempt) -> None:
        """Give the place in its group that a loop has left to the next one. If that fails, the next one asks by itself later."""
        try:
            for loop_id in await asyncio.to_thread(attempt.waiting_for_place):
                await self._wake(loop_id)
        except (UntilDoneError, RPCError) as problem:
            _log.warning("Loop %s: the next loop of its group could not be woken: %s", attempt.loop_id, problem)

    async def _share_out(self, attempt: Attempt) -> None:
        await asyncio.sleep(self._means.share)
        others_wait = await self._others_wait()
        while not others_wait:
            await asyncio.sleep(min(ASK_EVERY, self._means.share))
            others_wait = await self._others_wait()
        attempt.hand_over(Urgency.AFTER_ITERATION)


def _go(attempt: Attempt, older: Attempt | None) -> Step:
    """Run the attempt after an older one of the same loop has ended, because they share its folder."""
    if older is not None:
        older.hand_over(Urgency.NOW)
        older.over.wait(END_WITHIN)
    return attempt.go()


async def _beat() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(BEAT_EVERY)
