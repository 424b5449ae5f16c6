"""`/until-done …` in a session: the prompt is data, taken apart here and handed on without any shell."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from typing import Any

from untildone.core.hook import ALLOW, HookEvent, Reply
from untildone.core.plain_json import read_object
from untildone.core.value import dataclass
from untildone.hosts.hook import sessions

MOST_CONTEXT = 9_000
"""Characters: of more, agents show only the beginning."""
_COMMAND = re.compile(r"\s*/?(?:untildone:)?until-done(-status|-cancel)?(?:\s+|$)", re.IGNORECASE)
_WORD = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|\S+)""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a prompt asks of untildone: `start`, `status` or `cancel`."""

    verb: str
    task: str = ""
    flags: tuple[str, ...] = ()


def understood(prompt: str) -> Wanted | None:
    """What the prompt asks for; None if it is not for untildone."""
    command = _COMMAND.match(prompt)
    if command is None:
        return None
    if command[1]:
        return Wanted(command[1].lower().removeprefix("-"))
    task, flags = _taken_apart(prompt[command.end() :].strip())
    return Wanted("start", task, flags)


def _taken_apart(text: str) -> tuple[str, tuple[str, ...]]:
    """The task as it was typed, up to the first flag, then the flags. Flags may also come first, before a quoted task."""
    # Only here: most prompts are not for untildone, and pay nothing for it.
    from untildone.settings.declared import HOOK, flag_names

    known = flag_names(HOOK)
    words = [(found.start(1), found[1]) for found in _WORD.finditer(text)]
    first = next((start for start, word in words if word.partition("=")[0] in known), len(text))
    task, flags = text[:first].strip(), _split(text[first:])
    if not task and flags and words[-1][1][:1] in "\"'":
        return flags[-1], flags[:-1]
    return _unquoted(task), flags


def _split(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def _unquoted(task: str) -> str:
    whole = _WORD.fullmatch(task)
    return _split(task)[0] if whole and task[:1] in "\"'" and len(_split(task)) == 1 else task


def answer(event: HookEvent, deadline: float) -> Reply:
    wanted = understood(event.prompt)
    if wanted is None or not sessions.is_name(event.session_id):
        return ALLOW
    folder = next((place for place in event.folders if os.path.isdir(place)), os.getcwd())
    common = ("--session", event.session_id, "--dir", folder, "--json")
    if wanted.verb != "start":
        return told(ask(("hook", wanted.verb, *common), deadline))
    own = ("--agent", event.agent, "--prompted-at", repr(event.at))
    task = ("--", wanted.task) if wanted.task else ()
    return told(ask(("hook", "start", *common, *own, *wanted.flags, *task), deadline))


def ask(arguments: tuple[str, ...], deadline: float, given: str = "") -> dict[str, Any]:
    """What the command line says to it. It has all of untildone's settings, which this program does without."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "untildone", *arguments],
        env=environment,
        input=given.encode("utf-8", "replace"),
        capture_output=True,
        timeout=max(1.0, deadline - time.monotonic()),
    )
    if ended.returncode == 0:
        return read_object(ended.stdout)
    return {"refused": ended.stderr.decode("utf-8", "replace").strip() or f"exit code {ended.returncode}"}


def told(said: dict[str, Any]) -> Reply:
    """A refusal, and an answer to the person, go no further than to the person."""
    if refused := said.get("refused"):
        return Reply(block_reason=f"untildone: {str(refused).removeprefix('untildone: ')}")
    prompt, message = said.get("prompt"), str(said.get("message", ""))
    if not isinstance(prompt, str):
        return Reply(block_reason=f"untildone: {message}")
    if len(prompt) > MOST_CONTEXT:
        prompt = prompt.replace(str(said.get("task", "")), "(The task is in the prompt above.)", 1)[-MOST_CONTEXT:]
    context = (
        f"untildone: {message} Do not stop before the task is done: when you do, your work is checked.\n\n{prompt}"
    )
    return Reply(user_message=f"untildone: {message}", extra_context=context if said.get("new", True) else "")
