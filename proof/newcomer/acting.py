"""Acting out a story in a shell, and comparing what was printed with what the page says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from proof.newcomer.documents import Step, Story

_ENDED = "\x1e"
_PRELUDE = f"""exec 2>&1
_ended() {{ local code=$?; printf '{_ENDED}%s{_ENDED}' "$code"; return "$code"; }}
"""


class NotAsTold(AssertionError):
    """A command did something else than its page says."""


def act(story: Story, folder: Path, environment: Mapping[str, str], within: float) -> None:
    """Every command of a story, in order, in one shell; NotAsTold at the first that differs."""
    script = _PRELUDE + "".join(f"{step.command}\n_ended\n" for step in story.steps)
    told = _printed(script, folder, environment, within).split(_ENDED)
    for number, step in enumerate(story.steps):
        if len(told) <= 2 * number + 1:
            raise NotAsTold(f"{story.name}: the shell left during:\n{step.command}\n{told[-1]}")
        _compare(story, step, told[2 * number], told[2 * number + 1])


def _printed(script: str, folder: Path, environment: Mapping[str, str], within: float) -> str:
    """What the shell printed, to a file: what goes on in the background must not keep anybody waiting."""
    told = folder.parent / f"{folder.name}.told.txt"
    with told.open("wb") as output:
        command = ["bash", "--norc", "-c", script]
        try:
            subprocess.run(
                command, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=output, timeout=within
            )
        except subprocess.TimeoutExpired:
            output.write(f"\n(not finished after {within:.0f} s)\n".encode())
    return told.read_text(encoding="utf-8", errors="replace")


def _compare(story: Story, step: Step, printed: str, code: str) -> None:
    printed += "" if printed.endswith("\n") or not printed else "\n"
    if step.code is not None and code != str(step.code):
        raise NotAsTold(f"{story.name}: exit code {code}, not {step.code}:\n$ {step.command}\n{printed}")
    if step.printed is not None and not _pattern(step.printed).fullmatch(printed):
        raise NotAsTold(f"{story.name}:\n$ {step.command}\nshould print:\n{step.printed}\nprinted:\n{printed}")


def _pattern(printed: str) -> re.Pattern[str]:
    parts = []
    for line in printed.splitlines():
        parts.append(r"(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) + r" *\n")
    return re.compile("".join(parts))
