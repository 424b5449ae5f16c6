"""Codex: `codex exec --json`, its `resume` and its `fork`."""

from __future__ import annotations

import json

from untildone.agents._lines import (
    LONGEST_ARGUMENT,
    argument,
    session_to_use,
    with_system_prompt,
    without_flags,
)
from untildone.agents.codex.metering import REPORTING
from untildone.core.model import EMPTY, Permissions, SessionUse
from untildone.core.plugins.agent_io import (
    Invocation,
    Request,
)

SANDBOX = {
    Permissions.WORK: "danger-full-access",
    Permissions.EDIT: "workspace-write",
    Permissions.READ: "read-only",
}
BOUNDED = ("--disable=plugins", "--disable=unbounded_connection_retries", "--config=analytics.enabled=false")
"""Without these flags, codex fetches plugins at each start, retries for ever without a network, and exits late."""

_METERED = "--config=shell_environment_policy.set.RUST_LOG=''"
"""For a run that is metered: the commands of the agent do not see the variable that makes the program report its usage."""
LONGEST_GOAL = 4000
"""Characters of a goal. The program refuses a longer one."""
_REVIEW = ("--config=project_doc_max_bytes=0", "--disable=hooks", "--ignore-rules", "--ephemeral")
"""For a reviewer: no AGENTS.md of the workspace, no hooks, and no rules by which a command leaves the sandbox."""
_GRANTS = (
    *("--dangerously-bypass-approvals-and-sandbox", "--yolo", "--full-auto", "--approve-for-me"),
    *("--dangerously-bypass-hook-trust", "--worktree"),
)
_VALUED_GRANTS = ("--sandbox", "-s", "--add-dir", "--ask-for-approval", "-a", "--cd", "-C")


def invocation(request: Request) -> Invocation:
    """The command line of one run."""
    system_prompt, prompt = _system_and_prompt(request)
    use, session_id = session_to_use(request)
    argv = (
        "codex",
        "exec",
        *((use.value,) if use is not SessionUse.NEW else ()),
        "--json",
        "--skip-git-repo-check",
        *BOUNDED,
        *(() if request.reviews else _allowed(request.permissions)),
        *((f"--model={request.model}",) if request.model else ()),
        *((f"--config=developer_instructions={_toml_text(system_prompt)}",) if system_prompt else ()),
        *((_METERED,) if request.meters else ()),
        *(_review(request.args) if request.reviews else request.args),
        *((session_id,) if use is not SessionUse.NEW else ()),
        "-",
    )
    return Invocation(argv, REPORTING if request.meters else EMPTY, prompt.encode("utf-8", "replace"))


def goal_of(request: Request) -> str:
    """The goal that the prompt becomes; empty: it becomes none. The program refuses a longer one."""
    goal = with_system_prompt(request.prompt, request.system_prompt).strip()
    return goal if request.goal and not request.reviews and len(goal) <= LONGEST_GOAL else ""


def _allowed(permissions: Permissions) -> tuple[str, ...]:
    return ("--config=approval_policy=never", f"--config=sandbox_mode={SANDBOX[permissions]}")


def _review(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of a reviewer: ours last, because the last value of a setting counts."""
    return (*without_flags(arguments, _GRANTS, _VALUED_GRANTS), *_allowed(Permissions.READ), *_REVIEW)


def _system_and_prompt(request: Request) -> tuple[str | None, str]:
    """System prompt and prompt. The prompt contains both for an existing session, and if the system prompt is too long."""
    rules = request.system_prompt
    if (
        rules
        and request.session is SessionUse.NEW
        and len(_toml_text(rules).encode("utf-8", "replace")) <= LONGEST_ARGUMENT
    ):
        return rules, request.prompt
    return None, with_system_prompt(request.prompt, rules)


def _toml_text(text: str) -> str:
    return json.dumps(argument(text), ensure_ascii=False).replace("\x7f", "\\u007f")
