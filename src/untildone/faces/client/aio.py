"""`AsyncClient`: the verbs for the loops of a server, for asynchronous programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any, Literal, Self, Unpack

from untildone.core.errors import UntilDoneError
from untildone.core.events import Entry, Rested
from untildone.core.loop import Loop
from untildone.core.model import Status, Subtask
from untildone.core.values.codec import to_json
from untildone.faces.client import answers
from untildone.faces.client.address import Address
from untildone.faces.client.answers import loop_id
from untildone.faces.client.values import Filters, LoopLine
from untildone.operations.control import Heard
from untildone.operations.showing import timeline
from untildone.operations.showing.branches import Branch
from untildone.operations.showing.money import Money
from untildone.operations.showing.timeline import Round
from untildone.operations.verifying import Verification
from untildone.settings.declared import Chosen

LoopName = Loop | LoopLine | str
"""A loop, as a value or by its whole id."""
OnEvent = Callable[[Entry], object]
RoleName = Literal["worker", "instructor", "supervisor", "author"]
RoomName = Literal["sealed", "restored", "plain"]
CHECKS_WITHIN = 3600.0
"""Seconds for verbs that run the checks of a loop."""
ON_A_PAGE = 200
PART = 1_000_000
LOOK_EVERY = 0.2
_RESTS = (Status.PAUSED, Status.COMPLETED, Status.FAILED)


Amounts = Mapping[str, float | str]
"""Limits by name: `{"iterations": "+5", "cost": 10}`."""


def _given(**fields: object) -> dict[str, object]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


class AsyncClient:
    """The loops of a server: `untildone.connect_async(url, token)`. The verbs are those of `untildone`, the results too."""

    def __init__(self, address: Address) -> None:
        # It needs httpx; the class can be looked at without.
        from untildone.faces.client.transport import Transport

        self._address = address
        self._transport = Transport(address)

    def __repr__(self) -> str:
        return f"<untildone.AsyncClient {self._address.url}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Loops go on."""
        await self._transport.close()

    async def run(
        self, task: str, *, workspace: str | None = None, on_event: OnEvent | None = None, **chosen: Unpack[Chosen]
    ) -> Loop:
        """Create a loop, start it, and wait until it rests. `on_event` is called with each entry of the journal.

        If the wait ends early, by Ctrl-C too, the loop is paused at once."""
        loop = await self.create(task, workspace=workspace, start=True, **chosen)
        try:
            async with aclosing(self.follow(loop)) as entries:
                async for entry in entries:
                    if on_event is not None:
                        on_event(entry)
            return await self.show(loop)
        except BaseException:
            with suppress(UntilDoneError):
                await self.pause(loop, now=True)
            raise

    async def create(
        self, task: str, *, workspace: str | None = None, start: bool = False, **chosen: Unpack[Chosen]
    ) -> Loop:
        """Create a loop in a folder that the server serves. `start`: start it at once. `chosen` are settings."""
        body: dict[str, Any] = {"task": task, "settings": to_json(chosen), "start": start}
        place = {} if workspace is None else {"workspace": workspace}
        return await self.show(answers.created(await self._transport.post("/loops", {**body, **place})))

    async def start(self, loop: LoopName) -> Loop:
        """Drive a loop on the server. A running loop goes on as it is."""
        return await self._control(loop, "start")

    async def pause(self, loop: LoopName, *, now: bool = False) -> Loop:
        """Pause a loop after its round, or now."""
        return await self._control(loop, "pause", now=now)

    async def resume(self, loop: LoopName, *, skip_wait: bool = False, budget: Amounts | None = None) -> Loop:
        """Resume a loop on the server. `skip_wait`: do not wait for a usage limit or a retry.

        A loop whose budget is used up needs more with it: `budget={"iterations": "+5"}`."""
        return await self._control(loop, "resume", now=skip_wait, **_given(budget=budget))

    async def stop(self, loop: LoopName, *, now: bool = False) -> Loop:
        """End a loop for good, after its round or now."""
        return await self._control(loop, "stop", now=now)

    async def say(self, loop: LoopName, text: str) -> Heard:
        """Send a message to a loop. A loop without rounds that gets some by `[r+5]` at the start goes on."""
        notices, goes_on = answers.heard(await self._transport.post(f"/loops/{loop_id(loop)}/messages", {"text": text}))
        return Heard(await self.show(loop), notices, goes_on, has_driver=True)

    async def budget(self, loop: LoopName, **limits: float | str) -> Loop:
        """Change limits, such as `iterations` or `cost`: "+5" is more, 5 is in all, "none" no limit."""
        return await self._control(loop, "budget", **limits)

    async def retry(self, loop: LoopName, *, from_round: int | None = None, budget: Amounts | None = None) -> Loop:
        """Go on with a loop that failed or was stopped; with `from_round`, as it was before that round (1: from its start).

        `budget`: changes of its limits, such as `{"iterations": "+5"}`."""
        return await self._control(loop, "retry", **_given(from_round=from_round, budget=budget))

    async def rewind(self, loop: LoopName, to: int | None = None, *, undo: bool = False) -> Loop:
        """Take a loop back to where it was after round `to` (0: its start); or `undo` the last rewind. It rests there; `resume` goes on."""
        return await self._control(loop, "rewind", undo=undo, **_given(to=to))

    async def duplicate(self, loop: LoopName, *, task: str = "", **chosen: Unpack[Chosen]) -> Loop:
        """Create a loop with the task and settings of another one, without starting it. `chosen` are the settings that differ."""
        body = {"settings": to_json(chosen), **({"task": task} if task else {})}
        return await self.show(answers.created(await self._transport.post(f"/loops/{loop_id(loop)}/duplicate", body)))

    async def approve(self, loop: LoopName, *paths: str) -> Loop:
        """Accept the agent's changes of judge files or programs that a gate refused."""
        return await self._control(loop, "approve", paths=paths)

    async def _control(self, loop: LoopName, verb: str, **body: object) -> Loop:
        await self._transport.post(f"/loops/{loop_id(loop)}/{verb}", to_json(body))
        return await self.show(loop)

    async def verify(self, loop: LoopName, *, room: RoomName | None = None) -> tuple[Verification, ...]:
        """Check the receipt of an ended loop, run its checks again on the server, and compare. Takes as long as they do."""
        return answers.verified(await self._checks(loop, "verify", {} if room is None else {"room": room}))

    async def bisect(self, loop: LoopName, *checks: str, good: int | None = None, bad: int | None = None) -> int:
        """The number of the round that broke the checks of a loop, or other ones. UsageError if none did.

        `good` and `bad`: rounds after which they hold and fail; the start and the last one, if not given."""
        body = _given(checks=list(checks) or None, good=good, bad=bad)
        return answers.broke(await self._checks(loop, "bisect", body))

    async def _checks(self, loop: LoopName, verb: str, body: Mapping[str, Any]) -> answers.Answer:
        return await self._transport.post(f"/loops/{loop_id(loop)}/{verb}", body, within=CHECKS_WITHIN)

    async def delete(self, loop: LoopName) -> None:
        """Delete the journal, output and receipt of an ended loop. Its changes in the workspace stay."""
        await self._transport.delete(f"/loops/{loop_id(loop)}")

    async def clean(self, older_than: str, *, dry_run: bool = False, workspace: str | None = None) -> tuple[str, ...]:
        """Delete the loops of the server that ended longer ago than an age such as `30d`; return their ids. `dry_run`: only name them."""
        body = _given(older_than=older_than, workspace=workspace, dry_run=dry_run or None)
        return answers.cleaned(await self._transport.post("/clean", body), dry_run=dry_run)

    async def show(self, loop: LoopName) -> Loop:
        """The loop as it is now."""
        return (await self._shown(loop))[0]

    async def _shown(self, loop: LoopName) -> tuple[Loop, bool]:
        return answers.shown(await self._transport.get(f"/loops/{loop_id(loop)}"))

    async def list(self, *, limit: int | None = None, **filters: Unpack[Filters]) -> tuple[LoopLine, ...]:
        """The loops of the server, newest first, each in one line: all that fit, or the first `limit`.

        `filters` are the parameters of `GET /loops`: `status="running"`, `needs="any"`, `sort="-cost"`, …"""
        loops: list[LoopLine] = []
        place: dict[str, str] = {}
        while limit is None or len(loops) < limit:
            size = ON_A_PAGE if limit is None else min(ON_A_PAGE, limit - len(loops))
            lines, cursor = answers.page(await self._transport.get("/loops", {**filters, **place, "limit": size}))
            loops += lines
            if cursor is None or not lines:
                break
            place = {"cursor": cursor}
        return tuple(loops)

    async def follow(self, loop: LoopName) -> AsyncGenerator[Entry, None]:
        """Every entry of the journal, then each new one, until the loop rests. A broken connection is opened again."""
        async with aclosing(self._entries(loop_id(loop), 0)) as entries:
            async for entry in entries:
                yield entry

    async def _entries(self, name: str, after: int) -> AsyncGenerator[Entry, None]:
        known, _ = await self._shown(name)
        async with aclosing(self._transport.entries(name, after)) as entries:
            async for entry in entries:
                yield entry
                if isinstance(entry.event, Rested) or (entry.seq >= known.seq and known.status in _RESTS):
                    known = await self._settled(name, entry.seq)
                    if known.seq <= entry.seq and known.status in _RESTS:
                        return

    async def _settled(self, name: str, seq: int) -> Loop:
        """The loop after its runner has left it, or when it has gone on after entry `seq`."""
        loop, is_driven = await self._shown(name)
        while is_driven and loop.status in _RESTS and loop.seq <= seq:
            await asyncio.sleep(LOOK_EVERY)
            loop, is_driven = await self._shown(name)
        return loop

    async def wait(self, loop: LoopName) -> Loop:
        """Wait until the loop rests. Use `asyncio.timeout` to bound the wait."""
        while True:
            known, is_driven = await self._shown(loop)
            if known.status in _RESTS and not is_driven:
                return known
            if known.status in _RESTS or not await self._follow_on(known):
                await asyncio.sleep(LOOK_EVERY)

    async def _follow_on(self, loop: Loop) -> bool:
        """Follow a loop from where it is until it rests; whether there was a new entry."""
        async with aclosing(self._entries(loop.loop_id, loop.seq)) as entries:
            return bool([entry.seq async for entry in entries])

    async def rounds(self, loop: LoopName) -> tuple[Round, ...]:
        """The rounds of a loop: what the agent answered and changed, and what the gates said. The last one may still run."""
        name = loop_id(loop)
        last = (await self.show(name)).seq
        entries: list[Entry] = []
        async with aclosing(self._transport.entries(name, 0)) as journal:
            async for entry in journal:
                entries.append(entry)
                if entry.seq >= last:
                    break
        return timeline.extended(timeline.Timeline(), tuple(entries)).rounds

    async def output(self, loop: LoopName, number: int | None = None, *, role: RoleName = "worker") -> str:
        """What the agent printed in a round, or in the last one. `role`: `worker`, `supervisor`, `instructor` or `author`."""
        chosen = number if number is not None else (await self.show(loop)).spend.iterations
        parts: list[bytes] = []
        while True:
            query = {"role": role, "offset": sum(map(len, parts)), "limit": PART}
            answer = await self._transport.get(f"/loops/{loop_id(loop)}/output/{int(chosen)}", query)
            parts.append(answer.content)
            if len(answer.content) < PART:
                return b"".join(parts).decode("utf-8", "replace")

    async def tasks(self, loop: LoopName) -> tuple[Subtask, ...]:
        """The subtasks of a loop, in their order, for the modes that have them."""
        return (await self.show(loop)).tasks

    async def branch(self, loop: LoopName) -> Branch | None:
        """The branch that a loop in a worktree works on, with how far it is ahead and behind; None: it works in the folder itself."""
        return answers.branch(await self._transport.get(f"/loops/{loop_id(loop)}/branch"))

    async def spend(self, *, offset: int = 0) -> Money:
        """What the loops of the server have spent: today, in the last seven days, by agent and by workspace.

        `offset`: minutes by which your days begin before those of UTC."""
        return answers.spend(await self._transport.get("/spend", {"offset": offset}))

    async def diff(self, loop: LoopName) -> str:
        """The diff of the loop in its workspace."""
        return (await self._transport.get(f"/loops/{loop_id(loop)}/diff")).text()

    async def receipt(self, loop: LoopName) -> dict[str, Any]:
        """The receipt of an ended loop. UsageError if it has none yet."""
        return (await self._transport.get(f"/loops/{loop_id(loop)}/receipt")).fields()
