"""ralph: repeat the task until the agent makes the promise."""

from __future__ import annotations

from untildone import gates
from untildone.core.actions import Ask
from untildone.core.claims import has_promise
from untildone.core.events import AnswerRead
from untildone.core.loop import Loop
from untildone.core.mode import PlainMode
from untildone.core.model import Answer, Context, Role, SessionUse


class Ralph(PlainMode):
    name = "ralph"
    default_iterations: int | None = 5
    claims_by_promise = True
    runs_in_session = True

    def next(self, loop: Loop) -> Ask:
        session = SessionUse.RESUME if loop.settings.context is Context.CONTINUE else SessionUse.NEW
        return Ask(Role.WORKER, _prompt(loop), session)

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        promise = loop.settings.promise
        return AnswerRead(claimed=promise is not None and has_promise(answer.text, promise, _prompted_so_far(loop)))


def _prompt(loop: Loop) -> str:
    parts = [loop.description, _how_to_claim(loop), *(f"A message from the person:\n{text}" for text in loop.inbox)]
    if loop.next_iteration > 1:
        parts += [_where_it_stands(loop), gates.failure_report(loop)]
    return "\n\n".join(part for part in parts if part)


def _prompted_so_far(loop: Loop) -> str:
    """The parts of the prompts that may mention the promise. A repetition of them is no claim."""
    return "\n\n".join((*loop.asked, _how_to_claim(loop)))


def _how_to_claim(loop: Loop) -> str:
    promise = loop.settings.promise
    if promise is None or loop.settings.once or promise in loop.description:
        return ""
    return (
        f"When the task is completely done, and only then, end your final message with {promise} on a line of its own. "
        "If it is not done, say what is missing and go on."
    )


def _where_it_stands(loop: Loop) -> str:
    most = "" if loop.budget.iterations is None else f" of {loop.budget.iterations}"
    return f"[System: This is iteration {loop.next_iteration}{most}. Continue the task.]"


MODE = Ralph()
