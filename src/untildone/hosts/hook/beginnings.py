"""A loop begins, or goes on, in a person's own session: the turn that the agent is about to take is its next iteration."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from untildone import modes
from untildone.core.actions import AskAgent, Record
from untildone.core.decide import decide
from untildone.core.errors import UsageError
from untildone.core.events import SessionOpened, TurnStarted, WorkspaceSeen
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Role
from untildone.core.value import dataclass
from untildone.gates import gates_of
from untildone.hosts.hook import sessions
from untildone.hosts.hook.sessions import Note
from untildone.hosts.hook.standings import at_rest
from untildone.store.files import FileStore
from untildone.store.journal import FileJournal
from untildone.system import locks
from untildone.workspace.look import Workspace


@dataclass(frozen=True, slots=True)
class Begun:
    loop: Loop
    prompt: str
    """What the agent should be told."""


def checked_session(session_id: str) -> str:
    if sessions.is_name(session_id):
        return session_id
    raise UsageError(
        f"{session_id[:60]!r} is no session id." if session_id else "There is no session.",
        "give the id of the agent's session with --session; /until-done in the agent does it for you",
    )


@contextmanager
def one_at_a_time(store: FileStore) -> Iterator[None]:
    """Two hooks that hear the same prompt do not both begin a loop."""
    folder = store.root / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with locks.locked(descriptor):
            yield
    finally:
        os.close(descriptor)


def loop_of(store: FileStore, session_id: str) -> Loop | None:
    """The loop that a session has, if there is one and it has not ended."""
    note = sessions.read(str(store.root), session_id)
    if note is None or note.loop_id not in store.live_ids():
        return None
    loop = store.load(note.loop_id)
    return None if loop.status.ended else loop


def forget(store: FileStore, session_id: str) -> None:
    """The session has no loop any more, and the person knows."""
    note = sessions.read(str(store.root), session_id)
    if note is not None:
        sessions.forget(note)


def loops_of_sessions(store: FileStore) -> tuple[Loop, ...]:
    """The loops that are not in the history and were begun in a session."""
    loops = (store.load(loop_id) for loop_id in store.live_ids())
    return tuple(loop for loop in loops if loop.settings.hook_session)


def take_up(store: FileStore, loop_id: str, session_id: str, holder: str = "") -> Begun:
    """The agent's running turn is the loop's next iteration; `holder` has its session. UsageError if the loop cannot go on."""
    with store.claim(loop_id, Host.HOOK) as journal:
        if not journal.loop.start.fingerprint:
            journal.append(WorkspaceSeen(Workspace(journal.loop.settings.workspace).look(None)))
        action = _next(journal)
        if action is not None or journal.loop.works_in_session:
            sessions.write(Note(str(store.root), session_id, loop_id, holder=holder))
        if action is None:
            raise _cannot_go_on(journal.loop)
        journal.append(*_started(action, session_id))
        _show_live_state(store, journal.loop)
        return Begun(journal.loop, action.ask.prompt)


def _cannot_go_on(loop: Loop) -> UsageError:
    if loop.works_in_session:
        return UsageError(f"Loop {loop.loop_id} goes on, and has nothing left to do.", "say what comes next")
    return UsageError(at_rest(loop).removeprefix("untildone: "), "`untildone budget` changes what it may use")


def _next(journal: FileJournal) -> AskAgent | None:
    mode = modes.find(journal.loop.settings.mode)
    while isinstance(action := decide(journal.loop, time.time(), mode, gates_of), Record):
        journal.append(*action.events)
    worker = isinstance(action, AskAgent) and action.ask.role is Role.WORKER
    return action if worker and isinstance(action, AskAgent) else None


def _started(action: AskAgent, session_id: str) -> tuple[TurnStarted, SessionOpened]:
    profile = action.agent.profile
    started = TurnStarted(
        role=Role.WORKER,
        iteration=action.iteration,
        attempt=action.attempt,
        profile=profile,
        session=action.session,
        prompt=action.ask.prompt,
        messages=action.messages,
        session_id=action.session_id,
        label=action.ask.label,
    )
    return started, SessionOpened(Role.WORKER, profile, session_id)


def _show_live_state(store: FileStore, loop: Loop) -> None:
    text = modes.find(loop.settings.mode).live_state(loop)
    if text is not None:
        store.live_file(loop.loop_id, loop.settings.workspace).write(text)
