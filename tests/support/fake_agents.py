"""Fake `claude` programs: small shell scripts that print its stream and behave in different ways.

Put the folder first on PATH. Every call appends its arguments to a log, which `calls` reads. A resumed session reports
cumulative totals, as the real program does. `{word}` in a claim is the word that the prompt names for a reviewer's agreement.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

VERSION = "2.1.325"
MODEL = "claude-opus-5-5"
PROMISE = "<promise>COMPLETE</promise>"
CALL_LOG = "calls.log"

_ARGUMENT_END, _LINE_END = "\x1f", "\x1e"


@dataclass(frozen=True, slots=True)
class AlwaysClaims:
    """Claims on every call and changes no file."""

    claim: str = PROMISE


@dataclass(frozen=True, slots=True)
class ClaimsOn:
    """Claims from the given call on; calls are counted in a file, across sessions and folders."""

    call: int
    count_file: Path
    claim: str = PROMISE


@dataclass(frozen=True, slots=True)
class NeverClaims:
    """Answers without a claim."""

    text: str = "I am still at it."


@dataclass(frozen=True, slots=True)
class Floods:
    """Prints `size` bytes of ordinary lines, then claims."""

    size: int = 1_000_000_000


@dataclass(frozen=True, slots=True)
class PrintsHugeLine:
    """Prints a tool result in one line of `size` bytes, then claims."""

    size: int = 200_000_000


@dataclass(frozen=True, slots=True)
class Hangs:
    """Prints the first line of the stream and never ends."""

    ignores_term: bool = False


@dataclass(frozen=True, slots=True)
class LeavesChildren:
    """Starts two children in their own sessions, one of which ignores SIGTERM, writes their pids to a file, and claims."""

    pids_file: Path
    seconds: int = 300
    children_keep_output: bool = False


@dataclass(frozen=True, slots=True)
class Crashes:
    """Dies in the middle of a line."""


Behaviour = AlwaysClaims | ClaimsOn | NeverClaims | Floods | PrintsHugeLine | Hangs | LeavesChildren | Crashes


def write_fake_agent(folder: Path, behaviour: Behaviour, *, name: str = "claude") -> Path:
    """Write the program into the folder, next to its call log and session counters; return its path."""
    folder = folder.absolute()
    (folder / "sessions").mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(_PROLOGUE.replace("@FOLDER@", shlex.quote(str(folder))) + _body(behaviour), encoding="utf-8")
    program.chmod(0o755)
    return program


def calls(folder: Path) -> list[list[str]]:
    """The arguments of each call so far, oldest first."""
    log = folder / CALL_LOG
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")[:-1] if log.exists() else []
    return [line.replace(_LINE_END, "\n").split(_ARGUMENT_END)[:-1] for line in lines]


def _body(behaviour: Behaviour) -> str:
    match behaviour:
        case AlwaysClaims(claim):
            return _answers(f"Everything is finished.\n\n{claim}")
        case ClaimsOn(call, count_file, claim):
            claims, works = _answers(f"That was the last step.\n\n{claim}"), _answers("There is more to do.")
            return f"{_counted(count_file)}if [ $count -ge {call} ]; then\n{claims}else\n{works}fi\n"
        case NeverClaims(text):
            return _answers(text)
        case Floods(size):
            return f"yes {_quoted(_message_line('x' * 4000))} | head -c {size}\necho\n" + _answers(
                f"Enough.\n\n{PROMISE}"
            )
        case PrintsHugeLine(size):
            return _huge_line(size) + _answers(f"Enough.\n\n{PROMISE}")
        case Hangs(ignores_term):
            return 'trap "" TERM\nwhile :; do sleep 60; done\n' if ignores_term else "exec sleep 3600\n"
        case LeavesChildren():
            return _leaves_children(behaviour) + _answers(f"They go on without me.\n\n{PROMISE}")
        case Crashes():
            return 'printf \'{"type":"assistant","mess\'\nkill -9 $$\n'
        case _:
            assert_never(behaviour)


def _answers(text: str) -> str:
    """Shell lines that print a message and the result and store the session's turn count."""
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 264,
        "num_turns": 1,
        "result": text,
        "stop_reason": "end_turn",
        "session_id": "@SESSION@",
        "total_cost_usd": "@COST@",
        "usage": _RUN_USAGE,
        "modelUsage": {MODEL: {"inputTokens": "@IN@", "outputTokens": "@OUT@", "costUSD": "@COST@"}},
        "permission_denials": [],
        "terminal_reason": "completed",
        "model_usage_since_last_result": {MODEL: {"inputTokens": 100, "outputTokens": 20, "costUSD": 0.0008}},
    }
    return (
        f"echo $turns > \"$place\"\nprintf '%s\\n' {_quoted(_message_line(text))}\nprintf '%s\\n' {_quoted(result)}\n"
    )


