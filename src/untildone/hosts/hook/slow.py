"""The slow part of a stop: runs gates and asks a supervisor. Imported only when a loop needs it."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from untildone import agents
from untildone.core.actions import AskAgent, RunGates
from untildone.core.events import SessionRead
from untildone.core.kinds import Host
from untildone.core.model import Role
from untildone.engine.process_hands import ProcessHands
from untildone.engine.stepper_ports import Next
from untildone.engine.surroundings import Surroundings
from untildone.engine.usage_limits import SharedLimits, default_folder
from untildone.hosts.hook import presence
from untildone.system import orphans
from untildone.system.guard import Guard

if TYPE_CHECKING:
    from untildone.hosts.hook.stops import Stop


def run_gates(stop: Stop, action: RunGates) -> Next:
    with _processes(stop) as hands:
        return hands.gates(action)


def consult(stop: Stop, action: AskAgent) -> Next:
    """Ask another role in a process of its own; a supervisor in a fork of this session, if the agent can fork."""
    if action.ask.role is Role.SUPERVISOR and _reads_more(stop):
        return Next.GO_ON
    with _processes(stop) as hands:
        hands.note_supervisors()
        return hands.ask(action)


def vouched(stop: Stop) -> str:
    """The digest of the session's transcript, if each prompt of a person in it is also in the loop; else empty."""
    from untildone.engine.verdicts import transcripts
    from untildone.hosts.hook import records

    session = stop.loop.session_of(Role.WORKER, stop.loop.settings.worker.profile)
    said = records.asked_in(agents.hook_of(stop.event.agent).transcript, stop.event.transcript)
    known = {words.strip() for words in stop.loop.asked}
    if not all(words.strip() in known for words in said):
        return ""
    return transcripts.grown(stop.event.transcript, session.transcript if session else "")


def _reads_more(stop: Stop) -> bool:
    """Whether the transcript contains requests of the person that the loop does not know. They are written, for the supervisor."""
    from untildone.hosts.hook import asked, records

    if stop.session_was_read or not stop.event.transcript:
        return False
    stop.session_was_read = True
    everything = asked.merged(
        records.asked_in(agents.hook_of(stop.event.agent).transcript, stop.event.transcript), stop.loop.asked
    )
    if everything == stop.loop.everything_asked:
        return False
    stop.stepper.write(SessionRead(everything), sync=False)
    return True


@contextmanager
def _processes(stop: Stop) -> Iterator[ProcessHands]:
    """Hands that run processes. At the end, all their processes are ended, with their process groups."""
    # The hook's program switches it off, but gates may run for half an hour.
    gc.enable()
    persons = {**presence.environment_of(stop.note.holder), **os.environ}
    of_session = _session_variables(stop.event.agent)
    environment = {name: value for name, value in persons.items() if name not in of_session}
    around = Surroundings(environment, stop.store.redactor, Guard(), SharedLimits(default_folder()), host=Host.HOOK)
    hands = ProcessHands(stop.stepper, stop.store, around, time_left=lambda: stop.deadline - time.monotonic())
    mark, _ = orphans.mark(stop.loop.loop_id)
    around.guard.watch(mark)
    try:
        yield hands
    finally:
        orphans.end_all(mark, groups=frozenset(hands.groups))
        around.guard.forget(mark)
        around.guard.close()


def _session_variables(agent: str) -> frozenset[str]:
    """Variables that describe a session of any agent. Checks and supervisors must not inherit them."""
    hooks = [agents.hook_of(name) for name in {agent, *agents.hooked_names()}]
    return frozenset(variable for hook in hooks for variable in hook.session_variables)
