"""workflow: a state machine with the actions init, develop, debug, validate and complete."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from untildone import gates
from untildone.core.actions import Ask, AwaitPerson
from untildone.core.answers.subtasks import changed
from untildone.core.events import AnswerRead
from untildone.core.loop import Loop
from untildone.core.model import (
    EMPTY,
    Answer,
    Context,
    Outcome,
    Role,
    SessionUse,
    Subtask,
    SubtaskChange,
    SubtaskStatus,
)
from untildone.core.plugins.mode import FromFiles, PlainMode
from untildone.core.values.codec import timestamp
from untildone.modes._json_objects import objects, without_objects
from untildone.modes.workflow import prompts as texts
from untildone.modes.workflow.answers import MOST_TASKS, ActionAnswer, NotTheAnswer, parse, unfinished
from untildone.modes.workflow.options import FILE, WorkflowOptions, from_files, options_of

FAILURES_IN_A_ROW = 3
KEPT = 10
SHOWN_TASKS = 20
MENU = ("develop", "debug", "validate", "status", "complete", "exit")
DOCUMENTS = {"init": "progress.md", "develop": "progress.md", "debug": "understanding.md", "validate": "validation.md"}
_BOX = re.compile(r"- \[(?P<mark>[x! ])\] (?P<name>[^:\s]{1,60}): (?P<text>.*)")
_NUMBERED = dict(zip("123456", MENU, strict=True))


class Workflow(PlainMode):
    name = "workflow"
    default_iterations: int | None = 10
    works_by_hand = True
    files = (FILE,)
    reports_in_json = True
    documents = tuple(dict.fromkeys(DOCUMENTS.values()))

    def options(self, loop: Loop) -> WorkflowOptions:
        return options_of(loop.settings.options)

    def from_files(self, texts: Mapping[str, str]) -> FromFiles:
        return from_files(texts)

    def next(self, loop: Loop) -> Ask | AwaitPerson:
        action = None if loop.asks_person else choose(loop)
        if action is None:
            return _menu(loop)
        session = SessionUse.RESUME if loop.settings.context is Context.CONTINUE else SessionUse.NEW
        return Ask(Role.WORKER, prompt(loop, action), session, label=action)

    def recover(self, loop: Loop, documents: Mapping[str, str]) -> AnswerRead | None:
        """The subtasks, from the boxes in progress.md."""
        boxes = [_task_in(line) for line in documents.get("progress.md", "").splitlines()]
        tasks = tuple(change for change in boxes if change is not None)
        if not tasks:
            return None
        note = f"The state was lost; the tasks were restored from {len(tasks)} entries of progress.md."
        return AnswerRead(
            claimed=False, skill_state={"initialised": True, "last_action": "develop"}, note=note, tasks=tasks
        )

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        action = loop.turn.label if loop.turn else "develop"
        try:
            parsed = parse(answer.text, loop.tasks)
            if action == "validate" and parsed.passed is None:
                raise NotTheAnswer("a validation must say whether it passed")
        except NotTheAnswer as problem:
            return _failed(loop, action, str(problem))
        return _understood(loop, action, parsed)

    def spoken(self, text: str) -> str:
        return without_objects(text) or next(
            (str(each["message"]) for each in objects(text) if each.get("message")), ""
        )

    def standing(self, loop: Loop) -> tuple[str, ...]:
        errors = int((loop.skill_state or EMPTY).get("error_count", 0))
        return (f"validation {verdict(loop)}", *((_unusable(errors),) if errors else ()))

    def pending(self, loop: Loop) -> str:
        return choose(loop) or ""


def _unusable(errors: int) -> str:
    return "1 unusable answer" if errors == 1 else f"{errors} unusable answers"


def _menu(loop: Loop) -> AwaitPerson:
    """The menu; if the agent asks for a person, its question."""
    last = _word(loop, loop.inbox[-1]) if loop.inbox else ""
    more = status_lines(loop) if last == "status" else (texts.NOT_VALIDATED,) if last == "complete" else ()
    if not (asked := _question(loop)):
        return AwaitPerson("\n".join((menu_text(loop), *more)), MENU)
    return AwaitPerson("\n".join((asked, *more, f"Answer, or choose: {', '.join(MENU)}.")), reason=asked)


def _question(loop: Loop) -> str:
    """What the agent asked the person with its last answer; empty: nothing."""
    return str((loop.skill_state or EMPTY).get("wants_person") or "")


def choose(loop: Loop) -> str | None:
    """The next action, by the first rule that applies. None: a person chooses from the menu."""
    state = loop.skill_state or EMPTY
    if not state.get("initialised"):
        return "init"
    chosen = _chosen_by_person(loop)
    if chosen and (chosen != "complete" or may_complete(loop)):
        return chosen
    return None if loop.settings.interactive and not _messages(loop) else _automatic(loop, state)


def _chosen_by_person(loop: Loop) -> str | None:
    """The last menu choice among the person's messages; other messages are for the worker."""
    words = (_word(loop, message) for message in reversed(loop.inbox))
    return next((word for word in words if word in texts.INSTRUCTIONS), None)


