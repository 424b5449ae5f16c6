"""A fake interactive Claude Code: reads lines, answers each, and calls the hooks of its `--settings`.

It needs only this file. `write_terminal_agent` installs it in a folder as `claude`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def write_terminal_agent(folder: Path, name: str = "claude") -> Path:
    """Write the program; put this folder first on PATH to use it."""
    return write_program(folder, f'exec "{sys.executable}" -I -S "{Path(__file__).absolute()}" "$@"', name)


def write_program(folder: Path, shell_lines: str, name: str = "claude") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{shell_lines}\n")
    program.chmod(0o755)
    return program


def main(arguments: list[str]) -> int:
    settings, session_id = _settings(arguments), _value(arguments, "--resume") or str(uuid.uuid4())
    print(f"session {session_id}", flush=True)
    number = 0
    for line in sys.stdin:
        prompt = line.strip()
        if prompt == "exit":
            return 0
        answer = _ask(settings, "UserPromptSubmit", session_id, {"prompt": prompt})
        if answer.get("decision") == "block":
            print(f"held: {answer['reason']}", flush=True)
            continue
        number = _work(settings, session_id, number, answer)
    return 0


def _work(settings: Json, session_id: str, number: int, answer: Json) -> int:
    """Answer until the stop hook no longer blocks; return the total number of answers."""
    _show(answer)
    blocked = False
    while True:
        number += 1
        message = f"Answer {number}."
        print(message, flush=True)
        fields = {"last_assistant_message": message, "stop_hook_active": blocked}
        answer = _ask(settings, "Stop", session_id, fields)
        _show(answer)
        blocked = answer.get("decision") == "block"
        print(f"sent back: {answer['reason']}" if blocked else "your turn", flush=True)
        if not blocked:
            return number


def _show(answer: Json) -> None:
    if answer.get("systemMessage"):
        print(f"told: {answer['systemMessage']}", flush=True)
    if added := answer.get("hookSpecificOutput", {}).get("additionalContext"):
        print(f"added: {added}", flush=True)


def _ask(settings: Json, event: str, session_id: str, fields: Json) -> Json:
    answers: Json = {}
    for entry in settings.get("hooks", {}).get(event, []):
        for hook in entry["hooks"]:
            if hook.get("statusMessage"):
                print(f"({hook['statusMessage']})", flush=True)
            event_input = {"session_id": session_id, "cwd": str(Path.cwd()), "hook_event_name": event, **fields}
            ended = subprocess.run(
                hook["command"], shell=True, input=json.dumps(event_input).encode(), stdout=subprocess.PIPE
            )
            answers |= json.loads(ended.stdout or b"{}")
    return answers


def _settings(arguments: list[str]) -> Json:
    file = _value(arguments, "--settings")
    settings: Json = json.loads(Path(file).read_text()) if file else {}
    return settings


def _value(arguments: list[str], flag: str) -> str:
    return next((argument.partition("=")[2] for argument in arguments if argument.startswith(f"{flag}=")), "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
