"""A loop in one line, for the list and for the output of controls."""

from __future__ import annotations

import time
from typing import Any

from untildone.core.answers.rounds import progress
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.core.receipts import proof
from untildone.core.values.codec import timestamp
from untildone.faces.cli.streams import data
from untildone.faces.text.line import clock
from untildone.operations.reach import Reached

NO_RUNNER = "running (no runner: resume goes on)"
AT_THE_SERVER = "running (waits for the server)"
IN_CLUSTER = "running (waits for a machine)"
IN_SESSION = "running (in a session of the agent)"
NOT_OURS = "not ours"


def status(loop: Loop, *, driven: bool, now: float | None = None) -> str:
    """The status of a loop, and what drives it or what it waits for."""
    if loop.not_ours:
        return f"{NOT_OURS} ({loop.status.value})"
    if loop.works_in_session:
        return IN_SESSION
    at = time.time() if now is None else now
    if driven and (until := waits_until(loop, at)) is not None:
        return f"running (waits for a limit until {clock(until, at)})"
    if loop.status is Status.RUNNING and driven and loop.host is Host.CLUSTER and loop.runner:
        return f"running on {loop.runner.machine}"
    if loop.status is not Status.RUNNING or driven:
        return loop.status.value
    return {Host.SERVER: AT_THE_SERVER, Host.CLUSTER: IN_CLUSTER}.get(loop.host, NO_RUNNER)


def waits_until(loop: Loop, now: float) -> float | None:
    """When the first usage limit lifts that a running loop waits for; None: it waits for none."""
    if loop.status is not Status.RUNNING or loop.turn is not None or loop.tries_limits:
        return None
    return min((limit.until for limit in loop.limits.values() if limit.until > now), default=None)


def fields(loop: Loop, *, driven: bool) -> dict[str, Any]:
    """A loop as one JSON object."""
    return {
        "loop_id": loop.loop_id,
        "status": loop.status.value,
        "driven": driven,
        "waits_until": None if (until := waits_until(loop, time.time())) is None else timestamp(until),
        "host": loop.host,
        "machine": loop.runner.machine if loop.runner else "",
        "outcome": loop.outcome.word if loop.outcome else None,
        "reason": loop.reason,
        "proof": proof.level(loop).value,
        "mode": loop.settings.mode,
        "current_iteration": loop.spend.iterations,
        "max_iterations": loop.budget.iterations,
        "created_at": timestamp(loop.created_at),
        "updated_at": timestamp(loop.updated_at),
        "title": loop.title,
        "parent": loop.parent.loop_id if loop.parent else None,
        "not_ours": loop.not_ours,
    }


def of_unread(reached: Reached) -> dict[str, Any]:
    """A loop whose journal cannot be read, as one JSON object: what the registry of running loops knows."""
    entry = reached.entry
    if entry is None:
        return {"loop_id": reached.loop_id, "status": "damaged", "problem": "its files do not answer"}
    gone = f"its files in {entry.root or entry.database} do not answer"
    return {
        "loop_id": reached.loop_id,
        "status": "running" if entry.is_alive else "damaged",
        "driven": entry.is_alive,
        "host": entry.host,
        "machine": entry.machine,
        "pid": entry.pid,
        "workspace": entry.workspace,
        "title": entry.title,
        "problem": gone if entry.is_alive else f"{gone}: they were moved or deleted while it ran",
    }


def answer(loop: Loop, *, driven: bool, as_json: bool) -> None:
    """Write the loop to standard output, as the result of a control."""
    if as_json:
        data().record(fields(loop, driven=driven))
    else:
        data().line(f"{loop.loop_id} {loop.outcome.word if loop.outcome else loop.status.value}")


def rounds(loop: Loop) -> str:
    """The rounds used and their limit: 3/20."""
    return progress(loop.spend.iterations, loop.budget.iterations)


def age(at: float, now: float | None = None) -> str:
    """The time since `at`: 20 s, 3m, 5h, 12d."""
    seconds = max(0.0, (time.time() if now is None else now) - at)
    if seconds < 60:
        return f"{int(seconds)} s"
    if seconds < 3600:
        return f"{int(seconds // 60)}m"
    return f"{int(seconds // 3600)}h" if seconds < 2 * 86400 else f"{int(seconds // 86400)}d"