def _word(loop: Loop, message: str) -> str:
    """The menu choice that a message names by word or, where a menu with numbers is shown, by number; else the message."""
    said, has_numbers = message.strip().lower(), loop.settings.interactive and not _question(loop)
    return _NUMBERED.get(said, said) if has_numbers else said


def may_complete(loop: Loop) -> bool:
    """Whether the last validation passed, nothing was done since, and no task is open."""
    return verdict(loop) == "passed" and _last_action(loop) not in ("develop", "debug") and not open_tasks(loop.tasks)


def _messages(loop: Loop) -> list[str]:
    """The person's messages that are not menu choices."""
    return [message for message in loop.inbox if _word(loop, message) not in MENU]


def _automatic(loop: Loop, state: Mapping[str, Any]) -> str:
    last, validate = state.get("last_action"), state.get("validate") or EMPTY
    statuses = [task.status for task in loop.tasks]
    if SubtaskStatus.PENDING in statuses or _messages(loop):
        return "develop"
    if last == "develop" and SubtaskStatus.FAILED in statuses:
        return "debug"
    if last in ("develop", "debug") or state.get("confirmed_since_validation"):
        return "validate"
    if last == "complete" or (last == "validate" and not validate.get("passed")):
        return "develop"
    return "complete" if validate.get("passed") else "develop"


def prompt(loop: Loop, action: str) -> str:
    instructions = options_of(loop.settings.options).actions.get(action) or texts.INSTRUCTIONS[action]
    sections = {
        "LOOP CONTEXT": f"Loop ID: {loop.loop_id}\nState File: .loop/{loop.loop_id}.json\n"
        f"Progress Dir: .loop/{loop.loop_id}.progress\nIteration: {loop.next_iteration}",
        "CURRENT STATE": json.dumps(shown_state(loop), ensure_ascii=False, indent=2),
        "ACTION INSTRUCTIONS": instructions,
        "TASK": f"You are executing {action} for loop: {loop.description}",
        "MESSAGE FROM THE PERSON": "\n\n".join(_messages(loop)),
        "WHAT FAILED": gates.failure_report(loop),
        "STILL OPEN": open_tasks(loop.tasks) if "complete" in (action, _last_action(loop)) else "",
        "CONTROL SIGNALS": texts.CONTROL,
        "RETURN": texts.RETURN,
    }
    return "\n\n".join(f"[{title}]\n{text}" for title, text in sections.items() if text)


def _last_action(loop: Loop) -> str:
    return str((loop.skill_state or EMPTY).get("last_action") or "none")


def open_tasks(tasks: tuple[Subtask, ...]) -> str:
    """The part of a prompt about the open subtasks; empty if there are none."""
    names = [task.task_id for task in tasks if task.status is not SubtaskStatus.COMPLETED]
    more = f" and {len(names) - SHOWN_TASKS} more" if len(names) > SHOWN_TASKS else ""
    return texts.OPEN.format(names=", ".join(names[:SHOWN_TASKS]) + more) if names else ""


def shown_state(loop: Loop) -> dict[str, Any]:
    """The state that the agent is shown."""
    state = {name: value for name, value in (loop.skill_state or EMPTY).items() if name != "wants_person"}
    done = sum(task.status is SubtaskStatus.COMPLETED for task in loop.tasks)
    listed = [{"id": task.task_id, "text": task.text, "status": task.status.value} for task in loop.tasks]
    develop = {"tasks": listed, "completed": done, "total": len(listed)}
    return {"status": loop.status.value, "title": loop.title, **state, "develop": develop}


def menu_text(loop: Loop) -> str:
    """The current state, for the line above the menu."""
    done = sum(task.status is SubtaskStatus.COMPLETED for task in loop.tasks)
    return f"Tasks: {done} of {len(loop.tasks)} done. Last action: {_last_action(loop)}. Validation: {verdict(loop)}. What next?"


def status_lines(loop: Loop) -> tuple[str, ...]:
    """All that the loop knows, one fact a line: rounds, tasks, what failed in the validation, hypotheses, errors."""
    state = loop.skill_state or EMPTY
    debug, validated = state.get("debug") or EMPTY, state.get("validate") or EMPTY
    most = "" if loop.budget.iterations is None else f" of {loop.budget.iterations}"
    return (
        f"Rounds: {loop.spend.iterations}{most} used. Actions so far: {', '.join(state.get('completed_actions', ()))}",
        *(f"{_MARKS[task.status]} {task.task_id}: {task.text}" for task in loop.tasks[:SHOWN_TASKS]),
        *(f"validation found: {failure}" for failure in validated.get("failures", ())),
        *(f"hypothesis: {each['text']} ({each['status']})" for each in debug.get("hypotheses", ())),
        *(
            f"error in {each['action']}, round {each['iteration']}: {each['message']}"
            for each in state.get("errors", ())
        ),
    )


_MARKS = {SubtaskStatus.COMPLETED: "[x]", SubtaskStatus.FAILED: "[!]", SubtaskStatus.PENDING: "[ ]"}


