"""Claude Code: `claude -p` with its stream of JSON lines."""

from __future__ import annotations

from typing import assert_never

from untildone.agents._lines import LONGEST_ARGUMENT, argument, session_to_use, with_system_prompt, without_flags
from untildone.agents.claude import VERSIONS
from untildone.core.model import Permissions, SessionUse
from untildone.core.plugins.agent_io import Invocation, Request

_WORK_TOOLS = "Bash,Edit,Write,NotebookEdit,WebFetch,WebSearch,Task,Skill"
"""Listed one by one: claude refuses to bypass all permissions for root, and that would override what the person's settings deny."""
_PERMISSIONS = {
    Permissions.WORK: ("--permission-mode=acceptEdits", f"--allowedTools={_WORK_TOOLS}"),
    Permissions.EDIT: ("--permission-mode=acceptEdits",),
    Permissions.READ: ("--permission-mode=dontAsk", "--disallowedTools=Edit,Write,NotebookEdit"),
}

_REVIEW = (
    *("--permission-mode=dontAsk", "--tools=Read,Grep,Glob"),
    *("--setting-sources=user", "--strict-mcp-config", "--no-session-persistence"),
)
_WITHOUT_CUSTOMIZATIONS = {"CLAUDE_CODE_SAFE_MODE": "1"}
"""For a reviewer: no hooks, memory files, skills or plugins, of the person neither. Their settings and login stay."""
_WITHOUT_HOOKS = '--settings={"disableAllHooks":true}'
"""For a reviewer: a goal of the forked session is a stop hook that would send it back to work. Only one `--settings` counts."""
_GOAL, LONGEST_GOAL = "/goal", 4000
_SNAPSHOT = "--system-prompt-snapshot"
_GRANTS = ("--dangerously-skip-permissions", "--allow-dangerously-skip-permissions")


def invocation(request: Request) -> Invocation:
    """The command line of one run."""
    system_prompt, _ = _system_and_prompt(request)
    argv = (
        "claude",
        "-p",
        *(("--input-format=stream-json",) if request.stays else ()),
        "--output-format=stream-json",
        "--verbose",
        *(("--include-partial-messages",) if request.meters else ()),
        *(() if request.reviews else _PERMISSIONS[request.permissions]),
        *_session_flags(request),
        *((f"--model={request.model}",) if request.model else ()),
        *_system_prompt_flags(system_prompt, request),
        *((f"--max-budget-usd={request.max_cost_usd:.6f}",) if request.max_cost_usd is not None else ()),
        *(_review(request.args) if request.reviews else request.args),
    )
    env = {"DISABLE_AUTOUPDATER": "1", **(_WITHOUT_CUSTOMIZATIONS if request.reviews else {})}
    return Invocation(argv, env, None if request.stays else prompt_of(request).encode("utf-8", "replace"))


def prompt_of(request: Request) -> str:
    """The prompt, with the system prompt if that is too long for an argument, or the goal of the session."""
    prompt = _system_and_prompt(request)[1]
    return f"{_GOAL} {prompt.strip()}" if sets_goal(request) else _disarmed(prompt)


def sets_goal(request: Request) -> bool:
    """Whether the prompt becomes the goal of the session. The program refuses a longer one, as if it had answered."""
    return request.goal and not request.reviews and len(_system_and_prompt(request)[1].strip()) <= LONGEST_GOAL


def _review(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of a reviewer. Settings that the person names there may hold the login, so they stay."""
    own = any(word.partition("=")[0] == "--settings" for word in arguments)
    return (*without_flags(arguments, _GRANTS), *_REVIEW, *(() if own else (_WITHOUT_HOOKS,)))


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


def _system_prompt_flags(system_prompt: str | None, request: Request) -> tuple[str, ...]:
    """The flags for a system prompt. A session keeps its first one, unless the snapshot is off; old versions take no snapshot."""
    if not system_prompt:
        return ()
    is_kept = request.session is not SessionUse.NEW and VERSIONS.has(_SNAPSHOT, request.version)
    return (f"--system-prompt={argument(system_prompt)}", *((f"{_SNAPSHOT}=off",) if is_kept else ()))
