"""What a reader of the documents already has: a home folder, a few programs, and agents that are logged in.

`claude` and `codex` are fakes here: they print the streams of the real programs and claim in every mode that the task is done.
"""

from __future__ import annotations

import json
from pathlib import Path

VENV = Path(".venvs") / "untildone"
"""The virtual environment into which the documents install untildone, relative to the home folder."""
PROGRAMS = Path(".local") / "bin"

_DONE = json.dumps(
    {
        "skillStateUpdates": {
            "develop": {"tasks": [{"id": "t1", "text": "Do it", "status": "completed"}]},
            "validate": {"passed": True},
        },
        "message": "Done.",
        "phase_done": True,
        "review_score": 95,
    }
)
_LAST_LINES = {
    "supervisor": "[TASK_COMPLETED {word}]",
    "instructor": "[TASK_COMPLETED]",
    "worker": "<promise>COMPLETE</promise>",
}
_CHOOSE = """date >> what-claude-did.txt
case "$*" in *"You are the supervisor"*) role=supervisor;; *"You are the instructor"*) role=instructor;; *) role=worker;; esac"""
_CODEX = """#!/bin/sh
case "$*" in *--version*) echo "codex-cli 0.166.0"; exit;; esac
cat > /dev/null
echo '{"type":"thread.started","thread_id":"0b5c7e0e-3d43-4c1a-9d0e-111111111111"}'
echo '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"I did it.\\\\n<promise>COMPLETE</promise>"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}'
"""


def install_fake_agents(folder: Path) -> None:
    """Write the fake agents into a folder. Needs untildone installed."""
    from tests.support.fake_agents import AlwaysClaims, write_fake_agent

    for role, line in _LAST_LINES.items():
        write_fake_agent(folder / "answers" / role, AlwaysClaims(f"{_DONE}\n\n{line}"))
    write_program(folder / "claude", f'"{folder}/answers/$role/claude"', before=_CHOOSE)
    codex = folder / "codex"
    codex.write_text(_CODEX, encoding="utf-8")
    codex.chmod(0o755)


def environment(home: Path, temporary: Path, *folders: Path | str) -> dict[str, str]:
    """The environment of a new account; `folders` come first on PATH."""
    path = ":".join(map(str, (*folders, home / PROGRAMS, "/usr/local/bin", "/usr/bin", "/bin")))
    return {
        "PATH": path,
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "USER": "newcomer",
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def write_program(path: Path, command: str, before: str = ":") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\n{before}\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
