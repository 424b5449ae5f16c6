"""Gemini CLI: `gemini -o stream-json`. Its exit code is the HTTP status, modulo 256."""

from __future__ import annotations

from untildone.agents._lines import (
    resumable_session,
    with_system_prompt,
    without_flags,
)
from untildone.core.model import Permissions, SessionUse
from untildone.core.plugins.agent_io import Invocation, Request

_APPROVAL = {Permissions.WORK: "yolo", Permissions.EDIT: "auto_edit", Permissions.READ: "plan"}

_GRANTS = ("--yolo", "-y", "--skip-trust")
_VALUED_GRANTS = ("--approval-mode", "--allowed-tools", "--include-directories", "--policy", "--admin-policy")


def invocation(request: Request) -> Invocation:
    """The command line of one run."""
    prompt = with_system_prompt(request.prompt, request.system_prompt)
    permissions = Permissions.READ if request.reviews else request.permissions
    argv = (
        "gemini",
        "--output-format=stream-json",
        f"--approval-mode={_APPROVAL[permissions]}",
        *_session_flags(request),
        *((f"--model={request.model}",) if request.model else ()),
        *(without_flags(request.args, _GRANTS, _VALUED_GRANTS) if request.reviews else request.args),
    )
    # Without trust it refuses to run without a terminal. A reviewer's folder contains none of the settings that it then reads.
    env = {"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return Invocation(argv, env, prompt.encode("utf-8", "replace"))


def _session_flags(request: Request) -> tuple[str, ...]:
    use, session_id = resumable_session(request, "gemini")
    if use is SessionUse.RESUME:
        return (f"--resume={session_id}",)
    return (f"--session-id={session_id}",) if session_id else ()
