"""Starts and ends the hook: reads the agent's event, finds the session's loop, writes the reply. It never breaks the agent.

If anything fails, the reply is still valid JSON, the exit code is 0, the agent may stop, and the person gets the reason.
"""

from __future__ import annotations

import os
import sys
import time

from untildone import agents
from untildone.core.hook import ALLOW, PROMPT, STOP, HookCall
from untildone.core.plain_json import read_object, written
from untildone.hosts.hook import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from untildone.core.hook import HookEvent, Reply

USUAL_SECONDS = 60.0
"""How long a hook may take whose installation does not say."""
LEAST_MARGIN, MOST_MARGIN = 5.0, 30.0
"""What is kept back of that time to write down what happened and to answer: a tenth, within these seconds; never more than half."""
LARGEST_EVENT = 64 << 20
DRIVEN = "UNTILDONE_LOOP_ID"
"""Set in the environment of an agent that untildone itself started: its stops are nobody else's business."""


class TimeUp(BaseException):
    """The hook's time is used up. Nothing that goes wrong on the way may keep it from answering."""


def main(arguments: list[str]) -> None:
    """`AGENT KIND SECONDS [FOLDER]`: what the installed hook, or that of a wrapped run, is started with. Does not return."""
    kind = arguments[1] if len(arguments) > 1 else STOP
    try:
        allowed = _seconds(arguments[2:3])
        margin = min(allowed / 2, max(LEAST_MARGIN, min(MOST_MARGIN, allowed / 10)))
        _set_alarm(allowed - margin / 2)
        call = HookCall(arguments[0] if arguments else agents.DEFAULT, kind, os.environ, time.time())
        fields = {} if DRIVEN in os.environ else _answer(call, allowed - margin, "".join(arguments[3:4]))
        _set_alarm(0)
    except BaseException as problem:
        _set_alarm(0)
        # All agents show this field to the person.
        fields = {"systemMessage": _sentence(problem, kind)}
    _leave(written(fields))


def _answer(call: HookCall, seconds: float, run_folder: str) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    content = _standard_input()
    hook = agents.hook_of(call.agent)
    return hook.reply(_reply(hook.read(read_object(content), call), deadline, run_folder))


def _reply(event: HookEvent, deadline: float, run_folder: str) -> Reply:
    if event.kind == PROMPT:
        if "until-done" not in event.prompt[:100]:
            return _heard(event, deadline, run_folder) if run_folder else ALLOW
        from untildone.hosts.hook import prompts

        return prompts.answer(event, deadline)
    if event.kind != STOP:
        return ALLOW
    note = sessions.find(event.session_id, event.folders)
    if note is None or note.told:
        return ALLOW
    from untildone.hosts.hook import stops

    return stops.answer(event, note, deadline)


def _heard(event: HookEvent, deadline: float, run_folder: str) -> Reply:
    from untildone.hosts.hook import wrapped

    return wrapped.heard(event, run_folder, deadline)


def _seconds(told: list[str]) -> float:
    """How long the agent lets its hook take."""
    try:
        allowed = float(told[0]) if told else USUAL_SECONDS
    except ValueError:
        allowed = USUAL_SECONDS
    return allowed if 1.0 <= allowed <= 1e6 else USUAL_SECONDS


def _set_alarm(seconds: float) -> None:
    """The system's own clock ends what takes too long; 0 takes the alarm back."""
    try:
        # The module `signal` would bring enumerations along.
        import _signal  # type: ignore[import-not-found]
    except ImportError:
        return
    if not hasattr(_signal, "setitimer"):
        return
    if seconds:
        _signal.signal(_signal.SIGALRM, _time_is_up)
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def _time_is_up(_number: int, _frame: object) -> None:
    raise TimeUp


def _standard_input() -> bytes:
    chunks, size = [], 0
    while chunk := os.read(0, 1 << 16):
        chunks.append(chunk)
        size += len(chunk)
        if size > LARGEST_EVENT:
            raise ValueError("it is too large")
    return b"".join(chunks)


def _sentence(problem: BaseException, kind: str) -> str:
    """What went wrong, for the person. Any part of the program may be broken, so this uses none."""
    if isinstance(problem, TimeUp):
        why = "the hook's time was used up"
    elif isinstance(problem, ValueError):
        why = f"what the agent told its hook cannot be understood: {problem}"
    else:
        why = getattr(problem, "sentence", "") or f"{type(problem).__name__}: {problem}"
    printable = "".join(letter if letter.isprintable() else " " for letter in str(why)[:500]).strip().rstrip(".")
    return f"untildone: {printable}. {'The agent may stop' if kind == STOP else 'Nothing was started'}."


def _leave(text: str) -> None:
    """At once: putting an interpreter away in order takes as long as a small hook."""
    content = f"{text}\n".encode()
    try:
        while content:
            content = content[os.write(1, content) :]
    except OSError:
        pass
    sys.stderr.flush()
    os._exit(0)
