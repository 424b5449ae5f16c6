"""What a mode is: it says what to ask next, and what an answer means. Budget and gates are not its business."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.actions import Ask, AwaitPerson
from untildone.core.events import AnswerRead
from untildone.core.hints import Protocol
from untildone.core.loop import Loop
from untildone.core.model import Answer, Role
from untildone.core.option import Option


class Mode(Protocol):
    name: str
    default_iterations: int | None
    """How many iterations a loop may take if nobody said."""
    default_iteration_timeout: float | None
    """How many seconds an iteration may take if nobody said."""
    reviewed: bool
    """Whether a supervisor looks at every claim, asked for or not."""
    works_by_hand: bool
    """Whether a person can go on where the agent program cannot be run: the loop pauses instead of failing."""
    declared_options: tuple[Option, ...]
    """The options that only this mode has."""
    stays_open: bool
    """Whether, with a person there, the loop waits for their next instruction after one is done."""

    def next(self, loop: Loop) -> Ask | AwaitPerson:
        """What to ask next."""

    def absorb(self, loop: Loop, text: str) -> AnswerRead:
        """What an edit of the live state file means, made while no agent was at work. Modes without such a file never see one."""

    def live_state(self, loop: Loop) -> str | None:
        """What the live state file should say now; None: this mode has no such file."""

    def recover(self, loop: Loop, documents: Mapping[str, str]) -> AnswerRead | None:
        """The mode's own state was lost: what the documents still tell of it."""

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        """What a successful answer of that role means: is it a claim, and what becomes of the mode's own state?"""


class PlainMode:
    """What most modes have in common: no live state file, no review unless asked for, done is done."""

    default_iteration_timeout: float | None = None
    reviewed = False
    works_by_hand = False
    stays_open = False
    declared_options: tuple[Option, ...] = ()

    def absorb(self, loop: Loop, text: str) -> AnswerRead:
        return AnswerRead(claimed=loop.claimed)

    def live_state(self, loop: Loop) -> str | None:
        return None

    def recover(self, loop: Loop, documents: Mapping[str, str]) -> AnswerRead | None:
        return None
