"""What a loop at rest asks the person at an editor, as a choice between options, or as a question that wants words."""

from __future__ import annotations

import re

from untildone.core.attention import Act, need_of
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.core.values.value import dataclass

MOST_CHOICES = 9
_CHOICE = re.compile(r"^\s*(?:[-*•]|\(?(?:\d{1,2}|[A-Za-z])[.)])\s+(?P<text>\S.*)$", re.MULTILINE)
LEAVE = "Leave it paused"


@dataclass(frozen=True, slots=True)
class Approve:
    """Accept the changes of these files."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Extend:
    """Raise a limit by an amount."""

    limit: str
    amount: float


@dataclass(frozen=True, slots=True)
class Say:
    """Send this message to the loop."""

    text: str


@dataclass(frozen=True, slots=True)
class Option:
    """One of the answers. None: the loop stays as it is."""

    name: str
    does: Approve | Extend | Say | None


@dataclass(frozen=True, slots=True)
class Question:
    """What a loop asks. Without options, the answer is words."""

    text: str
    options: tuple[Option, ...] = ()


def of(loop: Loop) -> Question | None:
    """What a loop asks now; None: nothing, or something that is given outside of the editor."""
    if loop.status is not Status.PAUSED:
        return None
    refused = tuple(sorted({path for result in loop.failed_gates for path in result.tampered}))
    if refused:
        text = f"The agent changed what decides about its work: {', '.join(refused)}. Do these changes count?"
        return Question(text, (Option("Approve them and go on", Approve(refused)), Option(LEAVE, None)))
    need = need_of(loop)
    if need is None:
        return None
    if need.act is Act.EXTEND and need.limit is not None:
        more = f"{need.limit.row.show(need.amount)} more, and go on"
        return Question(need.text, (Option(more, Extend(need.limit.value, need.amount)), Option(LEAVE, None)))
    return Question(need.text, _choices(need.text)) if need.act is Act.ANSWER else None


def _choices(text: str) -> tuple[Option, ...]:
    """The list that a question of the agent ends in, as options; empty: it has none."""
    listed = [choice["text"].strip() for choice in _CHOICE.finditer(text)]
    if not 2 <= len(listed) <= MOST_CHOICES:
        return ()
    return (*(Option(each, Say(each)) for each in listed), Option("Something else: say it in your next message", None))
