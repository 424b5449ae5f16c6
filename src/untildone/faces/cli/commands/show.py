"""`untildone show`: one loop, for people and for programs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import click

from untildone.core import budget as budgets
from untildone.core.limits import duration, reported
from untildone.core.loop import Loop
from untildone.core.model import Spend
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.views import ending, summaries, telling
from untildone.faces.cli.views.plain import one_line
from untildone.operations import verbs
from untildone.store import Store, checkpoint
from untildone.store.files import FileStore

WIDTH = 11
LAST_WORDS = 600


@click.command()
@parameters.loop_or_last
@parameters.place
@parameters.as_json
def command(name: str, folder: str, as_json: bool) -> int:
    """One loop: where it stands, what it used, what its gates say. With --json, its checkpoint."""
    store = verbs.store_of(Path(folder))
    loop_id = store.find(name)
    loop, driven = store.load(loop_id), store.is_driven(loop_id)
    if as_json:
        streams.data().record({**checkpoint.as_fields(loop), "driven": driven})
    else:
        for line in page(store, loop, driven=driven, now=time.time()):
            streams.data().line(line)
    return 0


def page(store: Store, loop: Loop, *, driven: bool, now: float) -> Iterator[str]:
    yield f"{loop.loop_id}: {one_line(loop.title)}"
    yield ""
    for name, value in _facts(store, loop, driven=driven, now=now):
        yield f"{name:<{WIDTH}} {value}"
    if loop.gates:
        yield ""
        yield from (line.text for result in loop.gates for line in telling.of_gate(result))
    if loop.last_answer:
        yield ""
        yield f"The agent's last words: {one_line(loop.last_answer[-LAST_WORDS:], LAST_WORDS)}"
    if loop.outcome and (hint := ending.next_step(loop, loop.outcome, store)):
        yield ""
        yield f"hint: {hint}"


def _facts(store: Store, loop: Loop, *, driven: bool, now: float) -> Iterator[tuple[str, str]]:
    settings = loop.settings
    yield "status", summaries.status(verbs.seen(store, loop), driven=driven)
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
            yield "waiting", f"limit of {profile} until {telling.clock(limit.until, now)}: {one_line(limit.message)}"
    files = "1 file" if loop.changes.files == 1 else f"{loop.changes.files} files"
    yield "last round changed", f"{files} (+{loop.changes.insertions} −{loop.changes.deletions})"
    if driven and loop.gate is not None:
        yield "gate", f"{one_line(loop.gate.command)} runs since {telling.clock(loop.gate.started_at, now)}"
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
    if not isinstance(store, FileStore):
        yield "store", store.name
    if (folder := store.progress(loop.loop_id)).is_dir():
        yield "files", str(folder)


def _spend(spend: Spend) -> Iterator[str]:
    yield f"{duration(spend.seconds)} at work"
    yield from (limit.row.show(amount) for limit, amount in reported(spend))


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
