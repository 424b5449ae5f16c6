"""Runs the trials of a proof: checks on trees that the proof makes up, each in a room."""

from __future__ import annotations

import os
import secrets
import string
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from untildone.core.actions import RunCommand, RunTrials
from untildone.core.errors import UsageError
from untildone.core.judging.project_tests.keeping_back import share_of
from untildone.core.judging.survey import Survey
from untildone.core.judging.trees import Tree
from untildone.core.loop import Loop
from untildone.core.model import BeforeWork, TestsRule
from untildone.core.plugins.gate import CommandEnd, CommandRan
from untildone.core.receipts import proving
from untildone.core.receipts.proving import Planned, Trial, TrialRan, TrialsRan, Work
from untildone.core.values.value import dataclass, replace
from untildone.store import packing
from untildone.system import disk
from untildone.workspace.rooms import Room, RoomRefused
from untildone.workspace.rooms.refusal import again_if_void

MOST_FILES, MOST_BYTES = 10_000, 100_000_000
"""Of held-out files."""
HELD_OUT, ACCEPTANCE = "held-out", "acceptance-{sha256}"
"""The names under which the store of a cluster carries them."""
LOOK_EVERY = 0.05
"""Seconds between two looks at the trials that run."""

Enter = Callable[[Trial, int], AbstractContextManager[Room]]
"""Makes the room of a trial, in one of the lanes of a claim."""
Run = Callable[[RunCommand, Room, Callable[[], bool]], CommandRan]
"""Runs a command in a room; it ends early once the last argument returns True."""
Carried = Callable[[str], str | None]
"""Returns what the store of a cluster carries for the loop under a name; None: nothing."""
Begin = Callable[[int, int, str], None]
"""Called with the number of trials that have begun, the number of all, and what the last of them is about."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Tests that the agent never sees, by path."""

    kept_back: Mapping[str, bytes]
    """Tests of the project itself."""
    written: Mapping[str, bytes]
    """Those of another author."""
    carried: Carried
    """Returns those of a folder of the person, `packed`, for a loop in a cluster."""
    place: str = ""
    """Where that folder is laid over: the folder of the workspace, relative to the root of the trees."""


def work_of(loop: Loop, before: Tree, after: Tree, survey: Survey, unseen: Unseen) -> Work:
    """What the proofs of a loop make their trials from.

    Raises RoomRefused if the held-out files are not those of the start."""
    settings = loop.settings
    passed = {result.command: result for result in loop.gates if result.gate == "check"}
    held_out = _held_out(settings.options, unseen.carried if settings.remote is not None else None)
    return Work(
        before,
        after,
        survey,
        settings.checks,
        tests={command: result.tests for command, result in passed.items()},
        all_is_work=settings.tests is TestsRule.FREE,
        options=settings.options,
        held_out=unseen.kept_back or {os.path.join(unseen.place, path): held_out[path] for path in held_out},
        acceptance=unseen.written,
        says_nothing=_say_nothing(loop),
        failing={command: result.failing for command, result in passed.items()},
        word=_word(),
        folder=unseen.place,
        measured={each.command: each for each in loop.baseline if each.has_run and (each.failing or not each.reason)},
        seconds={command: result.seconds for command, result in passed.items()},
    )


def _word() -> str:
    """A word that nobody can know, and that looks like others: code under test may search for it."""
    return "".join(secrets.choice(string.ascii_lowercase) for _ in range(10)).capitalize()


def _say_nothing(loop: Loop) -> bool:
    tried = loop.acceptance.tried if loop.acceptance else ()
    return bool(tried) and all(each.said is not BeforeWork.FAILS for each in tried)


