"""What takes a stop its time: running the checks, and asking a supervisor. Imported only when it is needed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from untildone import gates
from untildone.core.actions import AskAgent, RunGates
from untildone.core.events import Event, GateStarted, SessionRead
from untildone.core.kinds import Host
from untildone.core.model import GateResult, Role
from untildone.engine import gating, turns
from untildone.engine.engine import Engine, Surroundings
from untildone.engine.usage_limits import SharedLimits, default_folder
from untildone.hosts.hook import presence
from untildone.store import Journal
from untildone.system import orphans
from untildone.system.guard import Guard
from untildone.workspace.look import Workspace

if TYPE_CHECKING:
    from untildone.hosts.hook.stops import Stop

LEAST = 0.5
"""With less time left than this, in seconds, nothing is begun."""
_SESSIONS_OWN = (
    "CLAUDECODE",
    "CLAUDE_PID",
    "CLAUDE_EFFORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_MESSAGING_SOCKET",
)
"""What the agent tells its hooks about its session: another agent, or a check, is not part of it."""


def run_gates(stop: Stop, action: RunGates) -> tuple[GateResult, ...] | None:
    """The word of every gate; None: a person wants the loop to rest at once."""
    results: list[GateResult] = []
    groups: set[int] = set()
    with _guarded(stop, groups) as around:
        env = turns.environment(around, stop.loop.loop_id)
        place = stop.loop.settings.workspace
        left = lambda: stop.deadline - time.monotonic()  # noqa: E731
        room = gating.Room(place, env, stop.wants_out, stop.store.redactor, groups, left)
        for step in action.steps:
            if step.command:
                stop.write(GateStarted(step.command), sync=False)
            results.append(gating.run_step(gates.find(step.gate), step, stop.loop, room))
            if stop.wants_out():
                return None
    return tuple(results)


def consult(stop: Stop, action: AskAgent) -> None:
    """Ask another role in a process of its own; for a supervisor, in a copy of this very session."""
    if action.ask.role is Role.SUPERVISOR and _reads_more(stop):
        return
    left = max(LEAST, stop.deadline - time.monotonic())
    groups: set[int] = set()
    with _guarded(stop, groups) as around:
        turns.Turn(_Consultation(stop, Engine(stop.store, around), groups), at_most=left).take(action)


def _reads_more(stop: Stop) -> bool:
    """Whether the session's record tells of something asked that was not known: then the supervisor is to be asked that as well."""
    from untildone.hosts.hook import asked, records

    if stop.session_was_read or not stop.event.transcript:
        return False
    stop.session_was_read = True
    everything = asked.merged(records.asked_in(stop.event.transcript), stop.loop.asked)
    if everything == stop.loop.everything_asked:
        return False
    stop.write(SessionRead(everything), sync=False)
    return True


@contextmanager
def _guarded(stop: Stop, groups: set[int]) -> Iterator[Surroundings]:
    """However this ends, nothing that was started stays, and nothing in the process groups."""
    persons = {**presence.environment_of(stop.note.holder), **os.environ}
    environment = {name: value for name, value in persons.items() if name not in _SESSIONS_OWN}
    around = Surroundings(environment, stop.store.redactor, Guard(), SharedLimits(default_folder()), host=Host.HOOK)
    mark, _ = orphans.mark(stop.loop.loop_id)
    around.guard.watch(mark)
    try:
        yield around
    finally:
        orphans.end_all(mark, groups=frozenset(groups))
        around.guard.forget(mark)
        around.guard.close()


class _Consultation:
    """What a turn needs of the drive that it is part of."""

    def __init__(self, stop: Stop, engine: Engine, groups: set[int]) -> None:
        self.engine = engine
        self.journal: Journal = stop.journal
        self.place = stop.loop.settings.workspace
        self.workspace = Workspace(self.place)
        self.groups = groups
        self._stop = stop

    def write(self, *events: Event, sync: bool = True) -> None:
        self._stop.write(*events, sync=sync)

    def write_if_still_so(self, *events: Event, sync: bool = True) -> bool:
        return self._stop.write_if_still_so(*events, sync=sync)

    def wants_out(self) -> bool:
        return self._stop.wants_out()

    def note_edit(self) -> bool:
        return self._stop.note_edit()

    def show_live_state(self) -> None:
        self._stop.show_live_state()
