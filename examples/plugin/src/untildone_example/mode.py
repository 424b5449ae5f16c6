"""The mode `one-step`: each round asks for one step of the task. Budget and gates are not its business."""

from __future__ import annotations

from untildone import gates
from untildone.core.actions import Ask
from untildone.core.answers.claims import has_promise
from untildone.core.events import AnswerRead
from untildone.core.loop import Loop
from untildone.core.model import Answer, Role
from untildone.core.plugins.mode import PlainMode


class OneStep(PlainMode):
    name = "one-step"
    default_iterations: int | None = 10

    def next(self, loop: Loop) -> Ask:
        parts = [loop.description, f"Do one step, then stop. After the last step say {loop.settings.promise}."]
        parts += [f"A message from the person:\n{text}" for text in loop.inbox]
        parts += [gates.failure_report(loop)]
        return Ask(Role.WORKER, "\n\n".join(part for part in parts if part))

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        promise = loop.settings.promise
        return AnswerRead(claimed=promise is not None and has_promise(answer.text, promise))


MODE = OneStep()
