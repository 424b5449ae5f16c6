"""Claude Code: `claude -p` with its stream of JSON lines."""

from __future__ import annotations

from typing import assert_never

from untildone.agents._lines import LONGEST_ARGUMENT, argument, session_to_use, with_system_prompt
from untildone.core.agent_io import Invocation, Request
from untildone.core.model import Permissions, SessionUse

_WORK_TOOLS = "Bash,Edit,Write,NotebookEdit,WebFetch,WebSearch,Task,Skill"
"""Listed one by one: claude refuses to bypass all permissions for root, and that would override what the person's settings deny."""
_PERMISSIONS = {
    Permissions.WORK: ("--permission-mode=acceptEdits", f"--allowedTools={_WORK_TOOLS}"),
    Permissions.EDIT: ("--permission-mode=acceptEdits",),
    Permissions.READ: ("--permission-mode=dontAsk", "--disallowedTools=Edit,Write,NotebookEdit"),
}


def invocation(request: Request) -> Invocation:
    """The command line of one run."""
    system_prompt, prompt = _system_and_prompt(request)
    argv = (
        "claude",
        "-p",
        "--output-format=stream-json",
        "--verbose",
        *_PERMISSIONS[request.permissions],
        *_session_flags(request),
        *((f"--model={request.model}",) if request.model else ()),
        *_system_prompt_flags(system_prompt, request.session),
        *((f"--max-budget-usd={request.max_cost_usd:.6f}",) if request.max_cost_usd is not None else ()),
        *request.args,
    )
    return Invocation(argv, {"DISABLE_AUTOUPDATER": "1"}, _disarmed(prompt).encode("utf-8", "replace"))


def _session_flags(request: Request) -> tuple[str, ...]:
    use, session_id = session_to_use(request)
    match use:
        case SessionUse.NEW:
            return (f"--session-id={session_id}",) if session_id else ()
        case SessionUse.RESUME:
            return (f"--resume={session_id}",)
        case SessionUse.FORK:
            return (f"--resume={session_id}", "--fork-session")
        case _:
            assert_never(use)


def _system_and_prompt(request: Request) -> tuple[str | None, str]:
    if request.system_prompt and len(request.system_prompt.encode("utf-8", "replace")) > LONGEST_ARGUMENT:
        return None, with_system_prompt(request.prompt, request.system_prompt)
    return request.system_prompt, request.prompt


def _disarmed(prompt: str) -> str:
    """The prompt, with a newline before a leading slash: the program would take it as one of its own commands."""
    return f"\n{prompt}" if prompt.startswith("/") else prompt


def _system_prompt_flags(system_prompt: str | None, session: SessionUse) -> tuple[str, ...]:
    """The flags for a system prompt. A session keeps its first one, unless the snapshot is off."""
    if not system_prompt:
        return ()
    unfrozen = ("--system-prompt-snapshot=off",) if session is not SessionUse.NEW else ()
    return (f"--system-prompt={argument(system_prompt)}", *unfrozen)
