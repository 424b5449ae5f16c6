"""Starts or resumes a loop in a person's own session: the turn that the agent is about to take is its next iteration."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from untildone.core.actions import AskAgent
from untildone.core.errors import UsageError
from untildone.core.events import SessionOpened
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Role
from untildone.core.values.value import dataclass
from untildone.engine.leasing import leased
from untildone.engine.stepper import Stepper
from untildone.engine.stepper_ports import Idle, Next
from untildone.hosts.hook import presence, sessions
from untildone.hosts.hook.sessions import Note
from untildone.hosts.hook.status_lines import at_rest
from untildone.settings.guidance import watched
from untildone.store.files import FileStore
from untildone.system import locks, trust


@dataclass(frozen=True, slots=True)
class Begun:
    """A loop whose turn has begun in a session."""

    loop: Loop
    prompt: str
    """The prompt for the agent."""


def checked_session(session_id: str) -> str:
    """The session id. Raises UsageError if it is empty or invalid."""
    if sessions.is_name(session_id):
        return session_id
    raise UsageError(
        f"{session_id[:60]!r} is no session id." if session_id else "There is no session.",
        "give the id of the agent's session with --session; /until-done in the agent does it for you",
    )


@contextmanager
def one_at_a_time(store: FileStore) -> Iterator[None]:
    """A lock, so that two hooks that get the same prompt do not both start a loop."""
    folder = store.root / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with locks.locked(descriptor):
            yield
    except locks.LockHeld as held:
        raise UsageError(f"No loop can begin in {folder.parent.parent} now: {held}.", "end that process") from None
    finally:
        os.close(descriptor)


def loop_of(store: FileStore, session_id: str) -> Loop | None:
    """The loop of a session that has not ended; None: there is none."""
    note = sessions.read(str(store.root), session_id)
    if note is None or note.loop_id not in store.live_ids():
        return None
    loop = store.load(note.loop_id)
    return None if loop.status.ended else loop


def forget(store: FileStore, session_id: str) -> None:
    """Remove the note of a session whose loop has ended, once the person knows that."""
    note = sessions.read(str(store.root), session_id)
    if note is not None:
        sessions.forget(note)


def loops_of_sessions(store: FileStore) -> tuple[Loop, ...]:
    """The loops that were created in a session and are not archived."""
    loops = (store.load(loop_id) for loop_id in store.live_ids())
    return tuple(loop for loop in loops if loop.settings.hook_session)


class _Begins(Idle):
    """Hands that only write the start of the worker's turn: the agent itself already runs in the person's session."""

    def __init__(self, stepper: Stepper, note: Note) -> None:
        self.begun: Begun | None = None
        self._stepper = stepper
        self._note = note

    def ask(self, action: AskAgent) -> Next:
        if action.ask.role is not Role.WORKER:
            return Next.LEAVE
        # The note first: the hook ignores stops of a session without a note.
        sessions.write(self._note)
        opened = SessionOpened(Role.WORKER, action.agent.profile, self._note.session_id)
        if not self._stepper.begin_turn(action, action.prompt, opened):
            return Next.GO_ON
        self.begun = Begun(self._stepper.loop, action.prompt)
        return Next.LEAVE


def take_up(store: FileStore, loop_id: str, session_id: str, holder: str = "") -> Begun:
    """Make the agent's running turn the loop's next iteration. Process `holder` has the session. Raises UsageError if the loop rests."""
    note = Note(str(store.root), session_id, loop_id, holder=holder)
    with leased(store, loop_id, Host.HOOK) as stepper:
        stepper.take_up()
        _note_supervisors(stepper)
        hands = _Begins(stepper, note)
        loop = stepper.run(hands)
        if hands.begun is None and loop.works_in_session:
            sessions.write(note)
    presence.register(note.root, loop, holder)
    if loop.works_in_session:
        trust.begin(loop_id, watched(Path(loop.settings.workspace), os.environ))
    if hands.begun is None:
        raise _cannot_go_on(loop)
    return hands.begun


def _note_supervisors(stepper: Stepper) -> None:
    """Write what supervisors run with, before the agent works. A profile's own variables are not known here."""
    if stepper.loop.settings.review:
        from untildone.engine.verdicts import known_files

        known_files.note(stepper, lambda _choice: os.environ)


def _cannot_go_on(loop: Loop) -> UsageError:
    if loop.works_in_session:
        return UsageError(f"Loop {loop.loop_id} goes on, and has nothing left to do.", "say what comes next")
    return UsageError(at_rest(loop).removeprefix("untildone: "), "`untildone budget` changes what it may use")
