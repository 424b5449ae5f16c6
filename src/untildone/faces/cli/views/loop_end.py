"""The end of a run: outcome, reason and next step for people, the last line of JSON for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_never

from untildone.core import budget as budgets
from untildone.core import limits
from untildone.core.codec import timestamp
from untildone.core.limits import Limit, duration
from untildone.core.loop import Loop
from untildone.core.model import Outcome
from untildone.faces.cli import parameters
from untildone.faces.text.loop_lines import Kind, Line
from untildone.faces.text.plain import one_line
from untildone.operations.stores import Store, is_nearest

LONGEST_REASON = 1000


def fields(loop: Loop, exit_code: int, at: float) -> dict[str, Any]:
    """The last line of JSON about a loop."""
    spend = loop.spend
    return {
        "event": "loop_end",
        "ts": timestamp(at),
        "loop_id": loop.loop_id,
        "status": loop.status.value,
        "outcome": loop.outcome.word if loop.outcome else None,
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
    sentence = f"{outcome.word}: {outcome.sentence} {one_line(reason, LONGEST_REASON)}".rstrip()
    hints = [hint for hint in (one_line(advice, LONGEST_REASON), next_step(loop, outcome, store)) if hint]
    return (
        Line(sentence, Kind.GOOD if outcome.exit_code == 0 else Kind.BAD),
        Line(f"{_used(loop)}", Kind.QUIET),
        *(Line(f"hint: {hint}") for hint in hints),
    )


def _used(loop: Loop) -> str:
    spend = loop.spend
    rounds = Limit.ITERATIONS.row.show(spend.iterations)
    return ", ".join((rounds, f"{duration(spend.seconds)} at work", *limits.shown(spend)))


def next_step(loop: Loop, outcome: Outcome, store: Store) -> str:
    """The command that a person most likely wants next."""
    name = loop.loop_id + _where(store)
    match outcome:
        case Outcome.VERIFIED:
            return f"`untildone diff {name}` shows what changed"
        case Outcome.CLAIMED:
            return 'nothing verified it: next time name a check, such as --check "pytest -q"'
        case Outcome.BUDGET:
            return _more_budget(loop, name)
        case Outcome.STALLED:
            return f'say what to do differently: `untildone say {name} "…"`, then `untildone resume {name}`'
        case Outcome.PAUSED | Outcome.INTERRUPTED:
            return f"`untildone resume {name}` goes on"
        case Outcome.FAILED:
            return f"`untildone log {name}` shows what happened"
        case Outcome.STOPPED | Outcome.ABANDONED:
            return ""
        case _:
            assert_never(outcome)


def _more_budget(loop: Loop, name: str) -> str:
    gauge = budgets.used_up(loop.budget, loop.spend, before_worker_turn=True)
    if gauge is None or gauge.limit is Limit.ITERATIONS:
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
