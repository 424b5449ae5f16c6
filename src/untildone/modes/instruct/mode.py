"""instruct: an instructor turns the person's task into one instruction after another for the worker."""

from __future__ import annotations

from enum import StrEnum

from untildone import gates
from untildone.core.actions import Ask
from untildone.core.answers.claims import has_marker
from untildone.core.events import AnswerRead
from untildone.core.loop import Loop
from untildone.core.model import EMPTY, Answer, Context, Role, SessionUse
from untildone.core.plugins.mode import PlainMode
from untildone.modes.instruct import prompts as texts

LONGEST_INSTRUCTION = 60_000
SHOWN_ANSWER = 16_000


class Stage(StrEnum):
    """The stage of the exchange between instructor and worker; kept in the loop's `skill_state`."""

    BEGIN = "begin"
    WORK = "work"
    """The worker has an instruction that it has not answered."""
    ANSWERED = "answered"
    CLAIMED = "claimed"
    """The instructor said that everything is done."""


class Instruct(PlainMode):
    name = "instruct"
    default_iterations: int | None = 20
    leader = Role.INSTRUCTOR
    works_with_person = True
    stays_open = True

    def next(self, loop: Loop) -> Ask:
        if _stage(loop) is Stage.WORK and not loop.inbox and not _was_cut_short(loop):
            return Ask(Role.WORKER, _instruction(loop), SessionUse.RESUME if _remembers(loop) else SessionUse.NEW)
        news, everything = _joined(*_news(loop)), _joined(*_history(loop), *_news(loop))
        return Ask(Role.INSTRUCTOR, news, system_prompt=_role(loop), prompt_if_new=everything, carries_messages=True)

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        if role is Role.WORKER:
            return _read(loop, Stage.ANSWERED, _instruction(loop))
        own_words = answer.text.replace(_worker_answered(loop), "")
        done = has_marker(own_words, loop.settings.marker, _joined(_role(loop), *loop.asked))
        if done is not None:
            return _read(loop, Stage.CLAIMED, "", note=done.message or "")
        return _read(loop, Stage.WORK, answer.text.strip()[:LONGEST_INSTRUCTION])


def _role(loop: Loop) -> str:
    memory = texts.REMEMBERS if _remembers(loop) else texts.FORGETS
    return texts.ROLE.format(marker=loop.settings.marker.strip(), memory=memory)


def _read(loop: Loop, stage: Stage, instruction: str, note: str = "") -> AnswerRead:
    state = {"stage": stage.value, "instruction": instruction, "round": loop.spend.iterations}
    return AnswerRead(claimed=stage is Stage.CLAIMED, skill_state=state, note=note)


def _stage(loop: Loop) -> Stage:
    return Stage((loop.skill_state or EMPTY).get("stage", Stage.BEGIN))


def _instruction(loop: Loop) -> str:
    return str((loop.skill_state or EMPTY).get("instruction", ""))


def _remembers(loop: Loop) -> bool:
    """Whether the worker continues in its session."""
    return loop.settings.context is Context.CONTINUE and "resume" in loop.settings.worker.abilities


def _was_cut_short(loop: Loop) -> bool:
    """Whether the worker's last round gave no answer and is not retried: the instructor must know that."""
    given_at = int((loop.skill_state or EMPTY).get("round", 0))
    tried_again = loop.retry is not None and loop.retry.role is Role.WORKER
    return _stage(loop) is Stage.WORK and loop.spend.iterations > given_at and not tried_again


def _news(loop: Loop) -> list[str]:
    """What the instructor does not know yet."""
    match _stage(loop):
        case Stage.BEGIN:
            news = [texts.TASK.format(text=loop.description)]
        case Stage.WORK:
            news = [texts.CUT_SHORT if _was_cut_short(loop) else texts.NOT_CARRIED_OUT]
        case Stage.ANSWERED:
            news = [_worker_answered(loop), *_did_not_count(loop)]
        case Stage.CLAIMED:
            report = gates.failure_report(loop)
            news = [texts.NOT_DONE_YET.format(report=report)] if report else []
    news += [texts.FROM_PERSON.format(text=text) for text in loop.inbox]
    return news or [texts.GO_ON]


def _did_not_count(loop: Loop) -> list[str]:
    """The instructor wrote the marker where it does not count, and its answer went to the worker."""
    marker = loop.settings.marker.strip()
    return [texts.DID_NOT_COUNT.format(marker=marker)] if marker in _instruction(loop) else []


def _worker_answered(loop: Loop) -> str:
    text = loop.last_answer.strip()
    if not text:
        return texts.WORKER_SAID_NOTHING
    too_much = len(text) - SHOWN_ANSWER
    if too_much > 0:
        half = SHOWN_ANSWER // 2
        text = f"{text[:half]}\n{texts.LEFT_OUT.format(number=too_much)}\n{text[-half:]}"
    return texts.WORKER_ANSWERED.format(text=text)


def _history(loop: Loop) -> list[str]:
    """What an instructor without a session needs first: everything the person asked, and the last instruction."""
    if _stage(loop) is Stage.BEGIN:
        return []
    first, *later = loop.asked[: len(loop.asked) - len(loop.inbox)]
    asked = [texts.TASK.format(text=first), *(texts.FROM_PERSON.format(text=text) for text in later)]
    given = _instruction(loop)
    return [*asked, texts.TAKEN_OVER.format(text=given)] if given else asked


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


MODE = Instruct()
