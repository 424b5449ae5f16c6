"""Runs a section in a shell and compares the output with the page."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from proof.newcomer.documents import Section, Step

_ENDED = "\x1e"
_PRELUDE = f"""exec 2>&1
_ended() {{ local code=$?; printf '{_ENDED}%s{_ENDED}' "$code"; return "$code"; }}
"""


class OutputDiffers(AssertionError):
    """A command printed or returned something else than its page says."""


def run_section(section: Section, folder: Path, environment: Mapping[str, str], within: float) -> None:
    """Run the commands of a section in one shell. Raises OutputDiffers for the first that differs."""
    script = _PRELUDE + "".join(f"{step.command}\n_ended\n" for step in section.steps)
    parts = _printed(script, folder, environment, within).split(_ENDED)
    for number, step in enumerate(section.steps):
        if len(parts) <= 2 * number + 1:
            raise OutputDiffers(f"{section.name}: the shell exited during:\n{step.command}\n{parts[-1]}")
        _compare(section, step, parts[2 * number], parts[2 * number + 1])


def _printed(script: str, folder: Path, environment: Mapping[str, str], within: float) -> str:
    """Run a script and return its output. It goes through a file, because background processes would keep a pipe open."""
    output_file = folder.parent / f"{folder.name}.output.txt"
    with output_file.open("wb") as output:
        command = ["bash", "--norc", "-c", script]
        try:
            subprocess.run(
                command, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=output, timeout=within
            )
        except subprocess.TimeoutExpired:
            output.write(f"\n(not finished after {within:.0f} s)\n".encode())
    return output_file.read_text(encoding="utf-8", errors="replace")


def _compare(section: Section, step: Step, printed: str, code: str) -> None:
    printed += "" if printed.endswith("\n") or not printed else "\n"
    if step.code is not None and code != str(step.code):
        raise OutputDiffers(f"{section.name}: exit code {code}, not {step.code}:\n$ {step.command}\n{printed}")
    if step.printed is not None and not _pattern(step.printed).fullmatch(printed):
        raise OutputDiffers(f"{section.name}:\n$ {step.command}\nshould print:\n{step.printed}\nprinted:\n{printed}")


def _pattern(printed: str) -> re.Pattern[str]:
    parts = []
    for line in printed.splitlines():
        parts.append(r"(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) + r" *\n")
    return re.compile("".join(parts))