def verdict(loop: Loop) -> str:
    """The result of the last validation, in a word or two."""
    validated = (loop.skill_state or EMPTY).get("validate") or EMPTY
    return "not yet" if "passed" not in validated else "passed" if validated["passed"] else "failed"


def _understood(loop: Loop, action: str, answer: ActionAnswer) -> AnswerRead:
    state = dict(loop.skill_state or EMPTY)
    confirmed = answer.debug.get("confirmed_hypothesis")
    question = "" if answer.goes_on or action == "complete" else answer.message or "The agent asks for a person."
    state |= {
        "initialised": True,
        "last_action": action,
        "completed_actions": [*state.get("completed_actions", []), action][-KEPT:],
        "failures_in_a_row": 0,
        "wants_person": question if loop.settings.interactive else "",
    }
    if answer.debug:
        state["debug"] = {**(state.get("debug") or EMPTY), **answer.debug}
    if action == "validate":
        state |= {
            "validate": {"passed": answer.passed, "failures": list(answer.failures)},
            "confirmed_since_validation": False,
        }
    elif confirmed:
        state["confirmed_since_validation"] = True
    tasks = (*answer.tasks, *(_repair_tasks(loop, answer) if action == "validate" else ()))
    left = open_tasks(changed(loop.tasks, tasks)) if action == "complete" else ""
    return AnswerRead(
        claimed=action == "complete" and not left,
        skill_state=state,
        note=f"{answer.message}\n{left}".strip() if left else answer.message,
        tasks=(*tasks, *_forgotten(loop, tasks)),
        gives_up="" if loop.settings.interactive else question,
        gives_up_as=Outcome.PAUSED,
        documents=_documents(loop, action, answer, tasks),
        subtasks_done=sum(task.status is SubtaskStatus.COMPLETED for task in changed(loop.tasks, tasks)),
    )


def _forgotten(loop: Loop, changes: tuple[SubtaskChange, ...]) -> tuple[SubtaskChange, ...]:
    """Remove the oldest completed subtasks if there are more than MOST_TASKS, so that the prompts do not grow without bound."""
    after = changed(loop.tasks, changes)
    done = [task.task_id for task in after if task.status is SubtaskStatus.COMPLETED]
    return tuple(SubtaskChange(name, remove=True) for name in done[: max(0, len(after) - MOST_TASKS)])


def _repair_tasks(loop: Loop, answer: ActionAnswer) -> tuple[SubtaskChange, ...]:
    """New subtasks for what failed in a validation."""
    if answer.passed:
        return ()
    room = max(1, MOST_TASKS - unfinished(loop.tasks))
    wrong = answer.failures[:room] or ("Fix what the validation found.",)
    return tuple(
        SubtaskChange(f"fix-{loop.spend.iterations}-{number}", text=text, status=SubtaskStatus.PENDING)
        for number, text in enumerate(wrong, 1)
    )


def _documents(loop: Loop, action: str, answer: ActionAnswer, tasks: tuple[SubtaskChange, ...]) -> dict[str, str]:
    if action not in DOCUMENTS:
        return {}
    known = {task.task_id: task for task in loop.tasks}
    lines = [f"\n## Round {loop.spend.iterations}: {action}\n", answer.message, ""]
    lines += [_checkbox(change, known.get(change.task_id)) for change in tasks]
    lines += [f"- {each['status']}: {each['text']} ({each['evidence']})" for each in answer.debug.get("hypotheses", [])]
    lines += [f"- failed: {failure}" for failure in answer.failures]
    return {DOCUMENTS[action]: "\n".join(lines) + "\n"}


def _checkbox(change: SubtaskChange, known: Subtask | None) -> str:
    status = change.status or (known.status if known else SubtaskStatus.PENDING)
    text = change.text or (known.text if known else "")
    return f"- {_MARKS[status]} {change.task_id}: {text}"


def _task_in(line: str) -> SubtaskChange | None:
    box = _BOX.match(line)
    if box is None:
        return None
    status = {"x": SubtaskStatus.COMPLETED, "!": SubtaskStatus.FAILED}.get(box["mark"], SubtaskStatus.PENDING)
    return SubtaskChange(box["name"], text=box["text"] or None, status=status)


def _failed(loop: Loop, action: str, problem: str) -> AnswerRead:
    state = dict(loop.skill_state or EMPTY)
    in_a_row = int(state.get("failures_in_a_row", 0)) + 1
    error = {
        "action": action,
        "message": problem,
        "iteration": loop.spend.iterations,
        "timestamp": timestamp(loop.updated_at),
    }
    state |= {
        "errors": [*state.get("errors", []), error][-KEPT:],
        "error_count": int(state.get("error_count", 0)) + 1,
        "failures_in_a_row": in_a_row,
    }
    note = f"The answer to {action} could not be used: {problem}"
    end = f"{in_a_row} actions in a row failed; the last: {problem}." if in_a_row >= FAILURES_IN_A_ROW else ""
    return AnswerRead(claimed=False, skill_state=state, note=note, gives_up=end)


MODE = Workflow()
