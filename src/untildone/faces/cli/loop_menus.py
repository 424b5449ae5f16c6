"""Menus about a whole loop: which one to resume, and what to do when a limit is reached."""

from __future__ import annotations

import time

import click

from untildone.core import budget as budgets
from untildone.core.errors import UntilDoneError
from untildone.core.events import BudgetChanged
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status
from untildone.core.plugins.mode import LimitChoice
from untildone.faces.cli import streams
from untildone.faces.cli.driver import Driver
from untildone.faces.cli.views import menus, page, summaries
from untildone.faces.text.plain import one_line
from untildone.operations import control, output
from untildone.operations.creating import creation
from untildone.operations.stores import Store

NONE_OF_THESE = "none of these"
CONTINUE, START_OVER, SHOW, GIVE_UP = "continue", "start over", "show progress", "give up"
MOST_OFFERED = 20


def unfinished(store: Store) -> list[Loop]:
    """The loops that can go on and that no runner drives, newest first."""
    loops = [_readable(store, loop_id) for loop_id in reversed(store.live_ids()) if not store.is_driven(loop_id)]
    return [loop for loop in loops if loop is not None and not loop.status.ended]


def _readable(store: Store, loop_id: str) -> Loop | None:
    try:
        return store.load(loop_id)
    except UntilDoneError:
        return None


def loop_to_resume(store: Store) -> str | None:
    """The id of the loop that the person chooses to resume; None if they choose none. Without a valid choice the command is aborted."""
    loops = unfinished(store)
    if not loops:
        return store.find("last")
    picked = loops[0] if len(loops) == 1 else _picked(loops)
    return None if picked is None else _act_on(store, picked)


def _picked(loops: list[Loop]) -> Loop | None:
    """The loop that the person chooses, from as many pages as there are; None if they choose none of them."""
    for first in range(0, len(loops), MOST_OFFERED):
        page_of = loops[first : first + MOST_OFFERED]
        named = {f"{loop.loop_id}  {summaries.rounds(loop)}  {one_line(loop.title, 60)}": loop for loop in page_of}
        left = len(loops) - first - len(page_of)
        older = (f"older ones ({left:,} more)",) if left else ()
        answer = menus.pick(f"Unfinished loops ({len(loops):,})", (), (*named, *older, NONE_OF_THESE))
        if answer is None:
            raise click.Abort
        if answer not in older:
            return named.get(answer)
    return None


def _act_on(store: Store, loop: Loop) -> str | None:
    title, choices = f"Found an unfinished loop: {loop.loop_id}", (CONTINUE, START_OVER, SHOW, GIVE_UP)
    while (answer := menus.pick(title, menus.facts_of_unfinished(loop), choices)) == SHOW:
        for line in page.lines(store, loop, driven=False, now=time.time()):
            streams.talk().prose(line)
    if answer is None:
        raise click.Abort
    if answer == START_OVER:
        return _started_over(store, loop)
    if answer == GIVE_UP:
        summaries.answer(control.stop(store, loop.loop_id, outcome=Outcome.ABANDONED), driven=False, as_json=False)
    return loop.loop_id if answer == CONTINUE else None


def _started_over(store: Store, loop: Loop) -> str:
    """Abandon the loop, and create a new one with the same task, settings and budget. Returns the new id."""
    control.stop(store, loop.loop_id, outcome=Outcome.ABANDONED)
    return creation.start_over(store, loop).loop_id


def drive_on(drives: Driver, store: Store, loop: Loop, *, patience: float = 0.0) -> int:
    """Drive the loop. If its mode asks a person at the end of the budget, ask, and go on as they choose."""
    exit_code = drives.drive(loop, patience=patience)
    while drives.has_person and exit_code == Outcome.BUDGET.exit_code:
        if not _wants_more(store, store.load(loop.loop_id)):
            left = store.load(loop.loop_id).outcome
            return left.exit_code if left else exit_code
        exit_code = drives.drive(loop)
    return exit_code


def asks_at_limit(drives: Driver, loop: Loop) -> bool:
    """Whether a person at this terminal is asked for more when the budget of the loop is used up."""
    mode = output.mode(loop.settings.mode)
    return drives.has_person and bool(mode.choices_at_limit or (loop.settings.interactive and mode.stays_open))


def _wants_more(store: Store, loop: Loop) -> bool:
    choices = output.mode(loop.settings.mode).choices_at_limit
    if not choices or loop.status is not Status.PAUSED:
        return False
    used_up = [gauge for gauge in budgets.gauges(loop.own_budget, loop.spend) if gauge.used_up]
    if not used_up:
        return False
    title = f"{' and '.join(gauge.limit.row.title for gauge in used_up)} limit reached"
    more = ", ".join(f"+{_more(gauge):,.10g} {gauge.limit.row.step_unit or gauge.limit.row.unit}" for gauge in used_up)
    lines = {_choice(choice, more): choice for choice in choices}
    try:
        answer = lines.get(menus.pick(title, menus.facts_at_limit(loop), tuple(lines)) or "")
    except KeyboardInterrupt:
        return False
    if answer is LimitChoice.GIVE_UP:
        summaries.answer(control.stop(store, loop.loop_id, outcome=Outcome.ABANDONED), driven=False, as_json=False)
    if answer is LimitChoice.SIMPLIFY and (words := menus.ask("What may it leave out? ")):
        control.say(store, loop.loop_id, f"The task is simpler now: {words}")
    elif answer is not LimitChoice.MORE:
        return False
    control.budget(store, loop.loop_id, *map(_raise, used_up))
    control.resume(store, loop.loop_id)
    return True


def _choice(choice: LimitChoice, more: str) -> str:
    """The line of the menu, which says what the choice does."""
    match choice:
        case LimitChoice.MORE:
            return more
        case LimitChoice.SIMPLIFY:
            return f"{choice.value} ({more}, and you say what to leave out)"
        case LimitChoice.LEAVE | LimitChoice.GIVE_UP:
            return choice.value


def _more(gauge: budgets.Gauge) -> float:
    return gauge.allowed if gauge.limit.row.step is None else gauge.limit.row.step


def _raise(gauge: budgets.Gauge) -> BudgetChanged:
    """The change after which one step is left, even if more than the limit is used already."""
    return BudgetChanged(gauge.limit, _more(gauge) + gauge.used - gauge.allowed, add=True)
