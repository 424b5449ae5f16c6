"""Runs the trials of a proof: checks on trees that the proof makes up, each in a room."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from untildone.core.actions import RunCommand, RunTrials
from untildone.core.errors import UsageError
from untildone.core.judging.survey import Survey
from untildone.core.judging.trees import Tree
from untildone.core.loop import Loop
from untildone.core.model import TestsRule
from untildone.core.plugins.gate import CommandRan
from untildone.core.receipts import proving
from untildone.core.receipts.proving import Planned, Trial, TrialRan, TrialsRan, Work
from untildone.core.values.value import replace
from untildone.workspace.rooms import Room, RoomRefused

MOST_FILES, MOST_BYTES = 10_000, 100_000_000
"""Of held-out files."""
REPORTS = 10
"""How often the progress of many trials is reported."""

Enter = Callable[[Trial], AbstractContextManager[Room]]
"""Makes the room of a trial."""
Run = Callable[[RunCommand, Room], CommandRan]
Begin = Callable[[str], None]
"""Called with a line about the trial that runs now."""


def work_of(loop: Loop, before: Tree, after: Tree, survey: Survey) -> Work:
    """What the proofs of a loop make their trials from. Raises RoomRefused if the held-out files are not those of the start."""
    settings = loop.settings
    passed = {result.command: result for result in loop.gates if result.gate == "check"}
    return Work(
        before,
        after,
        survey,
        settings.checks,
        tests={command: result.tests for command, result in passed.items()},
        all_is_work=settings.tests is TestsRule.FREE,
        options=settings.options,
        held_out=_held_out(settings.options),
        word=f"Q{secrets.token_hex(6)}",
        seconds={command: result.seconds for command, result in passed.items()},
    )


def run(
    planned: Planned, need: RunTrials, enter: Enter, run_one: Run, begin: Begin, stopped: Callable[[], bool]
) -> TrialsRan | None:
    """Run the trials one after the other until the time for them is over. None: `stopped` returned True."""
    deadline, runs, total = time.monotonic() + need.seconds, list[TrialRan](), len(planned.trials)
    for number, trial in enumerate(planned.trials):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        if _is_reported(number, total):
            begin(f"{need.command} {number + 1}/{total}: {trial.label}")
        timeout = min(need.timeout, left, trial.timeout or need.timeout)
        with enter(trial) as room:
            ran = run_one(RunCommand(trial.command, timeout), room)
        if stopped():
            return None
        if time.monotonic() < deadline:
            runs.append(TrialRan(trial, replace(ran, room=room.kind)))
    return TrialsRan(tuple(runs), total, planned.notes)


def _is_reported(number: int, total: int) -> bool:
    return total <= REPORTS or number * REPORTS // total != (number - 1) * REPORTS // total


def refused(problem: str) -> TrialsRan:
    """The result of trials that could not be run."""
    return TrialsRan(problem=f"could not be proved: {problem.rstrip('.')}")


def digest(folder: str) -> str:
    """The hash of the held-out files in a folder. UsageError if there are none, or too many."""
    found = hashlib.sha256()
    for path, content in sorted(_files(folder)):
        found.update(b"%d %s %d " % (len(path), os.fsencode(path), len(content)) + content)
    return found.hexdigest()


def _held_out(options: Mapping[str, object]) -> dict[str, bytes]:
    folder = options.get(proving.HELD_OUT)
    if not folder:
        return {}
    try:
        found = dict(_files(str(folder)))
        if digest(str(folder)) != options.get(proving.HELD_OUT_DIGEST):
            raise RoomRefused(f"The held-out tests in {folder} are not those of the loop's start.", "put them back")
    except UsageError as problem:
        raise RoomRefused(problem.sentence, problem.hint) from problem
    return found


def _files(folder: str) -> Iterator[tuple[str, bytes]]:
    """The files of a folder by relative path, without links. UsageError if it holds none, or too many."""
    number = size = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", ".git"))
        for name in sorted(names):
            path = Path(place, name)
            if path.is_symlink() or not path.is_file():
                continue
            content = _content(path)
            number, size = number + 1, size + len(content)
            if number > MOST_FILES or size > MOST_BYTES:
                raise UsageError(f"The folder of held-out tests {folder} is too large.", "put only tests into it")
            yield os.path.relpath(path, folder), content
    if not number:
        raise UsageError(f"There are no held-out tests in {folder}.", "name a folder that holds tests")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"The held-out file {path} cannot be read: {error}.", "make it readable") from error
