"""GitHub Copilot CLI, with JSON lines. The caller chooses the session's id, so that it survives a killed run."""

from __future__ import annotations

from untildone.agents._lines import (
    resumable_session,
    with_system_prompt,
)
from untildone.core.agent_io import (
    Invocation,
    Request,
)
from untildone.core.model import Permissions, SessionUse

_PERMISSIONS = {
    Permissions.WORK: ("--allow-all",),
    Permissions.EDIT: ("--allow-tool=write",),
    Permissions.READ: ("--deny-tool=write",),
}


def invocation(request: Request) -> Invocation:
    """The command line of one run."""
    prompt = with_system_prompt(request.prompt, request.system_prompt)
    argv = (
        "copilot",
        "--output-format=json",
        "--no-ask-user",
        "--no-auto-update",
        *_PERMISSIONS[request.permissions],
        *_session_flags(request),
        *((f"--model={request.model}",) if request.model else ()),
        *request.args,
    )
    return Invocation(argv, stdin=prompt.encode("utf-8", "replace"))


def _session_flags(request: Request) -> tuple[str, ...]:
    """The flags for a session. To resume, not `--session-id`: it silently starts a new session if the old one is gone."""
    use, session_id = resumable_session(request, "copilot")
    if use is SessionUse.RESUME:
        return (f"--resume={session_id}",)
    return (f"--session-id={session_id}",) if session_id else ()
