"""The operations on the loops of a folder, for programs: `untildone.run(…)`, `await untildone.create(…)` and so on.

Loops are those of a folder, as on the command line. A started loop is driven by a background process of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, Unpack

from untildone import settings
from untildone.core.answers import amounts
from untildone.core.errors import UntilDoneError, UsageError
from untildone.core.events import BudgetChanged, Entry
from untildone.core.loop import Loop, output_name
from untildone.core.model import Outcome, Role, Status, Subtask, Urgency
from untildone.operations import control, look, stores, verifying
from untildone.operations.control import Heard
from untildone.operations.creating import creation, duplicating
from untildone.operations.driving import background, presence
from untildone.operations.history import bisecting, cleaning, retrying
from untildone.operations.showing import branches, money, timeline
from untildone.operations.showing.branches import Branch
from untildone.operations.showing.money import Money
from untildone.operations.showing.timeline import Round
from untildone.operations.stores import Journal, Store
from untildone.operations.verifying import Verification
from untildone.settings.declared import Chosen
from untildone.settings.declared import Chosen as Settings

__all__ = [
    "Branch",
    "Entry",
    "Heard",
    "Loop",
    "Money",
    "Outcome",
    "Round",
    "Settings",
    "Status",
    "Subtask",
    "UntilDoneError",
    "Verification",
    "approve",
    "bisect",
    "branch",
    "budget",
    "clean",
    "create",
    "delete",
    "diff",
    "duplicate",
    "follow",
    "list",
    "output",
    "pause",
    "receipt",
    "resume",
    "retry",
    "rewind",
    "rounds",
    "run",
    "run_async",
    "say",
    "show",
    "spend",
    "start",
    "stop",
    "tasks",
    "verify",
    "wait",
]

LOOK_EVERY = 0.1
Folder = str | os.PathLike[str]
OnEvent = Callable[[Entry], object]
Amounts = Mapping[str, float | str]
"""Limits by name: `{"iterations": "+5", "cost": 10}`."""
RoleName = Literal["worker", "instructor", "supervisor", "author"]


def run(task: str, *, folder: Folder = ".", on_event: OnEvent | None = None, **chosen: Unpack[Chosen]) -> Loop:
    """Create a loop, start it, and wait until it rests: `run("Make the tests pass", checks=["pytest -q"]).outcome`.

    `on_event` is called with each entry of the journal. Ctrl-C, or an exception of `on_event`, pauses the loop at once."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run_async(task, folder=folder, on_event=on_event, **chosen))
    raise UsageError("untildone.run was called in a running event loop.", "use `await untildone.run_async(…)` there")


async def run_async(
    task: str, *, folder: Folder = ".", on_event: OnEvent | None = None, **chosen: Unpack[Chosen]
) -> Loop:
    """Create a loop, start it, and wait until it rests, as `run` does. If the wait is cancelled, the loop is paused at once."""
    loop = await create(task, folder=folder, **chosen)
    try:
        await start(loop, folder=folder)
        async with aclosing(follow(loop, folder=folder)) as entries:
            async for entry in entries:
                if on_event is not None:
                    on_event(entry)
        return await wait(loop, folder=folder)
    except BaseException:
        with suppress(UntilDoneError):
            await pause(loop, now=True, folder=folder)
        raise


async def create(task: str, *, folder: Folder = ".", **chosen: Unpack[Chosen]) -> Loop:
    """Create a loop, without starting it. `chosen` are settings: `mode="supervise"`, `checks=["pytest -q"]`, `max_iterations=10`, …"""

    def make() -> Loop:
        place = Path(folder).resolve()
        store = (
            stores.open_store(place, create=True) if stores.database_of(place, os.environ) is None else _store_of(place)
        )
        return creation.create(store, task, settings.load(place, dict(chosen)), place).loop

    return await asyncio.to_thread(make)


