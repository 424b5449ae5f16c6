"""opencode: `opencode run --format json`. It prints no result: a run is over when its last step stopped."""

from __future__ import annotations

from typing import assert_never

from untildone.agents._lines import (
    session_to_use,
    with_system_prompt,
    without_flags,
)
from untildone.agents.opencode import VERSIONS
from untildone.agents.opencode.flavors import Flavor
from untildone.core.model import EMPTY, Permissions, SessionUse
from untildone.core.plugins.agent_io import (
    Invocation,
    Request,
)

_PERMISSIONS = {
    Permissions.WORK: None,
    Permissions.EDIT: '{"bash":"deny"}',
    Permissions.READ: '{"bash":"deny","edit":"deny"}',
}

_REVIEWER = '{"*":"deny","read":"allow","grep":"allow","glob":"allow","list":"allow"}'
_AUTO = "--auto"
_GRANTS = ("--auto", "--dangerously-skip-permissions", "--share", "--pure")
_VALUED_GRANTS = ("--agent", "--dir", "--attach")


def invocation(request: Request, flavor: Flavor) -> Invocation:
    """The command line of one run."""
    prompt = with_system_prompt(request.prompt, request.system_prompt)
    denied = _REVIEWER if request.reviews else _PERMISSIONS[request.permissions]
    argv = (
        flavor.name,
        "run",
        "--format=json",
        "--pure" if request.reviews else _all_allowed(request),
        *_session_flags(request),
        *((f"--model={request.model}",) if request.model else ()),
        *(without_flags(request.args, _GRANTS, _VALUED_GRANTS) if request.reviews else request.args),
    )
    env = {flavor.variable("PERMISSION"): denied} if denied else EMPTY
    return Invocation(argv, env, prompt.encode("utf-8", "replace"))


def _all_allowed(request: Request) -> str:
    """The flag that makes the program skip its permission prompts."""
    return _AUTO if VERSIONS.has(_AUTO, request.version) else "--dangerously-skip-permissions"


def _session_flags(request: Request) -> tuple[str, ...]:
    use, session_id = session_to_use(request)
    match use:
        case SessionUse.NEW:
            return ()
        case SessionUse.RESUME:
            return (f"--session={session_id}",)
        case SessionUse.FORK:
            return (f"--session={session_id}", "--fork")
        case _:
            assert_never(use)
