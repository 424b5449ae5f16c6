"""Rooms for gates compared with the workspace itself: a check in a sealed and in a restored room, by the number of files.

Processor time is measured too, of this process and of all that it starts, because other load on the machine disturbs it less. It is
more than the clock shows: some of the work of a claim goes on while the check runs.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
from figures import Figure, Row, figure, seconds_of, taking_turns
from tests.support.rooms import LOOP, Premises, is_judge, said

from untildone.core.actions import RunCommand
from untildone.core.events import WorkspaceSeen
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, LoopSettings, RoomKind
from untildone.core.values.value import replace
from untildone.engine.verdicts import gating, judging, loop_rooms
from untildone.system.adoption import Adoption
from untildone.system.box import sandbox
from untildone.workspace.look import Workspace
from untildone.workspace.rooms import Claimed
from untildone.workspace.shadow import PLAIN, Content, Reading

SIZES, CHANGED = (2_000, 20_000), 5
FACTOR, EXTRA_MS = 1.3, 150.0
"""The goal: a check in a sealed room takes at most so many times as long as in place, plus so many milliseconds, for 2,000 files."""
BUSY = 25.0
"""Percent of all cores that other programs use on a busy machine."""
CHECK = "find . -name '*.py' -exec cat {} + | sha256sum"
"""Reads every file."""
BASELINE = "the same check in the workspace"


def rows(*, quick: bool) -> Iterator[Row]:
    if problem := sandbox.problem():
        raise SystemExit(str(problem))
    # The commands of a sealed room are no children of the process that waits for them; their time counts once they are adopted.
    Adoption()
    for files in (200,) if quick else SIZES:
        with _premises(files) as premises:
            yield _first(premises, files)
            yield from _checks(premises, files, times=3 if quick else 7)
            yield _between(premises, files, times=3 if quick else 7)
            yield from _claims(premises, files, times=3 if quick else 7)


@contextmanager
def _premises(files: int) -> Iterator[Premises]:
    folder = Path(tempfile.mkdtemp(prefix="rooms-", dir="/var/tmp"))
    try:
        premises = Premises(folder)
        premises.write({f"src/p{number // 10}/m{number % 10}.py": f"x = {number}\n" * 40 for number in range(files)})
        premises.write({".gitignore": "__pycache__\n", "tests/test_a.py": "original\n"})
        for command in (("init",), ("add", "--all"), ("-c", "user.name=a", "-c", "user.email=a", "commit", "-mx")):
            subprocess.run(["git", *command], cwd=premises.workspace, check=True, capture_output=True)
        premises.begin()
        yield premises
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _change(premises: Premises) -> str:
    """Change a few files, as an agent does between two claims; return the tree."""
    premises.write({f"src/p{number}/m0.py": f"x = {time.time()}\n" for number in range(CHANGED)})
    return premises.shadow.take().tree


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds."""

    wall: float
    processor: float


def _cost(work: Callable[[], object]) -> Cost:
    before = _processor()
    wall = seconds_of(work)
    return Cost(wall * 1000, (_processor() - before) * 1000)


def _processor() -> float:
    with suppress(ChildProcessError):
        while os.waitpid(-1, 0)[0]:
            pass
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _check(premises: Premises, kind: RoomKind, command: str = CHECK) -> Cost:
    """The cost of a check of a claim, from the claimed tree to the end of the command."""
    claimed, shadow, rooms = _change(premises), premises.shadow, premises.rooms
    tree = shadow.write_tree(claimed, {"tests/test_a.py": Content(PLAIN, b"other\n")})

    def judged() -> None:
        question = Claimed(premises.start, claimed, premises.record, is_judge)
        with rooms.claim(question) as claim, claim.room(kind, tree, premises.environment) as room:
            said(room, command)

    return _cost(judged)


def _first(premises: Premises, files: int) -> Row:
    took = _check(premises, RoomKind.SEALED, "true")
    what = f"the first sealed room of a workspace, {files:,} files"
    return Row(what, figure([took.wall], "ms"), note="it writes every file; later loops write what differs")


