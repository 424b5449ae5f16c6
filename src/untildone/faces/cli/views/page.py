"""All facts about one loop, for a person: status, spend, gates, sessions, files."""

from __future__ import annotations

import time
from collections.abc import Iterator

from untildone.core import budget as budgets
from untildone.core.limits import duration, shown
from untildone.core.loop import Loop
from untildone.core.model import Spend
from untildone.core.receipts import proof
from untildone.faces.cli.views import loop_end, summaries
from untildone.faces.text import gate_lines, loop_lines
from untildone.faces.text.line import clock
from untildone.faces.text.plain import one_line
from untildone.operations import output
from untildone.operations.driving import presence
from untildone.operations.stores import Store

WIDTH = 11
LAST_WORDS = 2_000


def lines(store: Store, loop: Loop, *, driven: bool, now: float) -> Iterator[str]:
    """The page of a loop, line by line."""
    yield f"{loop.loop_id}: {one_line(loop.title)}"
    yield ""
    for name, value in _facts(store, loop, driven=driven, now=now):
        yield f"{name:<{WIDTH}} {value}"
    if loop.gates:
        yield ""
        yield from (line.text for result in loop.gates for line in gate_lines.of_gate(result))
    if loop.tasks:
        yield ""
        yield from (loop_lines.of_subtask(task).text for task in loop.tasks)


def hint(store: Store, loop: Loop) -> str:
    """The command that a person most likely wants next; empty: none."""
    return loop_end.next_step(loop, loop.outcome, store) if loop.outcome else ""


def last_words(loop: Loop) -> str:
    """The end of what the agent said last, for people."""
    mode = output.mode(loop.settings.mode)
    text = mode.spoken(loop.last_answer) if mode.reports_in_json else loop.last_answer
    return text if len(text) <= LAST_WORDS else f"…{text[-LAST_WORDS:]}"


def _facts(store: Store, loop: Loop, *, driven: bool, now: float) -> Iterator[tuple[str, str]]:
    settings = loop.settings
    yield "status", summaries.status(presence.without_closed_session(store, loop), driven=driven)
    if loop.not_ours:
        yield "not ours", f"{loop.not_ours}. Nothing in it is trusted."
    if loop.outcome:
        yield "outcome", f"{loop.outcome.word}: {loop.end_sentence} {one_line(loop.reason, 1000)}".rstrip()
    yield from _mode(loop)
    yield (
        "agent",
        " ".join(word for word in (settings.worker.profile, settings.worker.model, loop.agent_version) if word),
    )
    yield "round", summaries.rounds(loop)
    for gauge in budgets.gauges(loop.budget, loop.spend):
        yield "budget", gauge.sentence()
    yield "spend", ", ".join(_spend(loop.spend))
    yield from _family(loop)
    for profile, limit in loop.limits.items():
        if limit.until > now:
            yield "waiting", f"limit of {profile} until {clock(limit.until, now)}: {one_line(limit.message)}"
    yield from _changed(loop)
    if driven and loop.gate is not None:
        yield "gate", f"{one_line(loop.gate.command)} runs since {clock(loop.gate.started_at, now)}"
    yield from _judging(loop)
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


def _family(loop: Loop) -> Iterator[tuple[str, str]]:
    """The loop above, and those below with their shares."""
    if loop.parent:
        yield "parent", loop.parent.loop_id
    for child in loop.children:
        rounds = "" if child.share.iterations is None else f" of its {child.share.iterations}"
        state = "has ended" if child.ended else "has not ended"
        yield "child", f"{child.loop_id} {state}, {child.spend.iterations}{rounds} rounds used"
    if loop.children:
        yield "spend in all", ", ".join(_spend(loop.total_spend))


def _mode(loop: Loop) -> Iterator[tuple[str, str]]:
    mode = output.mode(loop.settings.mode)
    yield "mode", ", ".join(filter(None, (loop.settings.mode, mode.variant(loop))))
    if stands := loop_lines.standing(loop):
        yield "stands", stands
    if not loop.status.ended and (pending := mode.pending(loop)):
        yield "next", one_line(pending)


def _changed(loop: Loop) -> Iterator[tuple[str, str]]:
    if loop.changes.files:
        files = "1 file" if loop.changes.files == 1 else f"{loop.changes.files} files"
        yield "last round changed", f"{files} (+{loop.changes.insertions} −{loop.changes.deletions})"


def _judging(loop: Loop) -> Iterator[tuple[str, str]]:
    """The checks, their proofs, and signs of tampering."""
    for check in loop.settings.checks:
        yield "check", one_line(check)
    if proved := proof.sentence(loop):
        yield "proof", f"{proof.level(loop).value}: {proved}"
    if loop.acceptance:
        yield "acceptance", one_line(loop.acceptance.sentence.removeprefix("acceptance "))
    for path in loop.approved:
        yield "approved", one_line(path)
    for each in loop.refused:
        yield "warning", one_line(each.sentence)
    for sign in loop.signs:
        yield "warning", one_line(sign)
    for held in loop.containments:
        yield "sandbox", held.sentence.removeprefix("sandbox: ")
    if loop.settings_changed:
        yield "warning", loop_lines.settings_changed(loop.settings_changed)


def _spend(spend: Spend) -> Iterator[str]:
    yield f"{duration(spend.seconds)} at work"
    yield from shown(spend)


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
