"""Finds out before a loop begins that its checks or its agent will miss a variable of the person that does not pass on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from untildone import agents
from untildone.core.judging.kinds.classify import looks_like_judge
from untildone.core.model import AgentChoice, LoopSettings
from untildone.core.protection import passing
from untildone.core.shell.splitting import simple_commands
from untildone.engine import environments
from untildone.system import disk
from untildone.workspace.walk import SKIPPED

MOST_ENTRIES, MOST_READ, DEEPEST = 1000, 100, 3
"""Entries of the workspace that are looked at, files that are read, and folders above one: this is a hint, and costs milliseconds."""
LARGEST = 64 << 10
_RECIPES = frozenset(
    {"makefile", "gnumakefile", "justfile", "package.json", "settings.py", "rakefile", "taskfile.yml", "taskfile.yaml"}
)
_WIDE = frozenset({"GH_TOKEN", "GITHUB_TOKEN"})
"""Logins of an agent that most people have for something else."""


def notice(kept: LoopSettings, environment: Mapping[str, str]) -> str:
    """A sentence about variables that do not pass on, although a check or what it runs mentions them, or the agent seems to need them;
    empty if there are none."""
    names = environments.named(kept)
    mentions: dict[str, str] = {}
    left = passing.left_out(environment, (), names)
    if left and kept.checks:
        mentions |= _in_commands(kept, left) | _in_files(kept, left)
    return passing.notice(
        {**mentions, **_keys(kept.worker, passing.left_out(environment, _own(kept, environment), names))}
    )


def _own(kept: LoopSettings, environment: Mapping[str, str]) -> tuple[str, ...]:
    return environments.variables(kept.worker, environment)


def _in_commands(kept: LoopSettings, left: frozenset[str]) -> dict[str, str]:
    return {name: "named by the check" for check in kept.checks for name in passing.mentioned_in_command(check, left)}


def _in_files(kept: LoopSettings, left: frozenset[str]) -> dict[str, str]:
    mentions: dict[str, str] = {}
    for path in _files(kept):
        try:
            text = disk.read_promptly(Path(kept.workspace, path), LARGEST).decode(errors="replace")
        except OSError:
            continue
        for name in passing.mentioned(text, left):
            mentions.setdefault(name, f"named in {path}")
    return mentions


def _files(kept: LoopSettings) -> Iterator[str]:
    """Files that checks run, as far as their names say so: those that a command names, recipes, tests and settings of test runners."""
    words = (word for check in kept.checks for each in simple_commands(check) for word in each.words)
    named = dict.fromkeys(os.path.normpath(word) for word in words if re.fullmatch(r"[\w./+-]+", word))
    yield from (word for word in named if os.path.isfile(os.path.join(kept.workspace, word)))
    left = MOST_READ
    for path in _below(kept.workspace):
        if left and (os.path.basename(path).lower() in _RECIPES or looks_like_judge(path)):
            left -= 1
            yield path


def _below(folder: str) -> Iterator[str]:
    """Files of a folder, the highest first, without what tools and installed packages keep."""
    waiting, left = [""], MOST_ENTRIES
    while waiting and left > 0:
        below = waiting.pop(0)
        try:
            entries = sorted(os.scandir(os.path.join(folder, below)), key=lambda entry: entry.name)
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            path = os.path.join(below, entry.name)
            if entry.is_file(follow_symlinks=False):
                yield path
            elif entry.is_dir(follow_symlinks=False) and path.count(os.sep) < DEEPEST and _is_own(entry.name):
                waiting.append(path)


def _is_own(name: str) -> bool:
    return (
        name not in SKIPPED and not name.startswith(".") and name not in ("venv", "vendor", "target", "build", "dist")
    )


def _keys(choice: AgentChoice, left: frozenset[str]) -> dict[str, str]:
    """Keys that the agent may need: those of its known program, or those of all agents for an unknown program."""
    agent = agents.of(choice)
    words = (choice.command or choice.agent.partition(":")[2] or choice.program or agent.program).split()
    program = re.sub(r"\W+", "_", os.path.basename(words[0])).upper() if words else ""
    known = {name for other in agents.own_names() for name in agents.find(other).login.variables} - _WIDE
    is_unknown = not agent.login.variables and bool(words)
    return {
        name: "it looks like a key of the agent"
        for name in sorted(left)
        if (is_unknown and name in known) or (program and name.startswith(f"{program}_"))
    }
