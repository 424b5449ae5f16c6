"""The prompts of the mode phases: of a turn, and of an agent in a person's own session that wants to stop."""

from __future__ import annotations

from untildone import gates
from untildone.core.answers import subtasks
from untildone.core.live_file import FOLDER, NAME
from untildone.core.loop import Loop
from untildone.core.model import Subtask, SubtaskStatus
from untildone.modes.phases.live_file import PROMISE, TITLES, completed_work, pending_work, shown, subtask_count
from untildone.modes.phases.state import Phase, current_phase, is_done, options, phase_of, route_of, state_of

CHOOSE = """Look at the task and at the workspace, and choose how to go about it. Change nothing yet. Score the task from 0 (a
word to change) to 100 (a system to build), and choose a route:
- direct: done in one go (below 25)
- planned: plan, implement, review (below 50)
- ui_flow: design, implement, preview: for work on a user interface
- ralph: analysis, plan, subtasks, review, until it is done (below 80)
- architect: architecture first, then as ralph
If you choose direct, do the task at once."""

INSTRUCTIONS = {
    Phase.EXECUTION: "Do the task, completely, and check that it works.",
    Phase.DESIGN: "Design the user interface: what is seen, what can be done, what happens then. Do not implement it yet.",
    Phase.ARCHITECTURE: "Design the architecture: the parts, what each is responsible for, how they talk, what could go wrong. Write no "
    "code yet.",
    Phase.ANALYSIS: "Analyse the task and the workspace in depth: what is there, what is asked, what depends on what, what is risky. "
    "Change nothing yet.",
    Phase.PLAN: "Plan the work.",
    Phase.IMPLEMENTATION: "Carry the plan out, completely, and check that it works.",
    Phase.REVIEW: "Review all of the work as a stranger would: run the tests, try it, compare it with the task. Fix nothing now. "
    "Give it a score from 0 to 100 (`review_score`), and say what is wrong (`findings`, one sentence each).",
    Phase.PREVIEW: "Run what was built, look at it as its user would, and fix what is wrong with it.",
}

PLAN_SUBTASKS = """Plan the work: break it into subtasks that can each be done and checked on their own. Answer with all of them in
`subtasks`, each `{"id": "s1", "text": "…", "depends_on": []}`; `depends_on` names those that must be done before it."""

DO_SUBTASKS = """Do the subtask {first}; then go on with the next ones whose dependencies are done, as far as it makes sense in one go.
Tell in `subtasks` what became of each one that you touched: `{{"id": "…", "status": "completed"}}`, or `failed` if it does not work.
New work that you found is a new subtask."""

NO_SUBTASKS = (
    """No subtasks are planned. Answer with those that are needed in `subtasks`, or do the work and set `phase_done`."""
)

MEND_FAILED = (
    """These subtasks failed: {names}. Find out why, and do them in another way: say `completed` once they work."""
)

MEND_CIRCLE = """These subtasks wait for each other, or for one that is not there: {names}. So none of them can be begun. Answer with the
same subtasks in `subtasks`, with `depends_on` corrected."""

MEND_GATES = "All phases are done, but it is not finished: see below. Do what is missing, completely."

ANSWER = f"""When you are done for this turn, end your answer with one JSON object:
{{"phase_done": true or false, "summary": "what you did, in a few lines"<more>}}
The live state is in `{FOLDER}/` (usually `{FOLDER}/{NAME}`; Task ID <loop>). You may keep it up to date: boxes, Completed
Phases, Completed Work. Where you are not allowed to, your answer is enough. `{PROMISE}` is written there once every phase and every
subtask is done."""


DROP = "\nA subtask that the person no longer wants gets the status `dropped`."
CHOICE = ', "route": "…", "score": 0 to 100'


def prompt(loop: Loop) -> str:
    route = route_of(loop)
    sections = {
        "": loop.description,
        "WHERE IT STANDS": _place(loop),
        "DONE SO FAR": completed_work(loop, boxes=False) if route else "",
        "STILL TO DO": pending_work(loop) if route else "",
        "SUBTASKS": "\n".join(_task_line(task) for task in loop.tasks),
        "MESSAGE FROM THE PERSON": "\n\n".join(loop.inbox),
        "WHAT FAILED": gates.failure_report(loop),
    }
    shown = (f"[{title}]\n{text}" if title else text for title, text in sections.items() if text)
    return "\n\n".join((*shown, instructions(loop)))


def instructions(loop: Loop) -> str:
    """The end of every prompt: what was refused of the last answer, what to do now, and how to answer."""
    sections = {
        "NOT TAKEN FROM YOUR LAST ANSWER": "\n".join(f"- {problem}" for problem in state_of(loop).problems),
        "WHAT TO DO NOW": _instruction(loop),
        "ANSWER": _answer(loop),
    }
    return "\n\n".join(f"[{title}]\n{text}" for title, text in sections.items() if text)


