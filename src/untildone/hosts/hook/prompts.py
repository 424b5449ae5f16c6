"""`/until-done …` in a session: the prompt is parsed here and passed to the command line without a shell."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from typing import Any

from untildone.core.plugins.hook import ALLOW, HookEvent, Reply
from untildone.core.values.plain_json import read_object
from untildone.core.values.value import dataclass
from untildone.hosts.hook import sessions

MOST_CONTEXT = 9_000
"""Characters. Agents show only the beginning of a longer context."""
_COMMAND = re.compile(r"\s*/?(?:untildone:)?until-done(-status|-cancel)?(?:\s+|$)", re.IGNORECASE)
_WORD = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|\S+)""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command to untildone in a prompt: `start`, `status` or `cancel`."""

    verb: str
    task: str = ""
    flags: tuple[str, ...] = ()


def parse(prompt: str) -> SlashCommand | None:
    """The command in a prompt; None: the prompt is not for untildone."""
    command = _COMMAND.match(prompt)
    if command is None:
        return None
    if command[1]:
        return SlashCommand(command[1].lower().removeprefix("-"))
    task, flags = _task_and_flags(prompt[command.end() :].strip())
    return SlashCommand("start", task, flags)


def _task_and_flags(text: str) -> tuple[str, tuple[str, ...]]:
    """The task as typed, up to the first flag, and the flags. Flags may also come first, before a quoted task."""
    # Imported late: most prompts are not for untildone.
    from untildone.settings.declared import HOOK, flag_names

    known = flag_names(HOOK)
    words = [(match.start(1), match[1]) for match in _WORD.finditer(text)]
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
    """Carry out the command in a prompt."""
    command = parse(event.prompt)
    if command is None or not sessions.is_name(event.session_id):
        return ALLOW
    folder = next((place for place in event.folders if os.path.isdir(place)), os.getcwd())
    common = ("--session", event.session_id, "--dir", folder, "--json")
    if command.verb != "start":
        return reply_from(run_command(("hook", command.verb, *common), deadline))
    own = ("--agent", event.agent, "--prompted-at", repr(event.at))
    task = ("--", command.task) if command.task else ()
    return reply_from(run_command(("hook", "start", *common, *own, *command.flags, *task), deadline))


def run_command(arguments: tuple[str, ...], deadline: float, given: str = "") -> dict[str, Any]:
    """Run untildone's command line, which reads the settings that the hook itself does not load; return its JSON output."""
    ended = subprocess.run(
        own_command(*arguments),
        env=own_environment(),
        input=given.encode("utf-8", "replace"),
        capture_output=True,
        timeout=max(1.0, deadline - time.monotonic()),
    )
    if ended.returncode == 0:
        return read_object(ended.stdout)
    return {"refused": ended.stderr.decode("utf-8", "replace").strip() or f"exit code {ended.returncode}"}


def own_command(*arguments: str) -> tuple[str, ...]:
    """A command of this untildone, with its full path: the PATH of the session may lead to another one."""
    return (sys.executable, "-P", "-m", "untildone", *arguments)


def own_environment() -> dict[str, str]:
    """The environment of the hook, in which Python finds untildone."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}


def reply_from(output: dict[str, Any]) -> Reply:
    """The hook's reply for the output of a command. A refusal or an answer to the person blocks the prompt."""
    if refused := output.get("refused"):
        return Reply(block_reason=f"untildone: {str(refused).removeprefix('untildone: ')}")
    prompt, message = output.get("prompt"), str(output.get("message", ""))
    if not isinstance(prompt, str):
        return Reply(block_reason=f"untildone: {message}")
    if len(prompt) > MOST_CONTEXT:
        prompt = prompt.replace(str(output.get("task", "")), "(The task is in the prompt above.)", 1)[-MOST_CONTEXT:]
    context = (
        f"untildone: {message} Do not stop before the task is done: when you do, your work is checked.\n\n{prompt}"
    )
    return Reply(user_message=f"untildone: {message}", extra_context=context if output.get("new", True) else "")
