"""Any program: the prompt on standard input, the answer on standard output. It has no sessions."""

from __future__ import annotations

import shlex
from functools import lru_cache

from untildone.agents._lines import with_system_prompt
from untildone.core.errors import UsageError
from untildone.core.plugins.agent_io import Invocation, Request


def invocation(request: Request) -> Invocation:
    """The command line of one run."""
    prompt = with_system_prompt(request.prompt, request.system_prompt)
    argv = (*split(request.command), *request.args)
    return Invocation(argv, stdin=prompt.encode("utf-8", "replace"), prints_text=True)


@lru_cache(maxsize=64)
def split(command: str | None) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command or ""))
    except ValueError as reason:
        sentence = f"The command {command!r} cannot be split into words: {reason}."
        raise UsageError(sentence, "close every quote in --command") from None
    if not words or not words[0]:
        raise UsageError("The agent 'command' needs a program to run.", 'name it with --command "PROGRAM ARGS"')
    return words