_RUN_USAGE = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 20,
    "service_tier": "standard",
}


def _message_line(text: str) -> dict[str, object]:
    return _message("assistant", [{"type": "text", "text": text}]) | {"session_id": "@SESSION@"}


def _message(role: str, content: list[dict[str, object]]) -> dict[str, object]:
    message = {"id": "msg_1", "type": "message", "role": role, "model": MODEL, "content": content, "usage": _RUN_USAGE}
    return {"type": role, "message": message, "parent_tool_use_id": None}


def _huge_line(size: int) -> str:
    line = json.dumps(_message("user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "@HUGE@"}]))
    before, after = line.split("@HUGE@")
    return (
        f"printf %s {shlex.quote(before)}\nhead -c {size} /dev/zero | tr '\\0' x\nprintf '%s\\n' {shlex.quote(after)}\n"
    )


def _counted(count_file: Path) -> str:
    file = shlex.quote(str(count_file.absolute()))
    return f"count=$(cat {file} 2>/dev/null || echo 0)\ncount=$((count + 1))\necho $count > {file}\n"


def _leaves_children(behaviour: LeavesChildren) -> str:
    output = "None" if behaviour.children_keep_output else "subprocess.DEVNULL"
    start = f"""
import subprocess
for trap in ("", "trap '' TERM; "):
    child = subprocess.Popen(
        ["sh", "-c", trap + "exec sleep {behaviour.seconds}"],
        stdin=subprocess.DEVNULL, stdout={output}, stderr={output}, start_new_session=True,
    )
    with open({str(behaviour.pids_file.absolute())!r}, "a") as file:
        print(child.pid, file=file)
    child.returncode = 0
"""
    return f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(start)}\n"


def _quoted(line: Mapping[str, object]) -> str:
    """The line as a shell word in which the shell fills in the values of the call."""
    word = shlex.quote(json.dumps(line, separators=(",", ":")))
    for value, variable in (
        ('"@COST@"', "cost"),
        ('"@IN@"', "tokens_in"),
        ('"@OUT@"', "tokens_out"),
        ("@SESSION@", "session"),
        ("{word}", "word"),
    ):
        word = word.replace(value, f"'\"${variable}\"'")
    return word


_INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": "@SESSION@",
    "tools": ["Bash", "Edit", "Read", "Write"],
    "mcp_servers": [],
    "model": MODEL,
    "permissionMode": "default",
    "apiKeySource": "ANTHROPIC_API_KEY",
    "claude_code_version": VERSION,
}

_PROLOGUE = f"""#!/bin/sh
# A fake claude, written by tests.support.fake_agents.
folder=@FOLDER@
if [ "$1" = --version ]; then echo '{VERSION} (Claude Code)'; exit 0; fi
line=$(for argument; do printf '%s\\037' "$argument"; done | tr '\\n' '\\036')
printf '%s\\n' "$line" >> "$folder/{CALL_LOG}"
session= resumed= fork= option= lines=
for argument; do
  case $option in
    --session-id) session=$argument ;;
    --resume|-r) resumed=$argument ;;
  esac
  option=$argument
  case $argument in
    --session-id=*) session=${{argument#*=}} ;;
    --resume=*) resumed=${{argument#*=}} ;;
    --fork-session) fork=yes ;;
    --input-format=stream-json) lines=yes ;; # the prompt is one line, and standard input stays open
  esac
done
if [ -z "$session" ]; then
  if [ -n "$resumed" ] && [ -z "$fork" ]; then session=$resumed
  else session=$(printf '%08x-0000-4000-8000-%012x' $(od -An -N4 -tu4 /dev/urandom) "$(date +%s)"); fi
fi
word=
ask() {{ if [ -n "$lines" ]; then head -n 1; else cat; fi; }}
[ -t 0 ] || word=$(ask | sed -n 's/.*The word of this question is \\([A-Z0-9]*\\)\\..*/\\1/p' | tail -n 1)
place=$folder/sessions/$session
turns=0
[ -f "$folder/sessions/${{resumed:-none}}" ] && read -r turns < "$folder/sessions/$resumed"
turns=$((turns + 1)) tokens_in=$((turns * 100)) tokens_out=$((turns * 20))
cost=$((turns * 8 / 10000)).$(printf '%04d' $((turns * 8 % 10000)))
printf '%s\\n' {_quoted(_INIT)}
"""
