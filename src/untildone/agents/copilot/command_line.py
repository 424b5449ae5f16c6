"""GitHub Copilot CLI, with JSON lines. The caller chooses the session's id, so that it survives a killed run."""

from __future__ import annotations

from untildone.agents._lines import (
    resumable_session,
    with_system_prompt,
    without_flags,
)
from untildone.core.model import EMPTY, Permissions, SessionUse
from untildone.core.plugins.agent import Versions
from untildone.core.plugins.agent_io import REPORT, Invocation, Request

_PERMISSIONS = {
    Permissions.WORK: ("--allow-all",),
    Permissions.EDIT: ("--allow-tool=write",),
    Permissions.READ: ("--deny-tool=write",),
}

_REVIEW = ("--deny-tool=write", "--deny-tool=shell", "--no-custom-instructions", "--disable-builtin-mcps")
_GRANTS = (
    *("--allow-all-tools", "--allow-all-paths", "--allow-all-urls", "--allow-all", "--yolo", "--autopilot"),
    *("--trust-folder", "--enable-memory"),
)
_VALUED_GRANTS = ("--allow-tool", "--add-dir", "--mode", "--plugin-dir", "-C")


_USAGE = "--usage-output-file"


def invocation(request: Request, versions: Versions) -> Invocation:
    """The command line of one run."""
    prompt = with_system_prompt(request.prompt, request.system_prompt)
    argv = (
        "copilot",
        "--output-format=json",
        "--no-ask-user",
        "--no-auto-update",
        *((f"{_USAGE}={REPORT}",) if versions.has(_USAGE, request.version) else ()),
        *(() if request.reviews else _PERMISSIONS[request.permissions]),
        *_session_flags(request),
        *((f"--model={request.model}",) if request.model else ()),
        *((*without_flags(request.args, _GRANTS, _VALUED_GRANTS), *_REVIEW) if request.reviews else request.args),
    )
    env = {"COPILOT_ALLOW_ALL": ""} if request.reviews else EMPTY
    return Invocation(argv, env, prompt.encode("utf-8", "replace"))


def _session_flags(request: Request) -> tuple[str, ...]:
    """The flags for a session. To resume, not `--session-id`: it silently starts a new session if the old one is gone."""
    use, session_id = resumable_session(request, "copilot")
    if use is SessionUse.RESUME:
        return (f"--resume={session_id}",)
    return (f"--session-id={session_id}",) if session_id else ()
