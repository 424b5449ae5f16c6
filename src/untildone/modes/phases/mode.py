"""phases: analyse, plan, do the subtasks, review. Done only if all phases and subtasks are done, and the review passed.

The agent tells what it did in a JSON object at the end of its answer, and may edit the live state file; both count. A
linear route takes each phase as done once its turn was taken, unless the agent says no; a looping route wants to be told.
"""

from __future__ import annotations

from untildone.core.actions import Ask
from untildone.core.events import AnswerRead
from untildone.core.loop import Loop
from untildone.core.mode import PlainMode
from untildone.core.model import Answer, Context, Role, SessionUse
from untildone.modes.phases import answers as answers
from untildone.modes.phases import edits as edits
from untildone.modes.phases import live_file as live
from untildone.modes.phases import prompts as texts
from untildone.modes.phases.news import News, both
from untildone.modes.phases.options import OPTIONS
from untildone.modes.phases.state import phase_of, route_of
from untildone.modes.phases.understanding import Understanding


class Phases(PlainMode):
    name = "phases"
    default_iterations: int | None = 20
    default_iteration_timeout: float | None = 30 * 60.0
    declared_options = OPTIONS

    def next(self, loop: Loop) -> Ask:
        session = SessionUse.RESUME if loop.settings.context is Context.CONTINUE else SessionUse.NEW
        return Ask(Role.WORKER, texts.prompt(loop), session, label=_label(loop))

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        told = answers.news_of(answer.text, loop.tasks, "\n\n".join((*loop.asked, texts.ANSWER)))
        edited = News() if loop.live_state is None else edits.news_of(loop, loop.live_state)
        return Understanding(loop, both(edited, told), answer.text).of_turn()

    def absorb(self, loop: Loop, text: str) -> AnswerRead:
        return Understanding(loop, edits.news_of(loop, text)).of_edit()

    def live_state(self, loop: Loop) -> str | None:
        return live.render(loop)


def _label(loop: Loop) -> str:
    """What the turn is for."""
    phase = phase_of(loop)
    return phase.value if phase else "mending" if route_of(loop) else "routing"


MODE = Phases()
EXAMPLE_ANSWERS = {
    Role.WORKER: (
        '{"phase_done": true, "summary": "Found out what is there."}',
        '{"phase_done": true, "subtasks": [{"id": "s1", "text": "one"}, {"id": "s2", "text": "two", "depends_on": ["s1"]}]}',
        '{"subtasks": [{"id": "s1", "status": "completed"}, {"id": "s2", "status": "completed"}]}',
        '{"subtasks": [{"id": "s1", "depends_on": ["s2"]}, {"id": "s2", "text": "two", "depends_on": ["s1"]}]}',
        '{"phase_done": true, "review_score": 60, "findings": ["It is slow."]}',
        '{"phase_done": true, "review_score": 92}',
    )
}
"""For the suite that every mode goes through."""