async def start(loop: Loop | str, *, folder: Folder = ".") -> Loop:
    """Drive a loop in the background. A running loop goes on as it is."""

    def begin() -> Loop:
        store, loop_id = _resolve(loop, folder)
        started = control.start(store, loop_id)
        _drive(store, loop_id)
        return started

    return await asyncio.to_thread(begin)


async def pause(loop: Loop | str, *, now: bool = False, folder: Folder = ".") -> Loop:
    """Pause a loop after its round, or now."""
    return await asyncio.to_thread(lambda: control.pause(*_resolve(loop, folder), _urgency(now=now)))


async def resume(
    loop: Loop | str, *, skip_wait: bool = False, budget: Amounts | None = None, folder: Folder = "."
) -> Loop:
    """Resume a loop in the background. `skip_wait`: do not wait for a usage limit or a retry.

    A loop whose budget is used up needs more with it: `budget={"iterations": "+5"}`."""

    def go_on() -> Loop:
        store, loop_id = _resolve(loop, folder)
        resumed = control.resume(store, loop_id, *_changes(budget), skip_wait=skip_wait)
        _drive(store, loop_id)
        return resumed

    return await asyncio.to_thread(go_on)


async def stop(loop: Loop | str, *, now: bool = False, folder: Folder = ".") -> Loop:
    """End a loop for good, after its round or now."""
    return await asyncio.to_thread(lambda: control.stop(*_resolve(loop, folder), _urgency(now=now)))


async def say(loop: Loop | str, text: str, *, folder: Folder = ".") -> Heard:
    """Send a message to a loop. A loop without rounds that gets some by `[r+5]` at the start goes on."""

    def speak() -> Heard:
        store, loop_id = _resolve(loop, folder)
        heard = control.say(store, loop_id, text)
        if heard.goes_on and not heard.has_driver:
            background.start_runner(store, loop_id)
        return heard

    return await asyncio.to_thread(speak)


async def retry(
    loop: Loop | str, *, from_round: int | None = None, budget: Amounts | None = None, folder: Folder = "."
) -> Loop:
    """Go on in the background with a loop that failed or was stopped; with `from_round`, as it was before that round (1: from its start).

    `budget`: changes of its limits, such as `{"iterations": "+5"}`."""

    def go_on() -> Loop:
        store, loop_id = _resolve(loop, folder)
        retried = retrying.retry(store, loop_id, *_changes(budget), from_round=from_round)
        if not presence.goes_on_by_itself(store, retried):
            _drive(store, loop_id)
        return retried

    return await asyncio.to_thread(go_on)


async def rewind(loop: Loop | str, to: int | None = None, *, undo: bool = False, folder: Folder = ".") -> Loop:
    """Take a loop back to where it was after round `to` (0: its start); or `undo` the last rewind. It rests there; `resume` goes on."""
    if (to is None) != undo:
        raise UsageError("It is not clear where to go back to.", "give `to` or `undo=True`")

    def go_back() -> Loop:
        store, loop_id = _resolve(loop, folder)
        taken = retrying.undo_rewind(store, loop_id) if to is None else retrying.rewind(store, loop_id, to)
        return taken.loop

    return await asyncio.to_thread(go_back)


async def duplicate(loop: Loop | str, *, task: str = "", folder: Folder = ".", **chosen: Unpack[Chosen]) -> Loop:
    """Create a loop with the task and settings of another one, without starting it. `chosen` are the settings that differ."""
    return await asyncio.to_thread(lambda: duplicating.duplicate(*_resolve(loop, folder), dict(chosen), task).loop)


async def bisect(
    loop: Loop | str, *checks: str, good: int | None = None, bad: int | None = None, folder: Folder = "."
) -> int:
    """The number of the round that broke the checks of a loop, or other ones. UsageError if none did.

    `good` and `bad`: rounds after which they hold and fail; the start and the last one, if not given."""
    return await asyncio.to_thread(
        lambda: bisecting.bisect(*_resolve(loop, folder), os.environ, checks, good, bad).broke
    )


