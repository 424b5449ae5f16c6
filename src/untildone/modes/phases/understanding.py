"""Turns what an answer or an edit says into the next state of a loop in phases."""

from __future__ import annotations

from itertools import chain

from untildone.core.answers import subtasks
from untildone.core.events import AnswerRead
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Subtask, SubtaskChange, SubtaskStatus
from untildone.core.values.value import replace
from untildone.modes.phases import prompts as texts
from untildone.modes.phases.news import LONGEST_SUMMARY, LONGEST_TEXT, MOST_TASKS, News
from untildone.modes.phases.state import (
    Phase,
    State,
    current_phase,
    is_done,
    is_finished,
    options,
    phase_of,
    route_of,
    state_of,
)

DEFAULT_ROUTE = "ralph"
"""The route if the first answer names none: it does not end before the work is done."""
MOST_PROBLEMS = 10


class Understanding:
    """Applies news to a loop. `loop` is the loop as it was asked; `after` is what it becomes, step by step."""

    def __init__(self, loop: Loop, news: News) -> None:
        self.loop = loop
        self.after = loop
        self.news = news
        self.in_turn = loop.turn is not None
        self.of_person = not self.in_turn and not loop.live_in_turn
        self.changes: list[SubtaskChange] = []
        self.problems = list(news.problems)
        """What the next prompt says about the answer."""
        self.notes = list(news.problems)

    def of_turn(self) -> AnswerRead:
        self._choose_route()
        self._reopen()
        self._take_tasks()
        self._take_phases()
        self._note_circle()
        finished = is_finished(self.after)
        self._refuse_early_promise(finished=finished)
        return self._result(claimed=finished and self.news.done is not False)

    def of_edit(self) -> AnswerRead:
        self._choose_route()
        self._reopen()
        self._take_tasks()
        self._take_phases()
        was_finished, finished = is_finished(self.loop), is_finished(self.after)
        self._refuse_early_promise(finished=finished)
        self._refuse_old_abort()
        return self._result(claimed=finished and (self.loop.claimed or not was_finished))

    def _refuse_early_promise(self, *, finished: bool) -> None:
        if self.news.promised and not finished:
            refused = f"The promise is set, but {texts.unfinished(self.after)}."
            self.problems.append(refused)
            self.notes.append(refused)

    def _refuse_old_abort(self) -> None:
        if self._is_outranked():
            self.notes.append("USER_ABORT in the live state file is older than the resume: the loop goes on.")

    def _is_outranked(self) -> bool:
        """Whether the person resumed the loop after an agent may have given it up."""
        return self.news.aborted and not self.of_person and self.loop.live_resumed

    def _result(self, *, claimed: bool) -> AnswerRead:
        state = replace(state_of(self.after), problems=tuple(self.problems[:MOST_PROBLEMS]))
        due = self.in_turn and self.loop.spend.iterations % options(self.loop).checkpoint_every == 0
        return AnswerRead(
            claimed=claimed,
            skill_state=state.as_json(),
            note=" ".join(_sentence(note) for note in self.notes),
            tasks=tuple(self.changes),
            gives_up=self._gives_up(),
            gives_up_as=Outcome.ABANDONED if self.of_person else Outcome.PAUSED,
            max_iterations=self.news.max_iterations,
            phase=current_phase(self.after),
            subtasks_done=sum(map(is_done, self.after.tasks)),
            progressed=self._progressed(),
            documents=self._documents() if self.in_turn else {},
            keep_checkpoint=due,
        )

    def _progressed(self) -> bool:
        """Whether more is done or planned than before; other words for the same are not more."""
        old, new = state_of(self.loop), state_of(self.after)
        moved = (old.route, old.completed, old.score) != (new.route, new.completed, new.score)
        return moved or self.after.tasks != self.loop.tasks

    def _gives_up(self) -> str:
        if not self.news.aborted or self._is_outranked():
            return ""
        if self.of_person:
            return "The live state file says USER_ABORT."
        return (
            "The live state file was set to USER_ABORT while the agent was at work. hint: `untildone resume` goes on, "
            "`untildone stop --abandon` gives up"
        )

    def _set(self, state: State) -> None:
        self.after = replace(self.after, skill_state=state.as_json())

    def _change(self, *changes: SubtaskChange) -> None:
        self.changes += changes
        self.after = replace(self.after, tasks=subtasks.changed(self.after.tasks, changes))

    def _choose_route(self) -> None:
        state = state_of(self.loop)
        if state.route:
            return
        known = route_of(self.loop)
        name = known.name if known else self.news.route
        if not name and self.in_turn:
            name = DEFAULT_ROUTE
            self.notes.append(f"The answer names no route; it is {name}.")
        elif name and known is None:
            self.notes.append(f"The route is {name}.")
        self._set(replace(state, route=name))

    def _take_tasks(self) -> None:
        self._change(*self.news.tasks)
        self._drop()
        if not self.of_person:
            self._keep_in_order()

    def _drop(self) -> None:
        """Only a person may make the task smaller: an agent drops subtasks only in a turn that carries a person's message."""
        has_message = self.loop.turn is not None and self.loop.turn.messages
        known = {task.task_id for task in self.loop.tasks if not is_done(task)}
        dropped = [name for name in self.news.dropped if name in known]
        if has_message:
            self._change(*(SubtaskChange(name, remove=True) for name in dropped))
        elif dropped:
            self.notes.append(f"Only a person can drop subtasks: {', '.join(dropped[:10])} stay.")

    def _keep_in_order(self) -> None:
        """A subtask counts as done only after those that it depends on."""
        before = {task.task_id for task in self.loop.tasks if is_done(task)}
        early: list[str] = []
        while task := _done_too_early(self.after.tasks, before):
            early.append(task.task_id)
            self._change(SubtaskChange(task.task_id, status=SubtaskStatus.PENDING))
        if early:
            self.notes.append(
                f"Not counted as done, since they depend on others that are not: {', '.join(early[:10])}."
            )

    def _take_phases(self) -> None:
        self._take_summaries()
        asked = phase_of(self.loop)
        route, number = route_of(self.loop), current_phase(self.loop)
        said = set(self.news.phases)
        if number is not None and self.news.done is not False:
            linear = route is not None and not route.loops and self.in_turn
            said |= {number} if self.news.done or linear else set()
        if asked is None and route is None and self.news.done and self.news.route == "direct":
            said.add(1)
        if asked is Phase.REVIEW and self.news.score is not None:
            self._take_review(self.news.score)
        for phase in sorted(said):
            self._complete(phase)
        self._complete_subtasks()

    def _take_summaries(self) -> None:
        state, number = state_of(self.after), current_phase(self.loop)
        summaries = dict(state.summaries)
        for phase, text in self.news.summaries.items():
            if (place := phase or number) and text.strip():
                summaries[str(place)] = text.strip()[:LONGEST_SUMMARY]
        route = route_of(self.after)
        kept = {
            name: text
            for name, text in summaries.items()
            if route and name.isdecimal() and int(name) <= len(route.phases)
        }
        self._set(replace(state, summaries=kept))

    def _take_review(self, score: float) -> None:
        self._set(replace(state_of(self.after), score=score))
        needed = options(self.loop).review_threshold
        route = route_of(self.loop)
        if route is None or score >= needed:
            return
        findings = self.news.findings or (f"Fix what the review found: {self.news.summaries.get(0, 'see its answer')}",)
        self.notes.append(f"The review gave {score:g} of 100; {needed:g} are needed.")
        self._change(
            *(
                SubtaskChange(
                    f"fix-{self.loop.spend.iterations}-{place}", text=text[:LONGEST_TEXT], status=SubtaskStatus.PENDING
                )
                for place, text in enumerate(findings[: max(1, MOST_TASKS - len(self.after.tasks))], 1)
            )
        )

    def _complete(self, number: int) -> None:
        route, state = route_of(self.after), state_of(self.after)
        if route is None or not 1 <= number <= len(route.phases) or number in state.completed:
            return
        phase = route.phases[number - 1]
        is_last = number == len(route.phases) > 1
        if is_last and not self.of_person and current_phase(self.loop) != number:
            self.notes.append(
                f"Phase {number} looks at what the others left, and so comes after them in a turn of its own."
            )
            return
        if phase is Phase.REVIEW and route.loops and not self._passed():
            return
        if number == route.work and not all(map(is_done, self.after.tasks)):
            left = [task.task_id for task in self.after.tasks if not is_done(task)]
            self.notes.append(f"Phase {number} is not done while subtasks are not: {', '.join(left[:10])}.")
            return
        self._set(replace(state, completed=tuple(sorted({*state.completed, number}))))

    def _passed(self) -> bool:
        """Whether this turn was the review, and it passed."""
        score = self.news.score if phase_of(self.loop) is Phase.REVIEW else None
        if phase_of(self.loop) is Phase.REVIEW and score is None:
            self.notes.append("The review gave no score.")
        return score is not None and score >= options(self.loop).review_threshold

    def _reopen(self) -> None:
        """A subtask that is not done opens its phase again, and the phases after it."""
        route, state = route_of(self.after), state_of(self.after)
        if route is not None and not all(map(is_done, self.after.tasks)):
            self._set(replace(state, completed=tuple(number for number in state.completed if number < route.work)))

    def _complete_subtasks(self) -> None:
        """Complete the phase of the subtasks once all of them are done, even if the agent does not say so."""
        self._reopen()
        route, listed = route_of(self.after), self.after.tasks
        all_done = bool(listed) and all(map(is_done, listed))
        if all_done and route is not None and route.loops and current_phase(self.after) == route.work:
            self._complete(route.work)

    def _note_circle(self) -> None:
        """Note subtasks that can never be begun. The next prompt asks the agent to change their dependencies."""
        route, stuck = route_of(self.after), subtasks.circle(self.after.tasks)
        at_work = route is not None and current_phase(self.after) == route.work
        if stuck and at_work and subtasks.ready(self.after.tasks) is None:
            self.notes.append(
                f"These subtasks wait for each other, or for one that is not there: {', '.join(stuck[:10])}."
            )

    def _documents(self) -> dict[str, str]:
        title = self.loop.turn.label if self.loop.turn else ""
        summary = self.news.summaries.get(0, "")
        boxes = [
            f"- {change.task_id}: {(change.status or SubtaskStatus.PENDING).value}"
            for change in self.changes
            if not change.remove
        ]
        lines = chain((f"\n## Round {self.loop.spend.iterations}: {title}\n",), [summary] if summary else [], boxes)
        return {"progress.md": "\n".join(lines) + "\n"}


def _done_too_early(listed: tuple[Subtask, ...], done_before: set[str]) -> Subtask | None:
    done = {task.task_id for task in listed if is_done(task)}
    fresh = (task for task in listed if is_done(task) and task.task_id not in done_before)
    return next((task for task in fresh if not done.issuperset(task.depends_on)), None)


def _sentence(note: str) -> str:
    note = note[:1].upper() + note[1:]
    return note if note.endswith((".", "!", "?")) else f"{note}."
