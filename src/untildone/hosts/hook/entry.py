"""Starts and ends the hook: reads the agent's event, finds the session's loop, writes the reply. It never breaks the agent.

If anything fails, the reply is still valid JSON, the exit code is 0, the agent may stop, and the person gets the reason.
"""

from __future__ import annotations

import os
import sys
import time

from untildone import agents
from untildone.core.plugins.hook import ALLOW, PROMPT, STOP, HookCall, HookEvent
from untildone.core.values.plain_json import read_object, written
from untildone.hosts.hook import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from untildone.core.plugins.hook import Reply

USUAL_SECONDS = 60.0
"""How long the hook may take if its command line does not say."""
LEAST_MARGIN, MOST_MARGIN = 5.0, 30.0
"""Seconds that are reserved for writing and answering: a tenth of the time, within these bounds, and at most half of it."""
LARGEST_EVENT = 64 << 20
BROKER = "UNTILDONE_HOOK_SOCKET"
"""Names the socket of the host, for a hook in a box: the state of loops is out of its reach."""
CHECKED = "checked"
DRIVEN = "UNTILDONE_LOOP_ID"
"""Set in the environment of an agent that untildone started itself: the hook ignores its events."""


class TimeUp(BaseException):
    """The hook's time is used up. A BaseException, so that no handler on the way catches it."""


def main(arguments: list[str]) -> None:
    """The hook. Arguments: `AGENT KIND SECONDS [FOLDER [checked]]`, with FOLDER for a wrapped run. Does not return.

    `checked`: the event comes from the host of a wrapped agent in a box, in the form of `HookEvent`."""
    kind = arguments[1] if len(arguments) > 1 else STOP
    try:
        allowed = _seconds(arguments[2:3])
        margin = min(allowed / 2, max(LEAST_MARGIN, min(MOST_MARGIN, allowed / 10)))
        _set_alarm(allowed - margin / 2)
        call = HookCall(arguments[0] if arguments else agents.DEFAULT, kind, os.environ, time.time())
        if DRIVEN not in os.environ and (path := os.environ.get(BROKER, "")) and arguments[4:] != [CHECKED]:
            text = _brokered(path, kind)
        else:
            fields = {} if DRIVEN in os.environ else _answer(call, allowed - margin, arguments[3:])
            text = written(fields)
        _set_alarm(0)
    except BaseException as problem:
        _set_alarm(0)
        # All agents show this field to the person.
        text = written({"systemMessage": _sentence(problem, kind)})
    _leave(text)


def _answer(call: HookCall, seconds: float, arguments: list[str]) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    fields = read_object(_standard_input())
    hook = agents.hook_of(call.agent)
    event = _checked(fields) if arguments[1:] == [CHECKED] else hook.read(fields, call)
    return hook.reply(_reply(event, deadline, "".join(arguments[:1])))


def _checked(fields: dict[str, Any]) -> HookEvent:
    from untildone.core.values.codec import from_json

    return from_json(HookEvent, fields)


def _brokered(path: str, kind: str) -> str:
    """The answer of the host outside of the box in which this process runs."""
    from untildone.hosts.hook import broker

    return broker.ask(path, kind, _standard_input()).decode("utf-8", "replace").strip()


def _reply(event: HookEvent, deadline: float, run_folder: str) -> Reply:
    if event.kind == PROMPT:
        return _on_prompt(event, deadline, run_folder)
    if event.kind != STOP:
        return ALLOW
    note = sessions.find(event.session_id, event.folders)
    if note is None or note.rest_reported or _is_driven():
        return ALLOW
    from untildone.hosts.hook import stops

    return stops.answer(event, note, deadline)


def _is_driven() -> bool:
    """Whether a runner started the agent, also if the environment hides that. Such an agent has no person, so this is not a person's
    session."""
    _load_pathlib()
    from untildone.system import inside

    return bool(inside.of_runner())


def _load_pathlib() -> None:
    """Load `pathlib` without `urllib.parse`, which takes a tenth of a whole stop and serves one function that the hook does not call."""
    if "urllib.parse" in sys.modules:
        return
    stand_in = type(sys)("urllib.parse")
    stand_in.quote_from_bytes = _quoted_address  # type: ignore[attr-defined]
    sys.modules["urllib.parse"] = stand_in
    try:
        import pathlib  # noqa: F401
    finally:
        del sys.modules["urllib.parse"]


def _quoted_address(path: bytes) -> str:
    from urllib.parse import quote_from_bytes

    return quote_from_bytes(path)


def _on_prompt(event: HookEvent, deadline: float, run_folder: str) -> Reply:
    is_command = "until-done" in event.prompt[:100]
    if not (is_command or run_folder) or _is_driven():
        return ALLOW
    if is_command:
        from untildone.hosts.hook import prompts

        return prompts.answer(event, deadline)
    from untildone.hosts.hook import wrapped

    return wrapped.on_prompt(event, run_folder, deadline)


def _seconds(argument: list[str]) -> float:
    """How long the agent lets its hook run: the argument SECONDS, if it is valid."""
    try:
        allowed = float(argument[0]) if argument else USUAL_SECONDS
    except ValueError:
        allowed = USUAL_SECONDS
    return allowed if 1.0 <= allowed <= 1e6 else USUAL_SECONDS


def _set_alarm(seconds: float) -> None:
    """Have TimeUp raised after that many seconds; 0 cancels the alarm."""
    try:
        # The module `signal` imports `enum`, which takes time.
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
    """The problem as a sentence for the person. Uses no other module, because any of them may be broken."""
    if isinstance(problem, TimeUp):
        why = "the hook's time was used up"
    elif isinstance(problem, ValueError):
        why = f"the event from the agent cannot be read: {problem}"
    else:
        why = getattr(problem, "sentence", "") or f"{type(problem).__name__}: {problem}"
    printable = "".join(letter if letter.isprintable() else " " for letter in str(why)[:500]).strip().rstrip(".")
    return f"untildone: {printable}. {'The agent may stop' if kind == STOP else 'Nothing was started'}."


def _leave(text: str) -> None:
    """Write the reply and exit at once: an orderly shutdown of the interpreter takes as long as a whole call of the hook."""
    content = f"{text}\n".encode()
    try:
        while content:
            content = content[os.write(1, content) :]
    except OSError:
        pass
    sys.stderr.flush()
    os._exit(0)
