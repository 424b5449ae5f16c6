"""The agent programs on this machine: their paths and versions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache

from untildone import agents
from untildone.core.errors import UsageError
from untildone.core.model import AgentChoice, Failure, FailureKind
from untildone.core.plugins.agent import Agent, is_older
from untildone.core.plugins.agent_io import Request
from untildone.core.values.value import replace
from untildone.system import disk

PATIENCE = 10.0
_PACKAGE_ABOVE, _LONGEST_PACKAGE = 4, 1 << 20
UNEXPLAINED = (FailureKind.CRASHED, FailureKind.MALFORMED, FailureKind.UNAVAILABLE)
_UNKNOWN_OPTION = re.compile(
    r"""(?ix) \b(?:unknown|unrecognized|unexpected|invalid)\s(?:option|argument|flag)s?\b [\s:'"`]* (?P<name>--?[\w-]+)"""
)
_USAGE = re.compile(
    r"(?i)\[(?:boolean|string|number|array)\].*\[(?:boolean|string|number|array)\]|^\s*usage:", re.DOTALL
)
"""A program that prints how it is used instead of an answer: it does not know an option."""


def find(program: str, environment: Mapping[str, str]) -> str | None:
    """The path of a program on PATH; None: it is not there."""
    return shutil.which(program, path=environment.get("PATH"))


def version(choice: AgentChoice) -> str:
    """The version that the agent's program reports; empty if it reports none, or if the agent is of a plugin that is not there any more."""
    try:
        agent = agents.of(choice)
    except UsageError:
        return ""
    return version_of(agent.program) if agent.program and choice.command is None else ""


def with_version(agent: Agent, request: Request, environment: Mapping[str, str]) -> Request:
    """The request, with the version of the program if an option of its command line depends on that."""
    if not agent.versions.flags or not agent.versions.is_in_question(agent.invocation(request).argv):
        return request
    return replace(request, version=known_version(agent, environment))


def known_version(agent: Agent, environment: Mapping[str, str]) -> str:
    """The version of the agent's program, which is asked once for each program; empty: unknown."""
    path = find(agent.program, environment) if agent.program else None
    if path is None:
        return ""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return _packaged(path) or _version_of(path, (status.st_ino, status.st_mtime_ns), tuple(sorted(environment.items())))


def _packaged(path: str) -> str:
    """The version in the package that a program was installed with by npm; empty: there is none. Starts no process."""
    folder = os.path.dirname(os.path.realpath(path))
    for _ in range(_PACKAGE_ABOVE):
        try:
            with disk.open_promptly(os.path.join(folder, "package.json")) as file:
                package = json.loads(file.read(_LONGEST_PACKAGE))
            if os.path.basename(path) in package.get("bin", ()):
                return str(package.get("version", ""))
        except (OSError, ValueError, AttributeError, TypeError):
            pass
        folder = os.path.dirname(folder)
    return ""


@lru_cache(maxsize=32)
def _version_of(path: str, _stamp: tuple[int, int], environment: tuple[tuple[str, str], ...]) -> str:
    return version_of(path, dict(environment))


def explained(agent: Agent, request: Request, failure: Failure, environment: Mapping[str, str]) -> Failure:
    """The failure. If the program did not know an option, that is said, with how to upgrade it."""
    option = _UNKNOWN_OPTION.search(failure.message)
    if not agent.program or failure.kind not in UNEXPLAINED or not (option or _USAGE.search(failure.message)):
        return failure
    name = option["name"] if option else "an option"
    if any(word.partition("=")[0] == name for word in request.args):
        sentence = f"{agent.program} does not know {name}, which you hand to it."
        return Failure(FailureKind.UNAVAILABLE, f"{sentence} Leave it out, or correct it.")
    version = known_version(agent, environment)
    wanted = agent.versions.flags.get(name, agent.versions.oldest)
    which = f"{agent.program} {version}".rstrip()
    age = f"it is older than {wanted}" if is_older(version, wanted) else "it is too old, or too new for this untildone"
    return Failure(
        FailureKind.UNAVAILABLE,
        f"{which} does not know {name}, which untildone needs: {age}. Upgrade it with: {agent.install}",
    )


def version_of(program: str, environment: Mapping[str, str] | None = None) -> str:
    """The version in the output of `PROGRAM --version`; empty if there is none within PATIENCE seconds."""
    try:
        ended = subprocess.run(
            [program, "--version"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    number = re.search(r"\d+(?:\.\d+)+(?:[-+.]\w+)*", ended.stdout or ended.stderr)
    return number[0] if number else ""