async def delete(loop: Loop | str, *, folder: Folder = ".") -> None:
    """Delete the journal, output and receipt of an ended loop. Its changes in the workspace stay."""
    await asyncio.to_thread(lambda: control.delete(*_resolve(loop, folder)))


async def clean(older_than: str, *, dry_run: bool = False, folder: Folder = ".") -> tuple[str, ...]:
    """Delete the loops that ended longer ago than an age such as `30d`; return their ids. With `dry_run`, only name them."""

    def tidy() -> tuple[str, ...]:
        cleaned = cleaning.clean(_store_of(folder), cleaning.age(older_than), only_lists=dry_run)
        return tuple(each.loop.loop_id for each in cleaned if not each.problem)

    return await asyncio.to_thread(tidy)


async def approve(loop: Loop | str, *paths: str, folder: Folder = ".") -> Loop:
    """Accept the agent's changes of judge files or programs that a gate refused."""
    return await asyncio.to_thread(lambda: control.approve(*_resolve(loop, folder), *paths))


async def budget(loop: Loop | str, *, folder: Folder = ".", **limits: float | str) -> Loop:
    """Change limits, by the names of `core.limits.Limit`, such as `iterations` or `cost`: "+5" is more, 5 is in all, "none" no limit."""
    return await asyncio.to_thread(lambda: control.budget(*_resolve(loop, folder), *_changes(limits)))


async def show(loop: Loop | str = "last", *, folder: Folder = ".") -> Loop:
    """The loop as it is now."""

    def look() -> Loop:
        store, loop_id = _resolve(loop, folder)
        return store.load(loop_id)

    return await asyncio.to_thread(look)


async def list(*, folder: Folder = ".") -> tuple[Loop, ...]:
    """Every loop of the folder, oldest first."""
    return await asyncio.to_thread(lambda: tuple(look.load_all(_store_of(folder))))


async def follow(loop: Loop | str, *, folder: Folder = ".") -> AsyncGenerator[Entry, None]:
    """Every entry of the journal, then each new one, until the loop rests."""
    store, loop_id = await asyncio.to_thread(_resolve, loop, folder)
    journal = await asyncio.to_thread(store.open, loop_id)
    try:
        for entry in await asyncio.to_thread(lambda: tuple(journal.entries())):
            yield entry
        async for _ in _until_rest(store, journal):
            for entry in await asyncio.to_thread(journal.catch_up):
                yield entry
    finally:
        journal.close()


async def wait(loop: Loop | str, *, folder: Folder = ".") -> Loop:
    """Wait until the loop rests. Use `asyncio.timeout` to bound the wait."""
    store, loop_id = await asyncio.to_thread(_resolve, loop, folder)
    journal = await asyncio.to_thread(store.open, loop_id)
    try:
        async for _ in _until_rest(store, journal):
            await asyncio.to_thread(journal.catch_up)
        return journal.loop
    finally:
        journal.close()


async def verify(loop: Loop | str, *, folder: Folder = ".", room: str | None = None) -> tuple[Verification, ...]:
    """Check the receipt of an ended loop, run its checks again, and compare. NotOurs if the receipt was altered.

    `room` is where the checks run, if not where the loop had them run: `sealed`, `restored`, or `plain`, in place and outside of the
    sandbox."""
    kind = verifying.room_named(room)
    return await asyncio.to_thread(lambda: verifying.verify(*_resolve(loop, folder), os.environ, room=kind))


async def receipt(loop: Loop | str, *, folder: Folder = ".") -> dict[str, Any]:
    """The receipt of an ended loop. UsageError if it has none yet."""

    def read() -> dict[str, Any]:
        store, loop_id = _resolve(loop, folder)
        text = look.receipt(store, loop_id)
        if text is None:
            raise UsageError(f"Loop {loop_id} has no receipt yet.", "it gets one when it ends")
        try:
            fields: dict[str, Any] = json.loads(text)
        except ValueError:
            raise UsageError(f"The receipt of loop {loop_id} cannot be read.", "it was damaged or edited") from None
        return fields

    return await asyncio.to_thread(read)


