"""The hook's way in and out: reads what the agent tells, finds the session's loop, answers. It never breaks the agent.

Whatever goes wrong here, the answer is valid, the exit code is 0, the agent may stop, and the person is told why.
"""

from __future__ import annotations

import os
import sys
import time

from untildone.core.hook import ALLOW, PROMPT, STOP, HookEvent, Reply
from untildone.hosts.hook import occasions, replies, sessions

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
    """`AGENT KIND SECONDS [FOLDER]`, as written by the installation, or for one run with a folder. Does not return."""
    told = (arguments[0] if arguments else "", arguments[1] if len(arguments) > 1 else STOP)
    at, agent = time.time(), told[0]
    try:
        allowed = _seconds(arguments[2:3])
        margin = min(allowed / 2, max(LEAST_MARGIN, min(MOST_MARGIN, allowed / 10)))
        _set_alarm(allowed - margin / 2)
        if DRIVEN in os.environ:
            reply = ALLOW
        else:
            event = occasions.read(_standard_input(), told, os.environ, at)
            agent = event.agent
            reply = _reply(event, time.monotonic() + allowed - margin, "".join(arguments[3:4]))
        _set_alarm(0)
    except BaseException as problem:
        _set_alarm(0)
        reply = _let_go(problem, told[1])
    _leave(replies.as_json(reply, agent))


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


def _let_go(problem: BaseException, kind: str) -> Reply:
    """Anything may have failed, so this relies on nothing."""
    if isinstance(problem, TimeUp):
        why = "the hook's time was used up"
    elif isinstance(problem, ValueError):
        why = f"what the agent told its hook cannot be understood: {problem}"
    else:
        why = getattr(problem, "sentence", "") or f"{type(problem).__name__}: {problem}"
    told = "".join(letter if letter.isprintable() else " " for letter in str(why)[:500]).strip().rstrip(".")
    return Reply(user_message=f"untildone: {told}. {'The agent may stop' if kind == STOP else 'Nothing was started'}.")


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
