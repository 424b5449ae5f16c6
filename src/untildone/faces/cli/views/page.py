"""All facts about one loop, for a person: status, spend, gates, sessions, files."""

from __future__ import annotations

import time
from collections.abc import Iterator

from untildone.core import budget as budgets
from untildone.core.limits import duration, reported
from untildone.core.loop import Loop
from untildone.core.model import Spend
from untildone.faces.cli.views import loop_end, summaries
from untildone.faces.text import loop_lines
from untildone.faces.text.plain import one_line
from untildone.operations import presence
from untildone.operations.stores import Store

WIDTH = 11
LAST_WORDS = 600


def lines(store: Store, loop: Loop, *, driven: bool, now: float) -> Iterator[str]:
    """The page of a loop, line by line."""
    yield f"{loop.loop_id}: {one_line(loop.title)}"
    yield ""
    for name, value in _facts(store, loop, driven=driven, now=now):
        yield f"{name:<{WIDTH}} {value}"
    if loop.gates:
        yield ""
        yield from (line.text for result in loop.gates for line in loop_lines.of_gate(result))
    if loop.last_answer:
        yield ""
        yield f"The agent's last words: {one_line(loop.last_answer[-LAST_WORDS:], LAST_WORDS)}"
    if loop.outcome and (hint := loop_end.next_step(loop, loop.outcome, store)):
        yield ""
        yield f"hint: {hint}"


def _facts(store: Store, loop: Loop, *, driven: bool, now: float) -> Iterator[tuple[str, str]]:
    settings = loop.settings
    yield "status", summaries.status(presence.without_closed_session(store, loop), driven=driven)
    if loop.outcome:
        yield "outcome", f"{loop.outcome.word}: {loop.outcome.sentence} {one_line(loop.reason, 1000)}".rstrip()
    yield "mode", settings.mode
    yield (
        "agent",
        " ".join(word for word in (settings.worker.profile, settings.worker.model, loop.agent_version) if word),
    )
    yield "round", summaries.rounds(loop)
    for gauge in budgets.gauges(loop.budget, loop.spend):
        yield "budget", gauge.sentence()
    yield "spend", ", ".join(_spend(loop.spend))
    for profile, limit in loop.limits.items():
        if limit.until > now:
            yield "waiting", f"limit of {profile} until {loop_lines.clock(limit.until, now)}: {one_line(limit.message)}"
    files = "1 file" if loop.changes.files == 1 else f"{loop.changes.files} files"
    yield "last round changed", f"{files} (+{loop.changes.insertions} −{loop.changes.deletions})"
    if driven and loop.gate is not None:
        yield "gate", f"{one_line(loop.gate.command)} runs since {loop_lines.clock(loop.gate.started_at, now)}"
    for check in settings.checks:
        yield "check", one_line(check)
    for message in loop.inbox:
        yield "to say", one_line(message)
    for key, session in loop.sessions.items():
        yield "session", f"{key} {session.session_id}"
    if driven and loop.runner:
        yield "runner", f"process {loop.runner.pid} on {loop.runner.machine}"
    yield "created", f"{_time(loop.created_at)} ({summaries.age(loop.created_at, now)} ago)"
    yield "changed at", f"{_time(loop.updated_at)} ({summaries.age(loop.updated_at, now)} ago)"
    yield "workspace", settings.workspace
    if store.root is None:
        yield "store", store.name
    if (folder := store.progress(loop.loop_id)).is_dir():
        yield "files", str(folder)


def _spend(spend: Spend) -> Iterator[str]:
    yield f"{duration(spend.seconds)} at work"
    yield from (limit.row.show(amount) for limit, amount in reported(spend))


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
