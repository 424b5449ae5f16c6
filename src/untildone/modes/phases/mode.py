"""phases: analyse, plan, do the subtasks, review. Done only if all phases and subtasks are done, and the review passed.

The agent reports in a JSON object at the end of its answer, and may edit the live state file; both count. On a linear route a
phase is done after its turn unless the agent denies it; on a looping route only if the agent says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.actions import Ask
from untildone.core.events import AnswerRead
from untildone.core.loop import Loop
from untildone.core.model import Answer, Context, Role, SessionUse
from untildone.core.plugins.mode import FromFiles, LimitChoice, PlainMode
from untildone.modes._json_objects import objects, without_objects
from untildone.modes.phases import answers, edits, skillpack
from untildone.modes.phases import live_file as live
from untildone.modes.phases import prompts as texts
from untildone.modes.phases.news import News, both
from untildone.modes.phases.options import OPTIONS, PhasesOptions
from untildone.modes.phases.state import current_phase, done_phases, options, phase_of, route_of, state_of
from untildone.modes.phases.understanding import Understanding


class Phases(PlainMode):
    name = "phases"
    default_iterations: int | None = 20
    default_iteration_timeout: float | None = 30 * 60.0
    declared_options = OPTIONS
    files = (skillpack.FILE,)
    runs_in_session = True
    reports_in_json = True
    choices_at_limit = (LimitChoice.MORE, LimitChoice.SIMPLIFY, LimitChoice.LEAVE, LimitChoice.GIVE_UP)

    def options(self, loop: Loop) -> PhasesOptions:
        return options(loop)

    def from_files(self, texts: Mapping[str, str]) -> FromFiles:
        return skillpack.from_files(texts)

    def next(self, loop: Loop) -> Ask:
        session = SessionUse.RESUME if loop.settings.context is Context.CONTINUE else SessionUse.NEW
        return Ask(Role.WORKER, texts.prompt(loop), session, label=_label(loop))

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        answered = answers.news_of(answer.text, loop.tasks, "\n\n".join((*loop.asked, texts.ANSWER)))
        edited = News() if loop.live_state is None else edits.news_of(loop, loop.live_state)
        return Understanding(loop, both(edited, answered)).of_turn()

    def prompt_in_session(self, loop: Loop, ask: Ask) -> str:
        return texts.in_session(loop)

    def absorb(self, loop: Loop, text: str) -> AnswerRead:
        return Understanding(loop, edits.news_of(loop, text)).of_edit()

    def live_state(self, loop: Loop) -> str | None:
        return live.render(loop)

    def heading(self, loop: Loop, label: str) -> str:
        route, number = route_of(loop), current_phase(loop)
        return f"{label} {number}/{len(route.phases)}" if route and number else label

    def spoken(self, text: str) -> str:
        return without_objects(text) or next(
            (str(each["summary"]) for each in objects(text) if each.get("summary")), ""
        )

    def standing(self, loop: Loop) -> tuple[str, ...]:
        route, done, score = route_of(loop), len(done_phases(loop)), state_of(loop).score
        if route is None:
            return ("no route chosen yet",)
        review = (f"review {score:g} of 100, {options(loop).review_threshold:g} needed",) if score is not None else ()
        return (f"route {route.name}", f"{done} of {len(route.phases)} phases done", *review)

    def variant(self, loop: Loop) -> str:
        return f"route {name}" if (name := state_of(loop).route) else ""

    def pending(self, loop: Loop) -> str:
        route, lines = route_of(loop), live.pending_lines(loop)
        first = lines[0] if lines else ""
        return first.replace(":", f" of {len(route.phases)}:", 1) if route and first.startswith("Phase ") else first


def _label(loop: Loop) -> str:
    """The label of the turn: its purpose in one word."""
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