class Lanes:
    """Runs the trials of a proof: some at once, each in a room of its own, until the time for them is over."""

    def __init__(self, planned: Planned, need: RunTrials, enter: Enter, run_one: Run, most: int) -> None:
        """At most `most` trials run at once."""
        self._trials = planned.trials
        self._need = need
        self._enter = enter
        self._run_one = run_one
        self._number = max(1, min(most, len(planned.trials))) if planned.at_once else 1
        self._deadline = time.monotonic() + need.seconds
        self._left = deque(enumerate(planned.trials))
        self._ran: dict[int, TrialRan] = {}
        self._is_halted = threading.Event()
        self.unneeded = 0
        """How many trials the one before them made needless."""
        self.unfinished = ""
        """Why a trial did not run to its end, though there was time for it; empty: each did."""

    def run(self, begin: Begin, stopped: Callable[[], bool]) -> dict[int, TrialRan] | None:
        """The trials that have run, by number. None: `stopped` returned True. Both functions are called in this thread only."""
        with ThreadPoolExecutor(self._number) as pool:
            lanes = [pool.submit(self._work, lane) for lane in range(self._number)]
            try:
                was_stopped = self._watch(lanes, begin, stopped)
            finally:
                self._is_halted.set()
        for lane in lanes:
            lane.result()
        return None if was_stopped else self._ran

    def _watch(self, lanes: list[Future[None]], begin: Begin, stopped: Callable[[], bool]) -> bool:
        """Report progress until all lanes have ended, or one of them failed. True: `stopped` returned True."""
        reported = -1
        while True:
            done = len(self._trials) - len(self._left)
            if done > reported:
                begin(done, len(self._trials), self._trials[max(0, done - 1)].label)
                reported = done
            ended, going = wait(lanes, LOOK_EVERY, FIRST_EXCEPTION)
            if stopped():
                return True
            if not going or any(lane.exception() for lane in ended):
                return False

    def _work(self, lane: int) -> None:
        while not self._is_halted.is_set() and time.monotonic() < self._deadline:
            try:
                number, trial = self._left.popleft()
            except IndexError:
                return
            if self._is_needed(number, trial):
                again_if_void(partial(self._take, number, trial, lane))
            else:
                self.unneeded += 1

    def _is_needed(self, number: int, trial: Trial) -> bool:
        before = self._ran.get(number - 1)
        return trial.needed is None or (before is not None and trial.needed(before.ran))

    def _take(self, number: int, trial: Trial, lane: int) -> None:
        with self._enter(trial, lane) as room:
            left = self._deadline - time.monotonic()
            if left <= 0:
                return
            # Others that run at the same time may make this one slower.
            own = self._need.timeout if trial.timeout is None else trial.timeout * self._number
            need = RunCommand(trial.command, min(self._need.timeout, left, own))
            ran = self._run_one(need, room, self._is_halted.is_set)
            if not _is_over(ran):
                self.unfinished = ran.problem or "a command was interrupted"
            elif time.monotonic() < self._deadline and not self._is_halted.is_set():
                self._ran[number] = TrialRan(trial, replace(ran, room=room.kind))


def _is_over(ran: CommandRan) -> bool:
    """Whether a command ran to its end or for all of its time. One that did not even start is not red: a proof that wants a failure would
    hold for it."""
    hurried = ran.end is CommandEnd.TIMED_OUT and bool(ran.problem)
    return ran.end in (CommandEnd.EXITED, CommandEnd.TIMED_OUT) and not hurried


def run(
    planned: Planned,
    need: RunTrials,
    enter: Enter,
    run_one: Run,
    begin: Begin,
    stopped: Callable[[], bool],
    most: int = 1,
) -> TrialsRan | None:
    """Run the trials until the time for them is over, at most `most` at once. None: `stopped` returned True."""
    started = time.monotonic()
    if not planned.trials:
        return TrialsRan(notes=planned.notes)
    lanes = Lanes(planned, need, enter, run_one, most)
    found = lanes.run(begin, stopped)
    if found is None:
        return None
    runs = tuple(found[number] for number in sorted(found))
    problem = refused(lanes.unfinished).problem if lanes.unfinished and not planned.at_once else ""
    return TrialsRan(runs, len(planned.trials) - lanes.unneeded, planned.notes, problem, time.monotonic() - started)


def refused(problem: str) -> TrialsRan:
    """The result of trials that could not be run."""
    return TrialsRan(problem=f"could not be proved: {problem.rstrip('.')}")


def digest(folder: str) -> str:
    """The hash of the held-out files in a folder. UsageError if there are none, or too many."""
    return packing.digest(files(folder))


def packed(folder: str) -> str:
    """The held-out files in a folder as one text, for the machines of a cluster. UsageError if they are too large for that."""
    return packing.packed(files(folder), f"The held-out tests in {folder}")


def _held_out(options: Mapping[str, object], carried: Carried | None) -> dict[str, bytes]:
    folder = options.get(proving.HELD_OUT)
    if not folder or share_of(folder) is not None:
        return {}
    try:
        expected = options.get(proving.HELD_OUT_DIGEST)
        if carried is not None:
            return packing.unpacked(carried(HELD_OUT), expected)
        found = dict(files(str(folder)))
        if packing.digest(found.items()) != expected:
            raise ValueError
    except (UsageError, ValueError):
        hint = "put them back" if carried is None else "start a new loop"
        # The agent reads this too, and must not learn where they are.
        raise RoomRefused("The held-out tests are not those of the loop's start.", hint) from None
    return found


def files(folder: str) -> Iterator[tuple[str, bytes]]:
    """The files of a folder by relative path, without links. UsageError if it holds none, or too many."""
    number = size = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", ".git"))
        for name in sorted(names):
            path = Path(place, name)
            if path.is_symlink() or not path.is_file():
                continue
            content = _content(path, MOST_BYTES - size + 1)
            number, size = number + 1, size + len(content)
            if number > MOST_FILES or size > MOST_BYTES:
                raise UsageError(f"The folder of held-out tests {folder} is too large.", "put only tests into it")
            yield os.path.relpath(path, folder), content
    if not number:
        raise UsageError(f"There are no held-out tests in {folder}.", "name a folder that holds tests")


def _content(path: Path, most: int) -> bytes:
    try:
        return disk.read_promptly(path, most)
    except OSError as error:
        raise UsageError(f"The held-out file {path} cannot be read: {error}.", "make it readable") from error
