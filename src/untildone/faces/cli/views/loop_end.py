"""The end of a run: outcome, reason and next step for people, the last line of JSON for programs."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, assert_never

from untildone.core import budget as budgets
from untildone.core import limits
from untildone.core.errors import StoreError
from untildone.core.limits import Limit, duration
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Outcome
from untildone.core.receipts import proof
from untildone.core.values.codec import timestamp
from untildone.faces.cli import parameters
from untildone.faces.text import gate_lines, loop_lines
from untildone.faces.text.line import Kind, Line
from untildone.faces.text.loop_lines import settings_changed
from untildone.faces.text.plain import one_line
from untildone.operations.creating import suggestions
from untildone.operations.stores import Store, is_nearest

LONGEST_REASON = 1000
MOST_FILES = 5
NOTHING = "nothing"
MOST_SIGNS = 8
"""How many signs of tampering the end of a run shows."""


def fields(loop: Loop, exit_code: int, at: float) -> dict[str, Any]:
    """The last line of JSON about a loop."""
    spend = loop.spend
    return {
        "event": "loop_end",
        "ts": timestamp(at),
        "loop_id": loop.loop_id,
        "status": loop.status.value,
        "outcome": loop.outcome.word if loop.outcome else None,
        "proof": proof.level(loop).value,
        "iterations": spend.iterations,
        "spend": {
            **{limit.row.field: amount for limit, amount in limits.reported(spend)},
            "seconds": round(spend.seconds, 3),
        },
        "exit_code": exit_code,
    }


def lines(loop: Loop, store: Store) -> tuple[Line, ...]:
    """The outcome of a loop, what it used, and hints."""
    outcome = loop.outcome
    if outcome is None:
        return (Line(f"Loop {loop.loop_id} is {loop.status.value}."),)
    reason, _, advice = loop.reason.partition(" hint: ")
    proved = proof.sentence(loop)
    parts = (loop.end_sentence, f"Proved {proved}." if proved else "", one_line(reason, LONGEST_REASON))
    sentence = f"{outcome.word}: {' '.join(filter(None, parts))}"
    hints = [hint for hint in (one_line(advice, LONGEST_REASON), next_step(loop, outcome, store)) if hint]
    return (
        Line(sentence, Kind.GOOD if outcome.exit_code == 0 else Kind.BAD),
        *(Line(f"warning: {sign}", Kind.WARNING) for sign in _signs(loop)),
        *_changed_settings(loop),
        *_approved(loop),
        *_facts(loop, store),
        *(Line(f"hint: {hint}") for hint in hints),
    )


def _facts(loop: Loop, store: Store) -> tuple[Line, ...]:
    """The summary: which gates, what changed, where it stands, what it cost."""
    gates = tuple(Line(f"gate      {_gate(result)}", Kind.QUIET) for result in loop.gates)
    facts = {"changed": _changed(loop, store), "stands": loop_lines.standing(loop), "used": _used(loop)}
    return (*gates, *(Line(f"{name:<9} {value}", Kind.QUIET) for name, value in facts.items() if value))


def _gate(result: GateResult) -> str:
    name = one_line(result.command or result.gate.replace("_", " "))
    if nothing := gate_lines.proves_nothing(result):
        return f"○ {name}: {nothing}"
    return f"✓ {name}" if result.passed else f"✗ {name}: {one_line(result.reason)}"


def _changed(loop: Loop, store: Store) -> str:
    """What the loop changed, by its receipt; without one, what its last round changed."""
    with suppress(StoreError, ValueError):
        files = json.loads(store.receipt(loop.loop_id) or "{}").get("files_changed")
        if files is not None:
            return _files([(each["path"], each["insertions"], each["deletions"]) for each in files])
    changes = loop.changes
    if not changes.files:
        return ""
    return f"in the last round {_counted(changes.files)} (+{changes.insertions:,} −{changes.deletions:,})"


def _files(files: list[tuple[str, int, int]]) -> str:
    if not files:
        return NOTHING
    names = ", ".join(one_line(path, 60) for path, _, _ in files[:MOST_FILES])
    more = f" and {len(files) - MOST_FILES:,} more" if len(files) > MOST_FILES else ""
    added, removed = sum(each[1] for each in files), sum(each[2] for each in files)
    return f"{_counted(len(files))} (+{added:,} −{removed:,}): {names}{more}"


def _counted(files: int) -> str:
    return "1 file" if files == 1 else f"{files:,} files"


def _changed_settings(loop: Loop) -> tuple[Line, ...]:
    paths = loop.settings_changed
    return (Line(f"warning: {settings_changed(paths)}", Kind.WARNING),) if paths else ()


def _approved(loop: Loop) -> tuple[Line, ...]:
    """The files whose changes a person accepted: the outcome was judged with them as the agent left them."""
    names = ", ".join(one_line(path, 200) for path in loop.approved[:MOST_SIGNS])
    return (Line(f"approved by a person: {names}", Kind.WARNING),) if names else ()


def _signs(loop: Loop) -> tuple[str, ...]:
    """The tampering report, shortened."""
    shown, more = loop.signs[:MOST_SIGNS], len(loop.signs) - MOST_SIGNS
    rest = (f"{more} more signs of tampering: `untildone show {loop.loop_id}`",) if more > 0 else ()
    return (*(one_line(sign, LONGEST_REASON) for sign in shown), *rest)


def _used(loop: Loop) -> str:
    spend = loop.spend
    rounds = Limit.ITERATIONS.row.show(spend.iterations)
    return ", ".join((rounds, f"{duration(spend.seconds)} at work", *limits.shown(spend)))


def next_step(loop: Loop, outcome: Outcome, store: Store) -> str:
    """The command that a person most likely wants next."""
    name = loop.loop_id + _where(store)
    match outcome:
        case Outcome.VERIFIED if _changed(loop, store) == NOTHING:
            return (
                "nothing was changed, so all this held before any work too: `--require-change` asks for a change"
                if loop.gates
                else ""
            )
        case Outcome.VERIFIED:
            return f"`untildone diff {name}` shows what changed"
        case Outcome.CLAIMED:
            return f'nothing verified it: next time name a check, such as --check "{_check_for(loop)}"'
        case Outcome.BUDGET:
            return _more_budget(loop, name)
        case Outcome.BLOCKED:
            return f'answer with `untildone say {name} "…"`, or `untildone resume {name}` when it can go on'
        case Outcome.STALLED:
            return f'say what to do differently: `untildone say {name} "…"`, and it goes on'
        case Outcome.PAUSED if _may_ask(loop.reason):
            return f'`untildone say {name} "…"` answers or advises, and it goes on; `untildone resume {name}` goes on without'
        case Outcome.PAUSED | Outcome.INTERRUPTED:
            return f"`untildone resume {name}` goes on"
        case Outcome.FAILED:
            return f"`untildone log {name}` shows what happened, `untildone retry {name}` goes on from where it was"
        case Outcome.STOPPED | Outcome.ABANDONED:
            return f"`untildone retry {name}` goes on from where it was"
        case _:
            assert_never(outcome)


def _may_ask(reason: str) -> bool:
    """Whether the reason of a rest may be a question of the agent, even without a question mark. A person's own pause has no reason, and
    most of untildone's own reasons have a hint."""
    return bool(reason) and " hint: " not in reason and "`untildone resume`" not in reason


def _check_for(loop: Loop) -> str:
    """The check that the project has; an example if none is found."""
    suggested = suggestions.checks(Path(loop.settings.workspace))
    return suggested[0].command if suggested else "pytest -q"


def _more_budget(loop: Loop, name: str) -> str:
    gauge = budgets.used_up(loop.own_budget, loop.spend, before_worker_turn=True)
    if gauge is None:
        return f"`untildone resume {name}` goes on"
    if gauge.limit is Limit.ITERATIONS:
        return f"`untildone resume {name} -r +5` goes on with five more rounds"
    row = gauge.limit.row
    return f"`untildone budget {name} {row.change_flags[0]} {row.hint}`, then `untildone resume {name}` goes on"


def _where(store: Store) -> str:
    """The option to add so that a command in this folder finds the loop."""
    if store.root is None:
        return parameters.store_again()
    try:
        return "" if is_nearest(store, Path.cwd()) else f" --dir {store.home}"
    except OSError:
        return f" --dir {store.home}"