def _checks(premises: Premises, files: int, times: int) -> Iterator[Row]:
    took: dict[RoomKind, list[Cost]] = {kind: [] for kind in RoomKind}
    for kind in taking_turns(tuple(RoomKind), times):
        took[kind].append(_check(premises, kind))
    for kind in (RoomKind.SEALED, RoomKind.RESTORED):
        what = f"a check in a {kind} room, {files:,} files, {CHANGED} changed"
        yield from _compared(what, took[kind], BASELINE, took[RoomKind.PLAIN], files)
    empty = [_check(premises, RoomKind.SEALED, "true") for _ in range(times)]
    yield Row(f"a sealed room for `true`, {files:,} files, {CHANGED} changed", _wall(empty))


def _compared(what: str, took: list[Cost], baseline: str, plain: list[Cost], files: int) -> Iterator[Row]:
    """A row for the time on the clock, and one for the time of the processor. On a busy machine the second is judged instead of the first:
    all that is waited for takes many times as long, and the goal's milliseconds do not."""
    busy = psutil.cpu_percent(1) > BUSY
    for name, measured, is_judged in (("", _wall, not busy), (", processor time", _processor_time, busy)):
        one, other = measured(took), measured(plain)
        goal = FACTOR + EXTRA_MS / other.middle if files <= SIZES[0] and is_judged else None
        yield Row(f"{what}{name}", one, baseline, other, goal)


def _wall(costs: list[Cost]) -> Figure:
    return figure([cost.wall for cost in costs], "ms")


def _processor_time(costs: list[Cost]) -> Figure:
    return figure([cost.processor for cost in costs], "ms")


def _claims(premises: Premises, files: int, times: int) -> Iterator[Row]:
    """Everything about a claim: the snapshot before, the survey of judge files, all runs, the report, the snapshot after."""
    os.environ.update(premises.environment)
    workspace = Workspace(str(premises.workspace), LOOP)
    begun = _begun(premises, workspace)
    for what, test, size in (
        (": one run", "original\n", files),
        (" that changed a test: two runs", "changed\n", SIZES[-1]),
    ):
        took: dict[RoomKind, list[Cost]] = {kind: [] for kind in RoomKind}
        for kind in taking_turns((RoomKind.SEALED, RoomKind.PLAIN), times):
            _change(premises)
            premises.write({"tests/test_a.py": test})
            loop = replace(begun, settings=replace(begun.settings, room=kind))
            took[kind].append(_cost(partial(_judge, loop, workspace)))
        named = f"a whole claim in a sealed room{what}, {files:,} files"
        # The second run is the work of the check, not of the room: it has no goal.
        yield from _compared(named, took[RoomKind.SEALED], "in the workspace: one run", took[RoomKind.PLAIN], size)


def _begun(premises: Premises, workspace: Workspace) -> Loop:
    """A loop that begins with the workspace as it is."""
    settings = LoopSettings("ralph", AgentChoice("command", "command"), str(premises.workspace), checks=(CHECK,))
    loop = Loop(LOOP, "bench", "bench", settings, Budget(), time.time(), time.time())
    seen = loop_rooms.recorded(WorkspaceSeen(workspace.look()), loop, workspace)
    return replace(loop, start=seen.changes, start_record=seen.record, start_programs=seen.programs)


def _judge(loop: Loop, workspace: Workspace) -> None:
    claimed = replace(loop, changes=workspace.look(loop.start, reading=Reading.ALL))
    judge = judging.Judge(claimed, workspace, (), gating.Room(workspace.path, os.environ, lambda: False))
    ran = judge.findings([RunCommand(CHECK, 600)], lambda _command: None, lambda: False)
    if not ran or ran[CHECK].exit_code != 0:
        raise SystemExit(f"The check failed: {ran}")
    judge.signs()
    workspace.look(claimed.changes)


def _between(premises: Premises, files: int, times: int) -> Row:
    took = []
    with premises.room() as room:
        for _ in range(times):
            said(room, "echo x > src/p0/m0.py; mkdir -p build; date > build/x; date > src/p1/__pycache__")
            took.append(seconds_of(room.next_command) * 1000)
    return Row(f"between two commands in a sealed room, {files:,} files", figure(took, "ms"))


if __name__ == "__main__":
    for row in rows(quick=True):
        print(row)
