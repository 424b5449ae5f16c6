"""ralph: repeat the task until the agent makes the promise."""

from __future__ import annotations

from untildone import gates
from untildone.core.actions import Ask
from untildone.core.answers import blocked
from untildone.core.answers.claims import has_promise
from untildone.core.events import AnswerRead
from untildone.core.loop import Loop
from untildone.core.model import Answer, Context, Role, SessionUse
from untildone.core.plugins.mode import PlainMode
from untildone.modes.ralph import prompts as texts


class Ralph(PlainMode):
    name = "ralph"
    default_iterations: int | None = 5
    claims_by_promise = True
    runs_in_session = True

    def next(self, loop: Loop) -> Ask:
        session = SessionUse.RESUME if loop.settings.context is Context.CONTINUE else SessionUse.NEW
        return Ask(Role.WORKER, _prompt(loop), session, is_closed=True)

    def prompt_in_session(self, loop: Loop, ask: Ask) -> str:
        """What failed first: the person sees the beginning on their screen at each stop, and knows the task."""
        did_not_count, where, failed = _news(loop)
        return "\n\n".join(part for part in (failed, did_not_count, _assignment(loop), where) if part)

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        return AnswerRead(claimed=answer.claims or _claims(loop, answer.text))


def _prompt(loop: Loop) -> str:
    did_not_count, where, failed = _news(loop)
    return "\n\n".join(part for part in (_assignment(loop), did_not_count, where, failed) if part)


def _assignment(loop: Loop) -> str:
    """The task, how to claim, and what the person said since."""
    how_to_say = blocked.closing(loop, Role.WORKER)
    said = (f"A message from the person:\n{text}" for text in loop.inbox)
    return "\n\n".join(part for part in (loop.description, _how_to_claim(loop), how_to_say, *said) if part)


def _news(loop: Loop) -> tuple[str, str, str]:
    """What came of the round before: why its promise did not count, which round follows, what failed."""
    if loop.next_iteration <= 1:
        return "", "", ""
    return _did_not_count(loop), _where_it_stands(loop), gates.failure_report(loop)


def _prompted_so_far(loop: Loop) -> str:
    """The parts of the prompts that may mention the promise. A repetition of them is no claim."""
    return "\n\n".join((*loop.asked, _how_to_claim(loop)))


def _claims(loop: Loop, text: str) -> bool:
    promise = loop.settings.promise
    return promise is not None and has_promise(text, promise, _prompted_so_far(loop))


def _did_not_count(loop: Loop) -> str:
    """Why the promise in the last answer was no claim; empty: there was none, or it was one."""
    promise = loop.settings.promise
    if promise is None or promise not in loop.last_answer or _claims(loop, loop.last_answer):
        return ""
    return texts.DID_NOT_COUNT.format(words=promise)


def _how_to_claim(loop: Loop) -> str:
    promise = loop.settings.promise
    if promise is None or loop.settings.once or promise in loop.description:
        return ""
    return texts.HOW_TO_CLAIM.format(promise=promise)


def _where_it_stands(loop: Loop) -> str:
    most = "" if loop.budget.iterations is None else f" of {loop.budget.iterations}"
    return f"[System: This is iteration {loop.next_iteration}{most}. Continue the task.]"


MODE = Ralph()
