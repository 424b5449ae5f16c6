"""Runs a command in the box in which the agents of a loop would run, so that a person finds out what is missing there."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from untildone import settings
from untildone.core.errors import UsageError
from untildone.core.model import LoopSettings, Role
from untildone.core.protection.sandbox import Sandbox
from untildone.core.values.value import replace
from untildone.engine import boxes, environments
from untildone.engine.boxes import links, network, planning
from untildone.engine.place import Place
from untildone.operations.creating.loop_settings import loop_settings

INJECTION = Path("/proc/sys/dev/tty/legacy_tiocsti")
"""The kernel setting by which a program may type into its terminal: it could then leave the box by the person's shell."""


def run(
    folder: Path,
    flags: Mapping[str, Any],
    command: Sequence[str],
    environment: Mapping[str, str],
    report: Callable[[str], None],
) -> int:
    """Run a command in a box, with the terminal of this process. Returns its exit code. UsageError if there are no boxes here.

    `report` gets a sentence for each host that the box refused."""
    kept = _settings(folder, flags, environment)
    boxes.containment(kept)
    profile = settings.profile(settings.load(folder, flags), kept.worker.profile)
    outside = environments.for_agent(environment, kept.worker, environments.named(kept)) | dict(profile.env)
    if shutil.which(command[0], path=outside.get("PATH")) is None:
        raise UsageError(f"The program '{command[0]}' was not found.", "install it, or put its folder on PATH")
    plan = planning.plan_for(
        kept, str(folder), kept.worker, outside, f"try-{os.getpid()}", at_terminal=not _can_type_into_terminal()
    )
    plan = dataclasses.replace(plan, words=tuple(command))
    try:
        with network.connected(Place(str(folder), boxes.box_of(plan)), kept, kept.worker, outside) as link:
            code = _exit_code(link.place, command, outside)
    finally:
        shutil.rmtree(plan.private, ignore_errors=True)
    for sentence in links.put_back(link.place.box):
        report(sentence)
    for asked in link.asked():
        if not asked.allowed:
            report(asked.sentence)
    return code


def _settings(folder: Path, flags: Mapping[str, Any], environment: Mapping[str, str]) -> LoopSettings:
    chosen = settings.load(folder, dict(flags))
    kept = loop_settings(chosen, str(folder), environment, elsewhere=tuple(Role), reviewed=False)
    return replace(kept, sandbox=Sandbox.ON)


def _can_type_into_terminal() -> bool:
    try:
        return INJECTION.read_text(encoding="ascii").strip() != "0"
    except OSError:
        return True


def _exit_code(place: Place, command: Sequence[str], outside: Mapping[str, str]) -> int:
    sys.stdout.flush()
    argv, environment = place.argv(command), place.environment(outside)
    try:
        with subprocess.Popen(argv, env=environment, cwd=place.folder, pass_fds=place.descriptors) as process:
            while True:
                try:
                    code = process.wait()
                    return 128 - code if code < 0 else code
                except KeyboardInterrupt:
                    # The command gets it as well, from the terminal, and decides.
                    continue
    except OSError as problem:
        raise UsageError(
            f"The sandbox cannot be started: {problem.strerror}.", "free some memory or processes"
        ) from None
