"""The agent programs on this machine: their paths and versions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping

from untildone import agents
from untildone.core.errors import UsageError
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Failure, FailureKind
from untildone.core.plugins.agent import Agent, is_older
from untildone.core.plugins.agent_io import Request
from untildone.core.protection import passing
from untildone.core.values.value import replace
from untildone.system import disk
from untildone.system.box.sandbox import Box, Network, in_network

PATIENCE = 10.0
MOST_KNOWN = 32
_known: dict[tuple[str, int, int, tuple[tuple[str, str], ...]], str] = {}
"""Versions by path, state and environment of their program."""
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


def unboxed() -> None:
    """No box: the program is asked as the person would ask it."""


def box_for(loop: Loop, folder: str, choice: AgentChoice, environment: Mapping[str, str]) -> Box | None:
    """The box in which a program says its version, if the agents of the loop run in one; they may have put another program in its place,
    where a folder of the work is on PATH. UsageError if there can be none."""
    from untildone.engine import boxes
    from untildone.engine.boxes import planning

    if not boxes.containment(loop.settings).boxed:
        return None
    plan = planning.plan_for(loop.settings, folder, choice, environment, os.path.join(loop.loop_id, "version"))
    return in_network(boxes.box_of(plan), Network.NONE)


def version(loop: Loop, folder: str) -> str:
    """The version that the program of the loop's worker reports; empty if it reports none, or if the agent is of a plugin that is not
    there any more."""
    choice = loop.settings.worker
    try:
        agent = agents.of(choice)
    except UsageError:
        return ""
    if not agent.program or choice.command is not None:
        return ""
    environment = passing.passed(os.environ)
    return _asked(agent.program, environment, lambda: box_for(loop, folder, choice, environment))


def with_version(
    agent: Agent, request: Request, environment: Mapping[str, str], box: Callable[[], Box | None] = unboxed
) -> Request:
    """The request, with the version of the program if an option of its command line depends on that. `box` makes the box for it."""
    if not agent.versions.flags or not agent.versions.is_in_question(agent.invocation(request).argv):
        return request
    return replace(request, version=known_version(agent, environment, box))


def known_version(agent: Agent, environment: Mapping[str, str], box: Callable[[], Box | None] = unboxed) -> str:
    """The version of the agent's program, which is asked once for each program; empty: unknown. `box` makes the box for it."""
    path = find(agent.program, environment) if agent.program else None
    if path is None:
        return ""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    if packaged := _packaged(path):
        return packaged
    key = (path, status.st_ino, status.st_mtime_ns, tuple(sorted(environment.items())))
    if key not in _known:
        _known.clear() if len(_known) >= MOST_KNOWN else None
        _known[key] = _asked(path, environment, box)
    return _known[key]


def _asked(program: str, environment: Mapping[str, str], box: Callable[[], Box | None]) -> str:
    try:
        return version_of(program, environment, box())
    except UsageError:
        # No box can be made, and there must be one.
        return ""


def _packaged(path: str) -> str:
    """The version in the npm package of a program, read from its files; empty: it is in none."""
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


def explained(
    agent: Agent,
    request: Request,
    failure: Failure,
    environment: Mapping[str, str],
    box: Callable[[], Box | None] = unboxed,
    left_out: frozenset[str] = frozenset(),
) -> Failure:
    """The failure. If the program did not know an option, that is said, with how to upgrade it; if it names a variable that it did not get,
    with how to let it pass. `box` makes a box for the program."""
    option = _UNKNOWN_OPTION.search(failure.message)
    if names := passing.mentioned(failure.message, left_out):
        return replace(failure, message=f"{failure.message} ({passing.not_got(names)})")
    if not agent.program or failure.kind not in UNEXPLAINED or not (option or _USAGE.search(failure.message)):
        return failure
    name = option["name"] if option else "an option"
    if any(word.partition("=")[0] == name for word in request.args):
        sentence = f"{agent.program} does not know {name}, which you hand to it."
        return Failure(FailureKind.UNAVAILABLE, f"{sentence} Leave it out, or correct it.")
    version = known_version(agent, environment, box)
    needed = agent.versions.flags.get(name, agent.versions.oldest)
    which = f"{agent.program} {version}".rstrip()
    age = f"it is older than {needed}" if is_older(version, needed) else "it is too old, or too new for this untildone"
    return Failure(
        FailureKind.UNAVAILABLE,
        f"{which} does not know {name}, which untildone needs: {age}. Upgrade it with: {agent.install}",
    )


def version_of(program: str, environment: Mapping[str, str] | None = None, box: Box | None = None) -> str:
    """The version in the output of `PROGRAM --version`, run in a box if one is given; empty if there is none within PATIENCE seconds."""
    command: tuple[str, ...] = (program, "--version")
    environment = passing.passed(os.environ) if environment is None else environment
    if box is not None:
        command, environment = box.argv(command), box.environment(environment)
    try:
        ended = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if box is not None and ended.returncode:
        return ""
    number = re.search(r"\d+(?:\.\d+)+(?:[-+.]\w+)*", ended.stdout or ended.stderr)
    return number[0] if number else ""
