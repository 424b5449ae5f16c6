"""Finds where a loop was after an iteration, for a rewind, and words the account of it for the agents."""

from __future__ import annotations

from collections.abc import Iterable

from untildone.core.apply import apply
from untildone.core.events import Entry, Rested, RetryRequested, Rewound, TurnEnded, TurnStarted
from untildone.core.history import position
from untildone.core.history.position import Position
from untildone.core.loop import Loop, session_key
from untildone.core.model import Role
from untildone.core.values.value import dataclass, replace

LONGEST_QUOTE = 4_000
_LEAVE = (Rested, Rewound, RetryRequested)


@dataclass(frozen=True, slots=True)
class Place:
    """The state of a loop after one of its iterations."""

    position: Position
    seen: bool = True
    """Whether the state of the workspace was recorded at the end of the iteration."""
    messages: tuple[str, ...] = ()
    """The person's messages since then. They are not sent to agents again."""


def after(entries: Iterable[Entry], iteration: int) -> Place | None:
    """Where the loop was after an iteration, 0: before the first one. None: that iteration has not ended with an answer."""
    loop: Loop | None = None
    then: Loop | None = None
    touched: set[str] = set()
    is_there, seen = iteration == 0, True
    for entry in entries:
        event = entry.event
        is_there = is_there and not (isinstance(event, _LEAVE) or _begins(event, iteration))
        loop = apply(loop, entry)
        if _ends(event, iteration):
            is_there, seen = True, isinstance(event, TurnEnded) and event.changes is not None
        if is_there:
            then, touched = loop, set()
        elif isinstance(event, TurnStarted):
            touched.add(session_key(event.role, event.profile))
    return (
        None if loop is None or then is None else Place(_position(then, touched), seen, loop.asked[len(then.asked) :])
    )


def before_last(entries: Iterable[Entry]) -> tuple[Rewound, Place] | None:
    """The last rewind, and where the loop was before it. None: the loop was never taken back, or has worked since."""
    loop: Loop | None = None
    last: tuple[Rewound, Place] | None = None
    for entry in entries:
        event = entry.event
        if isinstance(event, Rewound) and loop is not None:
            changes = replace(loop.changes, tree=event.kept or loop.changes.tree)
            last = event, Place(replace(_position(loop, set()), changes=changes))
        elif isinstance(event, TurnStarted):
            last = None
        loop = apply(loop, entry)
    return last


def account(loop: Loop, iteration: int, place: Place) -> str:
    """The account of the rewind in the prompts of agents that start a new session; empty: all sessions continue."""
    then = place.position
    if loop.sessions.keys() <= then.sessions.keys() or not loop.spend.iterations:
        return ""
    undone = _rounds(iteration + 1, loop.spend.iterations)
    words = f"A person took this work back to where it was {_when(iteration)}: the files are as they were then, and {undone} undone."
    if not then.last_answer or not iteration:
        return words
    said = then.last_answer[-LONGEST_QUOTE:].strip()
    return f"{words} The last message to the person then was:\n" + "\n".join(
        f"> {line}".rstrip() for line in said.splitlines()
    )


def _begins(event: object, iteration: int) -> bool:
    """Whether the loop leaves the place with this event: an agent works on. A supervisor still belongs to the iteration."""
    return isinstance(event, TurnStarted) and (event.role is not Role.SUPERVISOR or iteration == 0)


def _ends(event: object, iteration: int) -> bool:
    if not isinstance(event, TurnEnded) or event.role is not Role.WORKER:
        return False
    return event.iteration == iteration and event.answer.failure is None


def _position(then: Loop, touched: set[str]) -> Position:
    kept = {name: getattr(then, name) for name in position.names()}
    kept["sessions"] = {key: session for key, session in then.sessions.items() if key not in touched}
    return Position(changes=then.changes, **kept)


def _when(iteration: int) -> str:
    return f"after round {iteration}" if iteration else "before the first round"


def _rounds(first: int, last: int) -> str:
    return f"round {first} is" if first == last else f"rounds {first} to {last} are"
