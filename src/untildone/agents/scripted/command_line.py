"""A stand-in agent that acts out a script: for demos, tests and trying things out. `testing/scripted_agent.py` is the program."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from untildone.agents._lines import (
    LONGEST_ARGUMENT,
    with_system_prompt,
)
from untildone.agents.scripted.transcript import state_of
from untildone.core.model import Permissions, SessionUse
from untildone.core.plugins.agent import Needs
from untildone.core.plugins.agent_io import (
    Invocation,
    Request,
)

PROGRAM = Path(__file__).parents[2] / "testing" / "scripted_agent.py"


def invocation(request: Request) -> Invocation:
    """The command line of one run."""
    system_prompt, prompt = _system_and_prompt(request)
    argv = (
        sys.executable,
        "-I",
        "-S",
        str(PROGRAM),
        *_session_flags(request),
        f"--permissions={Permissions.READ if request.reviews else request.permissions}",
        *((f"--model={request.model}",) if request.model else ()),
        *((f"--system-prompt={system_prompt}",) if system_prompt else ()),
        *request.args,
    )
    return Invocation(argv, stdin=prompt.encode("utf-8", "replace"))


def _session_flags(request: Request) -> tuple[str, ...]:
    fresh = (f"--session={request.fresh_id}",) if request.fresh_id else ()
    match request.session:
        case SessionUse.NEW:
            return fresh
        case SessionUse.RESUME:
            return (f"--resume={request.session_id}",)
        case SessionUse.FORK:
            return (f"--resume={request.session_id}", "--fork", *fresh)


def _system_and_prompt(request: Request) -> tuple[str | None, str]:
    if request.system_prompt and len(request.system_prompt.encode("utf-8", "replace")) > LONGEST_ARGUMENT:
        return None, with_system_prompt(request.prompt, request.system_prompt)
    return request.system_prompt, request.prompt


def needs(environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
    """Its sessions. A box has another folder for temporary files, in which they lie by default."""
    state = state_of(environment, args)
    return Needs(writable=(state,), environment={"UNTILDONE_SCRIPT_STATE": state})
