"""supervise: each stop of the worker is a claim, and a supervisor decides whether it holds."""

from __future__ import annotations

from untildone import gates
from untildone.core.actions import Ask
from untildone.core.events import AnswerRead
from untildone.core.loop import Loop
from untildone.core.model import Answer, Context, Role, SessionUse
from untildone.core.plugins.mode import PlainMode
from untildone.modes.supervise import prompts as texts

SHOWN_ANSWER = 8_000


class Supervise(PlainMode):
    name = "supervise"
    default_iterations: int | None = 20
    reviewed = True
    stays_open = True
    hands_back = True
    runs_in_session = True

    def next(self, loop: Loop) -> Ask:
        session = SessionUse.RESUME if loop.settings.context is Context.CONTINUE else SessionUse.NEW
        return Ask(Role.WORKER, _next_message(loop), session, prompt_if_new=_everything(loop))

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        return AnswerRead(claimed=True)


def _next_message(loop: Loop) -> str:
    """The prompt in the worker's session: the feedback word for word, or the failed check, and the person's new messages."""
    parts = [_feedback(loop) or gates.failure_report(loop), *_messages(loop)]
    return "\n\n".join(part for part in parts if part) or f"{texts.CUT_SHORT}\n\n{loop.description}"


def _everything(loop: Loop) -> str:
    """The prompt for a worker without a session. In the first round that is the task alone."""
    if loop.next_iteration == 1:
        return "\n\n".join((loop.description, *_messages(loop)))
    earlier = loop.asked[1 : len(loop.asked) - len(loop.inbox)]
    feedback = _feedback(loop)
    parts = [
        loop.description,
        *(texts.FROM_PERSON.format(text=text) for text in earlier),
        texts.ALREADY_UNDER_WAY,
        loop.last_answer and texts.LAST_ANSWER.format(text=loop.last_answer[-SHOWN_ANSWER:]),
        texts.FEEDBACK.format(text=feedback) if feedback else gates.failure_report(loop),
        *_messages(loop),
    ]
    return "\n\n".join(part for part in parts if part)


def _messages(loop: Loop) -> tuple[str, ...]:
    return tuple(texts.FROM_PERSON.format(text=text) for text in loop.inbox)


def _feedback(loop: Loop) -> str:
    """The supervisor's answer, if only the review failed."""
    failed = loop.failed_gates
    return failed[0].said if len(failed) == 1 else ""


MODE = Supervise()