async def rounds(loop: Loop | str, *, folder: Folder = ".") -> tuple[Round, ...]:
    """The rounds of a loop: what the agent answered and changed, and what the gates said. The last one may still run."""

    def read() -> tuple[Round, ...]:
        entries = tuple(look.follow(*_resolve(loop, folder), to_rest=False))
        return timeline.extended(timeline.Timeline(), entries).rounds

    return await asyncio.to_thread(read)


async def output(
    loop: Loop | str, number: int | None = None, *, role: RoleName = "worker", folder: Folder = "."
) -> str:
    """What the agent printed in a round, or in the last one. `role`: `worker`, `supervisor`, `instructor` or `author`."""

    def read() -> str:
        store, loop_id = _resolve(loop, folder)
        speaker, chosen = _role(role), number if number is not None else store.load(loop_id).spend.iterations
        spool = store.spool(loop_id, output_name(speaker, chosen))
        if (size := spool.size()) is None:
            raise UsageError(
                f"Loop {loop_id} has no output of the {role} in round {chosen}.", "`rounds` lists its rounds"
            )
        return spool.read(0, size).decode(errors="replace")

    return await asyncio.to_thread(read)


async def tasks(loop: Loop | str, *, folder: Folder = ".") -> tuple[Subtask, ...]:
    """The subtasks of a loop, in their order, for the modes that have them."""
    return (await show(loop, folder=folder)).tasks


async def branch(loop: Loop | str, *, folder: Folder = ".") -> Branch | None:
    """The branch that a loop in a worktree works on, with how far it is ahead and behind; None: it works in the folder itself."""

    def read() -> Branch | None:
        store, loop_id = _resolve(loop, folder)
        return branches.branch(store, store.load(loop_id))

    return await asyncio.to_thread(read)


async def spend(*, offset: int = 0, folder: Folder = ".") -> Money:
    """What the loops of the folder have spent: today, in the last seven days, by agent and by workspace.

    `offset`: minutes by which your days begin before those of UTC."""
    return await asyncio.to_thread(lambda: money.of_store(_store_of(folder), offset * 60))


async def diff(loop: Loop | str, *, folder: Folder = ".") -> str:
    """The diff of the loop in its workspace."""
    return await asyncio.to_thread(lambda: look.diff(*_resolve(loop, folder)))


def _store_of(folder: Folder) -> Store:
    address = stores.database_of(Path(folder), os.environ)
    return stores.open_store(Path(folder)) if address is None else _connected(Path(folder).resolve(), address)


@cache
def _connected(folder: Path, _address: str) -> Store:
    """The store of a folder, opened once: each has its own connections."""
    return stores.open_store(folder)


def _resolve(loop: Loop | str, folder: Folder) -> tuple[Store, str]:
    store = _store_of(folder)
    return store, loop.loop_id if isinstance(loop, Loop) else store.find(loop)


def _changes(limits: Amounts | None) -> tuple[BudgetChanged, ...]:
    return tuple(amounts.change(limit, amount) for limit, amount in (limits or {}).items())


def _role(word: str) -> Role:
    try:
        return Role(word)
    except ValueError:
        raise UsageError(f"There is no role `{word}`.", f"it is one of {', '.join(Role)}") from None


def _urgency(*, now: bool) -> Urgency:
    return Urgency.NOW if now else Urgency.AFTER_ITERATION


async def _until_rest(store: Store, journal: Journal) -> AsyncIterator[None]:
    """Yield whenever it is time to catch up with the journal, and once more after the loop has come to rest."""
    while not await asyncio.to_thread(_rested, store, journal):
        yield
        await asyncio.sleep(LOOK_EVERY)
    yield


def _rested(store: Store, journal: Journal) -> bool:
    loop = journal.loop
    return loop.status not in (Status.CREATED, Status.RUNNING) and not store.is_driven(loop.loop_id)


def _drive(store: Store, loop_id: str) -> None:
    if not store.is_driven(loop_id):
        background.start_runner(store, loop_id)
