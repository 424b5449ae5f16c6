"""Round controls: `[r+n]` and `[r=n]` at the start of a person's message, and the texts about rounds."""

from __future__ import annotations

import re

from untildone.core.limits import Limit
from untildone.core.values.hints import assert_never
from untildone.core.values.sentence import Sentence
from untildone.core.values.value import dataclass

LARGEST = Limit.ITERATIONS.row.most
NO_ROUNDS = "No remaining rounds. Stopping."
NO_ROUNDS_HINT = "Use [r+n] to add more rounds or [r=n] to set remaining rounds"
NO_INSTRUCTION = Sentence("No instruction provided after parsing round controls")
BELONGS_AT_START = Sentence(
    "Round controls such as [r+n] belong at the start of the message; this one was left as text"
)
ALMOST = "{control} was left as text: a round control adds or sets a whole number from 0 to {most}, without blanks, as in [r+5] or [r=5]"

# Compiled at first use: the stop hook loads this module for every stop, and needs none of them.
_LEADING = r"(?i)\s*+\[r([+=])([0-9]++)\]\s*+"
_ANYWHERE = r"(?i)\[r[+=][0-9]++\]"
_ALMOST = r"(?i)\s*+(\[\s*r\s*[-+=−][^\]\n]{0,24}+\]?)"


@dataclass(frozen=True, slots=True)
class Add:
    """`[r+n]`."""

    rounds: int


@dataclass(frozen=True, slots=True)
class Set:
    """`[r=n]`."""

    rounds: int


Change = Add | Set


def progress(used: int, most: int | None) -> str:
    """The rounds used and their limit, as shown to people: 3/20, or 3/∞ without a limit."""
    return f"{used}/{'∞' if most is None else most}"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A message without its round controls, and their effect."""

    rest: str
    """The text for the agent; unchanged if there was no control."""
    remaining: int | None
    """The rounds that are left afterwards; None: no limit."""
    changes: tuple[Change, ...] = ()
    """The controls that took effect, in the order written."""
    notices: tuple[Sentence, ...] = ()
    changed: bool = False
    """Whether the number of rounds that are left has changed."""


def parse(text: str, remaining: int | None) -> Parsed:
    """Remove the round controls from the start of a message. `remaining` is None if no limit is set."""
    controls, end = _leading_controls(text)
    changes, notices, left = _applied(controls, remaining)
    rest = text[end:].strip() if controls else text
    if controls and not rest:
        notices.append(NO_INSTRUCTION)
    notices += _hints(rest)
    return Parsed(rest, left, tuple(changes), tuple(notices), changed=left != remaining)


def header(round_number: int, left: int | None, name: str = "") -> str:
    """The line above a round, with what is done in it and the rounds that are left, if there is a limit."""
    suffix = "" if left is None else f" ({left} left)"
    return f"╭─ Round {round_number}{f' · {name}' if name else ''}{suffix} ─╮"


def _leading_controls(text: str) -> tuple[list[Change], int]:
    controls: list[Change] = []
    end = 0
    while (match := re.compile(_LEADING).match(text, end)) and (rounds := _number(match[2])) is not None:
        controls.append(Add(rounds) if match[1] == "+" else Set(rounds))
        end = match.end()
    return controls, end


def _number(digits: str) -> int | None:
    """The number; None if it is above LARGEST. A number of a million digits is never converted."""
    significant = digits.lstrip("0") or "0"
    if len(significant) > len(str(LARGEST)) or int(significant) > LARGEST:
        return None
    return int(significant)


def _applied(controls: list[Change], remaining: int | None) -> tuple[list[Change], list[Sentence], int | None]:
    effective: list[Change] = []
    notices: list[Sentence] = []
    for control in controls:
        after = _after(control, remaining)
        notices.append(_notice(control, after))
        if after is not None:
            effective.append(control)
        remaining = after
    return effective, notices, remaining


def _after(control: Change, remaining: int | None) -> int | None:
    match control:
        case Add(rounds):
            return None if remaining is None else remaining + rounds
        case Set(rounds):
            return rounds
        case _:
            assert_never(control)


def _notice(control: Change, after: int | None) -> Sentence:
    match control:
        case Add(rounds) if after is None:
            return Sentence("No limit is set, so [r+{n}] changes nothing; [r=n] sets one", n=rounds)
        case Add(rounds):
            return Sentence("Added {n} rounds. Remaining: {left}", n=rounds, left=after)
        case Set():
            return Sentence("Set remaining rounds to: {left}", left=after)
        case _:
            assert_never(control)


def _hints(rest: str) -> list[Sentence]:
    """Notices about text that looks like a control but is none."""
    hints: list[Sentence] = []
    almost = re.match(_ALMOST, rest)
    if almost:
        hints.append(Sentence(ALMOST, control=almost[1], most=f"{LARGEST:,}"))
    if re.compile(_ANYWHERE).search(rest, almost.end() if almost else 0):
        hints.append(BELONGS_AT_START)
    return hints
