"""The tools: each is one operation on loops.

A client may be an agent. So `start` can add checks to those of the project and cannot leave any out, and it takes no setting that
makes the judgement weaker or the box wider. Inside a loop, the operations refuse every tool that steers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Annotated, ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from pydantic import Field

from untildone.core.answers import amounts
from untildone.core.errors import UntilDoneError
from untildone.core.loop import Loop, output_name
from untildone.core.model import Role, Urgency
from untildone.faces.mcp import answers
from untildone.faces.mcp.answers import Checked, LoopAnswer, Started
from untildone.faces.mcp.loops import Loops
from untildone.operations import control, look, output, verifying
from untildone.operations.stores import Store
from untildone.operations.verifying import Verification
from untildone.settings import names

LONGEST_WAIT = 600.0
LOOK_EVERY = 0.2
MOST_WAITS = 100
"""How many calls of `wait` a server holds at the same time; a further one answers at once."""
LONGEST_TEXT = 200_000
"""Characters of a diff, or bytes of output, that are returned."""
LONGEST_OUTPUT = 2_000
NEWEST = 50
"""Loops that `list` returns unless it is asked for more."""

P = ParamSpec("P")
R = TypeVar("R")
Guard = Callable[[str], None]
"""Is called with the name of a tool before it runs. An UntilDoneError refuses it."""
LoopName = Annotated[str, Field(description="The id of a loop, a part of it that no other has, or `last`")]
Amount = Annotated[str, Field(description='"5" sets the limit, "+5" raises it, "none" removes it')]


def allow(_tool: str) -> None:
    """The guard that refuses nothing."""


def with_sentences(tool: Callable[P, Awaitable[R]], guard: Guard = allow) -> Callable[P, Awaitable[R]]:
    """The tool behind a guard, with errors as the sentences that the command line prints."""

    @wraps(tool)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            guard(tool.__name__)
            return await tool(*args, **kwargs)
        except UntilDoneError as error:
            raise ToolError(f"{error.sentence} hint: {error.hint}" if error.hint else error.sentence) from None

    return call


class Tools:
    """The tools for some loops."""

    def __init__(self, loops: Loops) -> None:
        self._loops = loops
        self._waits = 0

    async def start(
        self,
        task: Annotated[
            str, Field(description="What is to be done, complete: the agent of the loop knows nothing else")
        ],
        checks: Annotated[
            Sequence[str],
            Field(description="Shell commands that must exit with 0, in addition to those of the project"),
        ] = (),
        agent: Annotated[str | None, Field(description="Which agent works; unset: the project's choice")] = None,
        mode: Annotated[str | None, Field(description=names.put_in("One of: {modes}"))] = None,
        rounds: Annotated[int | None, Field(ge=1, description="At most this many rounds")] = None,
        minutes: Annotated[float | None, Field(gt=0, description="At most this many minutes of work")] = None,
        cost: Annotated[float | None, Field(gt=0, description="At most this many dollars")] = None,
        worktree: Annotated[bool, Field(description="True: work in a new git worktree, not in the folder")] = False,
        folder: Annotated[
            str | None, Field(description="The project, if a server has several; unset: the first of them")
        ] = None,
    ) -> Started:
        """Hand a job over: start a loop that keeps an agent at work until the checks pass. Returns at once; the loop goes on by itself."""
        for name, known in ((agent, output.agent_names()), (mode, ())):
            if name is not None and ":" in name and name not in known:
                sentence = f"{name!r} would import a module or run a program of your choice."
                raise ToolError(f"{sentence} hint: give the name of an agent or a mode")
        limits = {"max_iterations": rounds, "max_minutes": minutes, "max_cost": cost}
        chosen = {"agent": agent, "mode": mode, "worktree": worktree or None, **limits}
        given = {name: value for name, value in chosen.items() if value is not None}
        created = await asyncio.to_thread(self._loops.start, task, given, checks, folder)
        return Started(**answers.of(created.loop).model_dump(), notices=list(created.notices))

    async def list_loops(
        self, newest: Annotated[int, Field(ge=1, le=1000, description="At most this many loops")] = NEWEST
    ) -> list[LoopAnswer]:
        """The loops that are kept, newest first."""
        return [answers.of(loop) for loop in await asyncio.to_thread(self._loops.newest, newest)]

    async def show(self, loop: LoopName) -> LoopAnswer:
        """Where a loop stands."""
        return answers.of(await self._with(loop, _loaded))

    async def wait(
        self,
        loop: LoopName,
        seconds: Annotated[float, Field(gt=0, le=LONGEST_WAIT, description="Seconds to wait at most")] = 45.0,
    ) -> LoopAnswer:
        """Wait until a loop rests (paused, completed or failed), or until the time is over: call it again then."""
        store, loop_id = await asyncio.to_thread(self._loops.find, loop)
        if self._waits < MOST_WAITS:
            self._waits += 1
            try:
                async with asyncio.timeout(seconds):
                    await _rest(store, loop_id)
            except TimeoutError:
                pass  # the answer says where the loop stands
            finally:
                self._waits -= 1
        return answers.of(await asyncio.to_thread(store.load, loop_id))

    async def say(
        self,
        loop: LoopName,
        text: Annotated[str, Field(description="The message. [r+5] at its very start adds five rounds")],
    ) -> LoopAnswer:
        """Send a message to a loop: it becomes part of the next prompt. A loop that is blocked, stalled or asks goes on with it."""
        if not text.strip():
            raise ToolError('There is no message. hint: say something, such as "mind the tests"')
        return answers.of((await asyncio.to_thread(self._loops.say, loop, text)).loop)

    async def budget(
        self,
        loop: LoopName,
        rounds: Amount | None = None,
        minutes: Amount | None = None,
        cost: Amount | None = None,
        tokens: Amount | None = None,
    ) -> LoopAnswer:
        """Change the limits of a loop, while it runs or rests."""
        limits = {"iterations": rounds, "minutes": minutes, "cost": cost, "tokens": tokens}
        given = {name: amount for name, amount in limits.items() if amount is not None}
        if not given:
            raise ToolError('No limit was given. hint: name one, such as rounds="+5"')
        changes = [amounts.change(limit, amount) for limit, amount in given.items()]
        return answers.of(await self._with(loop, lambda store, loop_id: control.budget(store, loop_id, *changes)))

    async def verify(self, loop: LoopName) -> list[Checked]:
        """Check the receipt of an ended loop and run its checks again, now."""
        results = await self._with(
            loop, lambda store, loop_id: verifying.verify(store, loop_id, self._loops.environment)
        )
        return [_checked(each) for each in results]

    async def diff(self, loop: LoopName) -> str:
        """What a loop changed, as a patch."""
        patch = await self._with(loop, look.diff)
        return patch if len(patch) <= LONGEST_TEXT else f"{patch[:LONGEST_TEXT]}\n[{len(patch):,} characters in all]"

    async def approve(
        self, loop: LoopName, paths: Annotated[list[str], Field(description="The refused files, one by one")]
    ) -> LoopAnswer:
        """Accept changes of tests, settings of runners or programs that a gate refused. Ask your person before."""
        return answers.of(await self._with(loop, lambda store, loop_id: control.approve(store, loop_id, *paths)))

    async def stop(
        self, loop: LoopName, now: Annotated[bool, Field(description="True: end its round as well")] = False
    ) -> LoopAnswer:
        """End a loop, after its round or now."""
        urgency = Urgency.NOW if now else Urgency.AFTER_ITERATION
        return answers.of(await self._with(loop, lambda store, loop_id: control.stop(store, loop_id, urgency)))

    async def receipt(self, loop_id: str) -> str:
        """The signed receipt of an ended loop."""
        text = await _read(self._receipt, loop_id)
        if text is None:
            raise ResourceNotFoundError(f"Loop {loop_id} has not ended, so it has no receipt.")
        return text

    async def output(self, loop_id: str, iteration: int) -> str:
        """The end of what the worker printed in a round, as it printed it."""
        text = await _read(self._output, loop_id, iteration)
        if text is None:
            raise ResourceNotFoundError(f"Loop {loop_id} has no output of round {iteration}.")
        return text

    def _output(self, loop_id: str, iteration: int) -> str | None:
        store, full_id = self._loops.find(loop_id)
        printed = store.spool(full_id, output_name(Role.WORKER, iteration))
        size = printed.size()
        start = max(0, (size or 0) - LONGEST_TEXT)
        return None if size is None else printed.read(start, LONGEST_TEXT).decode(errors="replace")

    def _receipt(self, loop_id: str) -> str | None:
        return look.receipt(*self._loops.find(loop_id))

    async def _with(self, name: str, work: Callable[[Store, str], R]) -> R:
        """The result of `work` on the loop of that name."""
        return await asyncio.to_thread(lambda: work(*self._loops.find(name)))


def _loaded(store: Store, loop_id: str) -> Loop:
    return store.load(loop_id)


async def _rest(store: Store, loop_id: str) -> None:
    """Wait until the loop rests."""
    while not await asyncio.to_thread(lambda: look.rests(store, store.load(loop_id))):  # noqa: ASYNC110, other processes write it
        await asyncio.sleep(LOOK_EVERY)


async def _read(read: Callable[..., str | None], *which: object) -> str | None:
    try:
        return await asyncio.to_thread(read, *which)
    except UntilDoneError as error:
        raise ResourceNotFoundError(error.sentence) from None


def _checked(verification: Verification) -> Checked:
    now = verification.now
    return Checked(
        gate=now.gate,
        command=now.command,
        passed_then=bool(verification.before["passed"]),
        passed_now=now.passed,
        reason=now.reason,
        output="" if now.passed else now.tail[-LONGEST_OUTPUT:],
        differs=None if verification.differs is None else list(verification.differs),
    )
