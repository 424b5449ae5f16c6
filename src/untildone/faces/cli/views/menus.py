"""Menus for the person at the terminal: a box with facts and numbered choices, answered with a number on a line.

An invalid answer repeats the question a few times. After that, and at the end of the input, nothing is chosen. Ctrl-C interrupts.
"""

from __future__ import annotations

import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from rich.cells import set_cell_size

from untildone.core import budget as budgets
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import SubtaskStatus
from untildone.core.values.codec import timestamp
from untildone.faces.cli import streams, wrapping
from untildone.faces.cli.views import summaries
from untildone.faces.text.plain import one_line
from untildone.operations import output

WIDEST, NARROWEST = 78, 24
ASKED_AT_MOST = 3


def pick(title: str, facts: Sequence[str], choices: Sequence[str]) -> str | None:
    """The choice of the person; None if they choose nothing. Raises KeyboardInterrupt on Ctrl-C."""
    for line in box(title, facts, choices):
        streams.talk().line(line)
    _forget_typed_ahead()
    for _ in range(ASKED_AT_MOST):
        answer = ask(f"Choose (1-{len(choices)}): ")
        if answer is None:
            return None
        if answer.isdecimal() and len(answer) < 4 and 1 <= int(answer) <= len(choices):
            return choices[int(answer) - 1]
        streams.talk().prose(f"'{streams.printable(answer)}' is none of 1 to {len(choices)}.")
    return None


def ask(question: str) -> str | None:
    """A line from the person, stripped; None at the end of the input. Raises KeyboardInterrupt on Ctrl-C."""
    with _interruptible():
        try:
            streams.talk().raw(question.encode("utf-8", "replace"))
            text = sys.stdin.readline()
        except KeyboardInterrupt:
            streams.talk().line("")
            raise
        except (OSError, ValueError):
            text = ""
    if text.endswith("\n"):
        return text.strip()
    streams.talk().line("")
    return None


def facts_at_limit(loop: Loop) -> tuple[str, ...]:
    """The lines about a loop that has reached a limit."""
    done = [task.text for task in loop.tasks if task.status is SubtaskStatus.COMPLETED]
    left = [task.text for task in loop.tasks if task.status is not SubtaskStatus.COMPLETED]
    used_up = [gauge for gauge in budgets.gauges(loop.own_budget, loop.spend) if gauge.used_up]
    return (
        f"Round: {summaries.rounds(loop)}",
        *(f"Used up: {gauge.sentence()}" for gauge in used_up if gauge.limit is not Limit.ITERATIONS),
        f"Done: {one_line('; '.join(done)) or 'no subtask yet'}",
        f"Not done: {one_line('; '.join(left)) or where_it_stands(loop)}",
    )


def facts_of_unfinished(loop: Loop) -> tuple[str, ...]:
    """The lines about a loop that can be resumed."""
    variant = output.mode(loop.settings.mode).variant(loop)
    return (
        f"Task: {one_line(loop.title)}",
        f"Mode: {loop.settings.mode}" + (f", {variant}" if variant else ""),
        f"Progress: {where_it_stands(loop)}, round {summaries.rounds(loop)}",
        f"Last active: {timestamp(loop.updated_at)[:19].replace('T', ' ')} UTC",
    )


def where_it_stands(loop: Loop) -> str:
    """The state of the loop in a few words: the next step of its mode, or its status."""
    pending = output.mode(loop.settings.mode).pending(loop)
    return pending or (loop.outcome.word if loop.outcome else loop.status.value)


def box(title: str, facts: Sequence[str], choices: Sequence[str], columns: int | None = None) -> Iterator[str]:
    """The lines of a menu, drawn as a box that fits the terminal."""
    width = max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns if columns is None else columns)) - 2
    numbered = [f"  [{number}] {choice}" for number, choice in enumerate(choices, 1)]
    parts = [part for part in ((title,), facts, numbered) if part]
    rule = "═" * width
    yield f"╔{rule}╗"
    for place, part in enumerate(parts):
        if place:
            yield f"╠{rule}╣"
        yield from (f"║ {set_cell_size(row, width - 2)} ║" for text in part for row in _wrapped(text, width - 2))
    yield f"╚{rule}╝"


def _wrapped(text: str, room: int) -> Iterator[str]:
    """The text wrapped into rows of the given width; rows after the first are indented."""
    leading = len(text) - len(text.lstrip())
    return wrapping.wrapped(text, room, " " * leading, " " * min(6, leading + 2))


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the question instead of the loop."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


def _forget_typed_ahead() -> None:
    """Drop the keys typed before the question: they are no answer to it."""
    with suppress(ImportError, OSError, ValueError):
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
