"""`Client`: the verbs for the loops of a server, for plain programs. It runs an `AsyncClient` in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Generator
from concurrent import futures
from contextlib import suppress
from typing import Any, Generic, Self, TypeVar, Unpack

from untildone.core.errors import UntilDoneError, UsageError
from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.core.model import Subtask
from untildone.faces.client.address import Address
from untildone.faces.client.aio import Amounts, AsyncClient, LoopName, OnEvent, RoleName, RoomName
from untildone.faces.client.values import Filters, LoopLine
from untildone.operations.control import Heard
from untildone.operations.showing.branches import Branch
from untildone.operations.showing.money import Money
from untildone.operations.showing.timeline import Round
from untildone.operations.verifying import Verification
from untildone.settings.declared import Chosen

T = TypeVar("T")
END_WITHIN = 15.0
"""Seconds that a verb gets to end after Ctrl-C: `run` pauses its loop then."""


class _Running(Generic[T]):
    """A verb that runs in the loop of another thread. The wait for it may be interrupted at any point."""

    def __init__(self, loop: asyncio.AbstractEventLoop, verb: Coroutine[Any, Any, T]) -> None:
        self._loop = loop
        self._verb = verb
        self._task: asyncio.Task[T] | None = None
        self._ended: futures.Future[T] = futures.Future()

    def result(self) -> T:
        self._loop.call_soon_threadsafe(self._begin)
        return self._ended.result()

    def cancel(self) -> None:
        """End the verb and wait for its end. The loop sees this after `result`, so the verb runs, or never will."""
        self._loop.call_soon_threadsafe(self._end)
        futures.wait([self._ended], END_WITHIN)

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._verb)
        self._task.add_done_callback(self._tell)

    def _tell(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self._ended.cancel()
        elif problem := task.exception():
            self._ended.set_exception(problem)
        else:
            self._ended.set_result(task.result())

    def _end(self) -> None:
        if self._task is None:
            self._verb.close()
            self._ended.cancel()
        else:
            self._task.cancel()


class Client:
    """The loops of a server: `untildone.connect(url, token)`. The verbs are those of `untildone`, the results too."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client = AsyncClient(address)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="untildone client", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<untildone.Client {self._address.url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _do(self, verb: Coroutine[Any, Any, T]) -> T:
        """The result of a verb. What ends the wait, such as Ctrl-C, ends the verb too."""
        if not self._thread.is_alive():
            verb.close()
            raise UsageError(f"The client of {self._address.url} is closed.", "connect again")
        running = _Running(self._loop, verb)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    def close(self) -> None:
        """Close the connections. Loops go on."""
        if self._thread.is_alive():
            self._do(self._client.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(END_WITHIN)

    def run(
        self, task: str, *, workspace: str | None = None, on_event: OnEvent | None = None, **chosen: Unpack[Chosen]
    ) -> Loop:
        """Create a loop, start it, and wait until it rests. `on_event` is called with each entry of the journal.

        If the wait ends early, by Ctrl-C too, the loop is paused at once."""
        loop = self.create(task, workspace=workspace, start=True, **chosen)
        try:
            for entry in self.follow(loop):
                if on_event is not None:
                    on_event(entry)
            return self.show(loop)
        except BaseException:
            with suppress(UntilDoneError):
                self.pause(loop, now=True)
            raise

    def follow(self, loop: LoopName) -> Generator[Entry, None, None]:
        """Every entry of the journal, then each new one, until the loop rests. A broken connection is opened again."""
        entries = self._client.follow(loop)

        async def following() -> Entry | None:
            return await anext(entries, None)

        try:
            while (entry := self._do(following())) is not None:
                yield entry
        finally:
            with suppress(UntilDoneError):
                self._do(entries.aclose())

    def create(self, task: str, *, workspace: str | None = None, start: bool = False, **chosen: Unpack[Chosen]) -> Loop:
        """Create a loop in a folder that the server serves. `start`: start it at once. `chosen` are settings."""
        return self._do(self._client.create(task, workspace=workspace, start=start, **chosen))

    def start(self, loop: LoopName) -> Loop:
        """Drive a loop on the server. A running loop goes on as it is."""
        return self._do(self._client.start(loop))

    def pause(self, loop: LoopName, *, now: bool = False) -> Loop:
        """Pause a loop after its round, or now."""
        return self._do(self._client.pause(loop, now=now))

    def resume(self, loop: LoopName, *, skip_wait: bool = False, budget: Amounts | None = None) -> Loop:
        """Resume a loop on the server. `skip_wait`: do not wait for a usage limit or a retry.

        A loop whose budget is used up needs more with it: `budget={"iterations": "+5"}`."""
        return self._do(self._client.resume(loop, skip_wait=skip_wait, budget=budget))

    def stop(self, loop: LoopName, *, now: bool = False) -> Loop:
        """End a loop for good, after its round or now."""
        return self._do(self._client.stop(loop, now=now))

    def say(self, loop: LoopName, text: str) -> Heard:
        """Send a message to a loop. A loop without rounds that gets some by `[r+5]` at the start goes on."""
        return self._do(self._client.say(loop, text))

    def budget(self, loop: LoopName, **limits: float | str) -> Loop:
        """Change limits, such as `iterations` or `cost`: "+5" is more, 5 is in all, "none" no limit."""
        return self._do(self._client.budget(loop, **limits))

    def retry(self, loop: LoopName, *, from_round: int | None = None, budget: Amounts | None = None) -> Loop:
        """Go on with a loop that failed or was stopped; with `from_round`, as it was before that round (1: from its start).

        `budget`: changes of its limits, such as `{"iterations": "+5"}`."""
        return self._do(self._client.retry(loop, from_round=from_round, budget=budget))

    def rewind(self, loop: LoopName, to: int | None = None, *, undo: bool = False) -> Loop:
        """Take a loop back to where it was after round `to` (0: its start); or `undo` the last rewind. It rests there; `resume` goes on."""
        return self._do(self._client.rewind(loop, to, undo=undo))

    def duplicate(self, loop: LoopName, *, task: str = "", **chosen: Unpack[Chosen]) -> Loop:
        """Create a loop with the task and settings of another one, without starting it. `chosen` are the settings that differ."""
        return self._do(self._client.duplicate(loop, task=task, **chosen))

    def approve(self, loop: LoopName, *paths: str) -> Loop:
        """Accept the agent's changes of judge files or programs that a gate refused."""
        return self._do(self._client.approve(loop, *paths))

    def verify(self, loop: LoopName, *, room: RoomName | None = None) -> tuple[Verification, ...]:
        """Check the receipt of an ended loop, run its checks again on the server, and compare. Takes as long as they do."""
        return self._do(self._client.verify(loop, room=room))

    def bisect(self, loop: LoopName, *checks: str, good: int | None = None, bad: int | None = None) -> int:
        """The number of the round that broke the checks of a loop, or other ones. UsageError if none did.

        `good` and `bad`: rounds after which they hold and fail; the start and the last one, if not given."""
        return self._do(self._client.bisect(loop, *checks, good=good, bad=bad))

    def delete(self, loop: LoopName) -> None:
        """Delete the journal, output and receipt of an ended loop. Its changes in the workspace stay."""
        return self._do(self._client.delete(loop))

    def clean(self, older_than: str, *, dry_run: bool = False, workspace: str | None = None) -> tuple[str, ...]:
        """Delete the server's loops that ended longer ago than an age such as `30d`; return their ids. `dry_run`: delete nothing."""
        return self._do(self._client.clean(older_than, dry_run=dry_run, workspace=workspace))

    def show(self, loop: LoopName) -> Loop:
        """The loop as it is now."""
        return self._do(self._client.show(loop))

    def list(self, *, limit: int | None = None, **filters: Unpack[Filters]) -> tuple[LoopLine, ...]:
        """The loops of the server, newest first, each in one line: all that fit, or the first `limit`.

        `filters` are the parameters of `GET /loops`: `status="running"`, `needs="any"`, `sort="-cost"`, …"""
        return self._do(self._client.list(limit=limit, **filters))

    def wait(self, loop: LoopName, *, timeout: float | None = None) -> Loop:
        """Wait until the loop rests. TimeoutError after `timeout` seconds."""
        return self._do(asyncio.wait_for(self._client.wait(loop), timeout))

    def rounds(self, loop: LoopName) -> tuple[Round, ...]:
        """The rounds of a loop: what the agent answered and changed, and what the gates said. The last one may still run."""
        return self._do(self._client.rounds(loop))

    def output(self, loop: LoopName, number: int | None = None, *, role: RoleName = "worker") -> str:
        """What the agent printed in a round, or in the last one. `role`: `worker`, `supervisor`, `instructor` or `author`."""
        return self._do(self._client.output(loop, number, role=role))

    def tasks(self, loop: LoopName) -> tuple[Subtask, ...]:
        """The subtasks of a loop, in their order, for the modes that have them."""
        return self._do(self._client.tasks(loop))

    def branch(self, loop: LoopName) -> Branch | None:
        """The branch that a loop in a worktree works on, with how far it is ahead and behind; None: it works in the folder itself."""
        return self._do(self._client.branch(loop))

    def spend(self, *, offset: int = 0) -> Money:
        """What the loops of the server have spent: today, in the last seven days, by agent and by workspace.

        `offset`: minutes by which your days begin before those of UTC."""
        return self._do(self._client.spend(offset=offset))

    def diff(self, loop: LoopName) -> str:
        """The diff of the loop in its workspace."""
        return self._do(self._client.diff(loop))

    def receipt(self, loop: LoopName) -> dict[str, Any]:
        """The receipt of an ended loop. UsageError if it has none yet."""
        return self._do(self._client.receipt(loop))