def _place(loop: Loop) -> str:
    route, number, phase = route_of(loop), current_phase(loop), phase_of(loop)
    most = "" if loop.budget.iterations is None else f" of {loop.budget.iterations}"
    iteration = f"Iteration {loop.next_iteration}{most}."
    if route is None:
        return f"Nothing is chosen yet. {iteration}"
    where = f"phase {number} of {len(route.phases)}: {TITLES[phase]}" if phase else "all phases done"
    score = state_of(loop).score
    review = (
        ""
        if score is None
        else f" The last review gave {score:g} of 100; {options(loop).review_threshold:g} are needed."
    )
    return f"Route {route.name.upper()}, {where}. {iteration}{review if route.loops else ''}"


def _task_line(task: Subtask) -> str:
    needs = f" (after {', '.join(task.depends_on)})" if task.depends_on else ""
    mark = {SubtaskStatus.COMPLETED: "x", SubtaskStatus.FAILED: "!", SubtaskStatus.PENDING: " "}[task.status]
    return f"- [{mark}] {task.task_id}: {shown(task.text)}{needs}"


def _instruction(loop: Loop) -> str:
    route, phase = route_of(loop), phase_of(loop)
    if route is None:
        return CHOOSE
    if phase is None:
        return MEND_GATES
    if phase is Phase.PLAN and route.loops:
        return PLAN_SUBTASKS
    if phase is Phase.SUBTASKS or (current_phase(loop) == route.work and loop.tasks):
        return _subtask_instruction(loop)
    return INSTRUCTIONS[phase]


def _subtask_instruction(loop: Loop) -> str:
    first = subtasks.ready(loop.tasks)
    if first is not None:
        return DO_SUBTASKS.format(first=f"{first.task_id} ({first.text})") + (DROP if loop.inbox else "")
    if failed := [task.task_id for task in loop.tasks if task.status is SubtaskStatus.FAILED]:
        return MEND_FAILED.format(names=", ".join(failed))
    if stuck := subtasks.circle(loop.tasks):
        return MEND_CIRCLE.format(names=", ".join(stuck))
    return NO_SUBTASKS


def _answer(loop: Loop) -> str:
    route, phase = route_of(loop), phase_of(loop)
    more = ""
    if route is None:
        more = CHOICE
    elif phase is Phase.REVIEW:
        more = ', "review_score": 0 to 100, "findings": ["…"]'
    elif (route.loops and phase in (Phase.PLAN, Phase.SUBTASKS)) or loop.tasks:
        more = ', "subtasks": [ … ]'
    return ANSWER.replace("<more>", more).replace("<loop>", loop.loop_id)


REINJECTION = """{double}
🔄 Iteration continues | Round {round}
{double}

## Progress so far
{done}

## Pending work
{pending}
{more}
## Where it stands
- Route: {route}
- Phase: Phase {phase}
- Subtask: {subtask}

## Instructions
Go on with the work that is not finished. When all of it is done, you must set in the state file:
{promise}

{single}
"""


def in_session(loop: Loop) -> str:
    """The prompt that sends the agent of a person's own session back to work."""
    return f"{reinjection(loop)}\n{instructions(loop)}"


def reinjection(loop: Loop) -> str:
    """A short report of the loop's progress."""
    route = route_of(loop)
    failed = gates.failure_report(loop)
    more = [f"\n## What failed\n{failed}\n"] if failed else []
    more += [f"\n## Message from the person\n{text}\n" for text in loop.inbox]
    return REINJECTION.format(
        double="═" * 60,
        single="─" * 60,
        round=loop.next_iteration
        if loop.budget.iterations is None
        else f"{loop.next_iteration}/{loop.budget.iterations}",
        done=completed_work(loop),
        pending=pending_work(loop),
        more="".join(more),
        route=route.name.upper() if route else "AUTO",
        phase=current_phase(loop) or _last(loop),
        subtask=subtask_count(loop),
        promise=PROMISE,
    )


def _last(loop: Loop) -> int:
    route = route_of(loop)
    return len(route.phases) if route else 1


def unfinished(loop: Loop) -> str:
    """What is missing, in a few words."""
    route, number = route_of(loop), current_phase(loop)
    left = [task.task_id for task in loop.tasks if not is_done(task)]
    if route is None:
        return "no route is chosen"
    phases = f"phase {number} of {len(route.phases)} is not done"
    return f"{phases}, nor are the subtasks {', '.join(left[:10])}" if left else phases
