"""What a mode is: it says what to ask next, and what an answer means. Budget and gates are not its business."""

from __future__ import annotations

from typing import Protocol

from untildone.core.actions import Ask, AwaitPerson
from untildone.core.events import AnswerRead
from untildone.core.loop import Loop
from untildone.core.model import Answer, Role


class Mode(Protocol):
    name: str
    default_iterations: int | None
    """How many iterations a loop may take if nobody said."""

    def next(self, loop: Loop) -> Ask | AwaitPerson:
        """What to ask next."""
        ...

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        """What a successful answer of that role means: is it a claim, and what becomes of the mode's own state?"""
        ...
