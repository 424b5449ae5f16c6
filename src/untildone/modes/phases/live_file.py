"""Writes the live state file of a loop in phases; `live_reading` reads it back."""

from __future__ import annotations

from datetime import UTC, datetime

from untildone.core.limits import duration
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status, Subtask, SubtaskStatus
from untildone.modes.phases.state import (
    Phase,
    Route,
    current_phase,
    done_phases,
    is_done,
    is_finished,
    route_of,
    state_of,
)

PROMISE = "<promise>TASK_COMPLETE</promise>"
NONE, NOT_DONE = "(none)", "<!-- not done yet -->"
SHOWN_TASK = 300

TITLES = {
    Phase.EXECUTION: "Execution",
    Phase.DESIGN: "Design",
    Phase.ARCHITECTURE: "Architecture",
    Phase.ANALYSIS: "Deep analysis",
    Phase.PLAN: "Planning",
    Phase.IMPLEMENTATION: "Implementation",
    Phase.SUBTASKS: "Subtasks",
    Phase.REVIEW: "Comprehensive review",
    Phase.PREVIEW: "Preview",
}


def render(loop: Loop) -> str:
    sections = {
        "Meta": _meta(loop),
        "Iteration": _iteration(loop),
        "Progress": _progress(loop),
        "Pending Work": pending_work(loop),
        "Completed Work": completed_work(loop),
        "Promise": PROMISE if is_finished(loop) and not loop.failed_gates else NOT_DONE,
        "Completion Summary": _completion(loop) if loop.status is Status.COMPLETED else "",
    }
    body = "\n\n".join(f"## {title}\n{text}" for title, text in sections.items() if text)
    return f"# Delta Loop State\n\n{body}\n"


def _meta(loop: Loop) -> str:
    route = route_of(loop)
    return (
        f"- Task ID: {loop.loop_id}\n- Route: {route.name.upper() if route else 'AUTO'}\n"
        f"- Started: {_time(loop.created_at)}\n- Last Updated: {_time(loop.updated_at)}"
    )


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"


def _iteration(loop: Loop) -> str:
    most = "none" if loop.budget.iterations is None else loop.budget.iterations
    return f"- Current: {max(1, loop.spend.iterations)}\n- Max Allowed: {most}\n- Status: {_status(loop)}"


def _status(loop: Loop) -> str:
    if loop.status is Status.COMPLETED:
        return "COMPLETED"
    if loop.outcome in (Outcome.STOPPED, Outcome.ABANDONED):
        return "USER_ABORT"
    return "FAILED" if loop.status is Status.FAILED else "IN_PROGRESS"


def _progress(loop: Loop) -> str:
    route, done = route_of(loop), done_phases(loop)
    last = len(route.phases) if route else 1
    return (
        f"- Current Phase: {current_phase(loop) or last}\n- Completed Phases: {list(done)}\n"
        f"- Current Subtask: {subtask_count(loop)}"
    )


def subtask_count(loop: Loop) -> str:
    return f"{sum(map(is_done, loop.tasks))} / {len(loop.tasks)}"


def pending_work(loop: Loop) -> str:
    return "\n".join(f"{place}. {line}" for place, line in enumerate(pending_lines(loop), 1)) or NONE


def pending_lines(loop: Loop) -> list[str]:
    """What is left to do, in order."""
    route, done = route_of(loop), done_phases(loop)
    if route is None:
        return ["Choose the route"]
    numbers = (number for number in range(1, len(route.phases) + 1) if number not in done)
    lines = [f"Phase {number}: {_pending_phase(loop, route, number)}" for number in numbers]
    if loop.failed_gates:
        lines.append("Fix what the checks found")
    return lines


def _pending_phase(loop: Loop, route: Route, number: int) -> str:
    left = sum(not is_done(task) for task in loop.tasks)
    if number != route.work or not left:
        return (
            "Carry out the subtasks" if route.phases[number - 1] is Phase.SUBTASKS else TITLES[route.phases[number - 1]]
        )
    noun = "subtask" if left == 1 else "subtasks"
    return f"Carry out {left} {noun}" if left == len(loop.tasks) else f"Finish the remaining {left} {noun}"


def completed_work(loop: Loop, *, boxes: bool = True) -> str:
    route, done, summaries = route_of(loop), done_phases(loop), state_of(loop).summaries
    if route is None:
        return NONE
    shows_tasks = loop.tasks and (current_phase(loop) in (route.work, None) or any(map(is_done, loop.tasks)))
    blocks = []
    for number, phase in enumerate(route.phases, 1):
        lines = [_bullet(line) for line in summaries.get(str(number), "").splitlines() if line.strip()]
        with_tasks = boxes and shows_tasks and number == route.work
        if with_tasks:
            lines += [task_line(place, task, loop.tasks) for place, task in enumerate(loop.tasks, 1)]
        if lines or number in done:
            title = "Subtask progress" if with_tasks else TITLES[phase]
            blocks.append("\n".join((f"### Phase {number}: {title}", *lines)))
    return "\n\n".join(blocks) or NONE


def _bullet(line: str) -> str:
    line = _defused(line.strip())
    return line if line.startswith(("- ", "* ", "+ ")) else f"- {line.lstrip('#>').strip()}"


def _defused(text: str) -> str:
    """An agent's text, so that it cannot read as a promise nor hide the text after it."""
    return text.replace("<promise>", "‹promise›").replace("<!--", "‹!--")


def task_line(place: int, task: Subtask, tasks: tuple[Subtask, ...]) -> str:
    places = {each.task_id: str(number) for number, each in enumerate(tasks, 1)}
    needs = ", ".join(places.get(name, name) for name in task.depends_on)
    after = f" (after {needs})" if needs else ""
    failed = " (failed)" if task.status is SubtaskStatus.FAILED else ""
    return f"- [{'x' if is_done(task) else ' '}] Subtask {place}: {shown(task.text)}{after}{failed}"


def shown(text: str) -> str:
    """A text on one line, not too long."""
    line = _defused(" ".join(text.split()))
    return line if len(line) <= SHOWN_TASK else line[: SHOWN_TASK - 1].rstrip() + "…"


def _completion(loop: Loop) -> str:
    score = state_of(loop).score
    lines = [
        f"- Total Iterations: {loop.spend.iterations}",
        f"- Total Duration: {duration(loop.updated_at - loop.created_at)}",
        f"- Files Modified: {loop.changes.files if loop.changes.tree else 'unknown'}",
        *([] if score is None else [f"- Review Score: {score:g}/100"]),
    ]
    return "\n".join(lines)
