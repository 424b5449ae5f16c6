"""The agent wants to stop: what the core says to that, carried out."""

from __future__ import annotations

import os
import time

from untildone import modes
from untildone.core.actions import Action, AskAgent, AwaitPerson, Record, Rest, RunGates, Wait
from untildone.core.apply import apply
from untildone.core.decide import decide
from untildone.core.errors import LoopBusy
from untildone.core.events import (
    AnswerRead,
    Entry,
    Event,
    GatesRan,
    HookTriggered,
    LiveStateSeen,
    PromptReinjected,
    Rested,
    TurnEnded,
    TurnStarted,
)
from untildone.core.hook import ALLOW, HookEvent, Reply
from untildone.core.kinds import Host
from untildone.core.loop import Loop, Turn
from untildone.core.model import Answer, Changes, Outcome, Role, SessionUse, Status
from untildone.core.secrets import Redactor
from untildone.core.value import replace
from untildone.gates import gates_of
from untildone.hosts.hook import presence, sessions
from untildone.hosts.hook.sessions import Note
from untildone.hosts.hook.standings import at_rest, done

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.store.files import FileStore
    from untildone.store.journal import FileJournal

KEPT_MESSAGE = 200_000
LONGEST_WAIT = 120.0
"""Seconds that a person may be kept waiting for a supervisor at its limit."""


def answer(event: HookEvent, note: Note, deadline: float) -> Reply:
    note = _with_holder(note)
    store = open_store(note.root, presence.environment_of(note.holder))
    if not os.path.isdir(os.path.join(note.root, f"{note.loop_id}.progress")):
        sessions.forget(note)
        return Reply(user_message=at_rest(store.load(note.loop_id)))
    try:
        with store.claim(note.loop_id, Host.HOOK) as journal:
            stop = Stop(event, note, deadline, store, journal)
            reply = stop.answer()
    except LoopBusy as busy:
        return Reply(user_message=f"untildone: {busy.sentence} It decides there; the agent may stop.")
    if journal.loop.status.ended:
        reply = replace(reply, user_message=reply.user_message + _archived(store, journal.loop))
    return reply


def _with_holder(note: Note) -> Note:
    """A session may be gone on with in another process than the one that it was left in."""
    if note.holder and not presence.is_gone(note.holder):
        return note
    holder = presence.of_agent(os.environ)
    if not holder:
        return note
    sessions.write(replace(note, holder=holder))
    return replace(note, holder=holder)


def open_store(root: str, hidden: Mapping[str, str] | None = None) -> FileStore:
    """`hidden` are variables that the agent keeps from its hooks; no secret among them is to be written down either."""
    from pathlib import Path

    from untildone.store.files import FileStore

    return FileStore(Path(root), Redactor.from_environment({**(hidden or {}), **os.environ}))


def _archived(store: FileStore, loop: Loop) -> str:
    """The job is done, archived or not; whoever looks at the loops next archives what could not be."""
    from untildone.engine import archiving

    try:
        archiving.archive(store, loop)
    except Exception as problem:
        return f" It could not be archived yet: {problem}"
    return ""


class Stop:
    """One stop of one session, with its loop claimed."""

    def __init__(self, event: HookEvent, note: Note, deadline: float, store: FileStore, journal: FileJournal) -> None:
        self.event = event
        self.note = note
        self.deadline = deadline
        self.store = store
        self.journal = journal
        self.mode = modes.find(journal.loop.settings.mode)
        self.live = store.live_file(journal.loop.loop_id, journal.loop.settings.workspace)
        self.message = self._message()
        self.decided_at = 0
        self.session_was_read = False

    @property
    def loop(self) -> Loop:
        return self.journal.loop

    def write(self, *events: Event, sync: bool = True) -> None:
        self.journal.append(*events, sync=sync)

    def write_if_still_so(self, *events: Event, sync: bool = True) -> bool:
        """Write what was decided, unless somebody said something since: then it must be decided anew."""
        entries = self.journal.append(*events, sync=sync, after=self.decided_at)
        return any(entry.event is events[-1] for entry in entries)

    def answer(self) -> Reply:
        if self.loop.status is not Status.RUNNING:
            return self._rests()
        if self.loop.turn is not None and self.loop.turn.started_at > self.event.at:
            # Another hook of the same session was told of this stop too, and has answered it.
            return ALLOW
        if self.loop.turn is None and self.loop.settings.interactive and not self._note_work_of_its_own():
            return ALLOW
        self._note_stop()
        self._look_again()
        while (reply := self._carry_out(self._decided())) is None:
            continue
        return reply

    def _decided(self) -> Action:
        self.decided_at = self.loop.seq
        return decide(self.loop, time.time(), self.mode, gates_of)

    def _message(self) -> str:
        """What the agent said last; of a message that holds those before it as well, only what is new."""
        message = self.event.message
        if message is None:
            from untildone.hosts.hook.transcripts import last_message

            return last_message(self.event.transcript, self.event.transcript_marker)
        if self.event.message_is_cumulative and self.event.stop_hook_active:
            return message[self.note.heard :]
        return message

    def _note_work_of_its_own(self) -> bool:
        """Nobody asked for anything since the last stop: whether the agent went on by itself, as when a task in the background ends."""
        loop = self.loop
        said, known = self.message.strip(), loop.last_answer.strip()
        if not said or (known and said.endswith(known)):
            return False
        self.write(
            TurnStarted(
                role=Role.WORKER,
                iteration=loop.next_iteration,
                attempt=1,
                profile=loop.settings.worker.profile,
                session=SessionUse.RESUME,
                prompt="",
                session_id=self.event.session_id,
            )
        )
        return True

    def _note_stop(self) -> None:
        loop, turn = self.loop, self.loop.turn
        self.write(HookTriggered(self.event.session_id, self.event.stop_hook_active), sync=False)
        self.note_edit()
        if turn is None or turn.role is not Role.WORKER or loop.answer is not None:
            return
        self.write(self._ended(turn), sync=False)
        if self.event.message_is_cumulative:
            sessions.write(replace(self.note, heard=len(self.event.message or "")))

    def _look_again(self) -> None:
        """What the gates said at an earlier stop holds only if the workspace is still the same."""
        if self.loop.claimed and self.loop.gates:
            from untildone.engine import rechecking
            from untildone.workspace.look import Workspace

            seen = rechecking.changed_since(self.loop, Workspace(self.loop.settings.workspace))
            if seen is not None:
                self.write(seen)

    def _workspace_now(self) -> Changes:
        from untildone.workspace.look import Workspace

        return Workspace(self.loop.settings.workspace).look(self.loop.changes)

    def _ended(self, turn: Turn) -> TurnEnded:
        answer = Answer(text=self.message[-KEPT_MESSAGE:], session_id=self.event.session_id)
        now = time.time()
        ended = TurnEnded(Role.WORKER, turn.iteration, answer, max(0.0, now - turn.started_at))
        if not self._matters(ended, now):
            return ended
        if self.loop.settings.commit:
            from untildone.workspace import commits

            commits.commit(self.loop.settings.workspace, f"Round {turn.iteration}: {self.loop.title}")
        return replace(ended, changes=self._workspace_now())

    def _matters(self, ended: TurnEnded, now: float) -> bool:
        """Whether what changed in the workspace has a bearing on what comes next: looking takes git its time."""
        loop = apply(self.loop, Entry(self.loop.seq + 1, now, ended))
        understood = decide(loop, now, self.mode, gates_of)
        events = understood.events if isinstance(understood, Record) else ()
        claims = any(isinstance(event, AnswerRead) and (event.claimed or event.gives_up) for event in events)
        is_last = loop.budget.iterations is not None and loop.spend.iterations >= loop.budget.iterations
        told = loop.pause is not None or loop.stop is not None
        return claims or is_last or told or loop.settings.commit or loop.stall.answers > 1

    def _carry_out(self, action: Action) -> Reply | None:
        """What the agent is answered; None: there is more to do first."""
        match action:
            case Record(events=events):
                if self.write_if_still_so(*events, sync=False):
                    self._pass_on(events)
            case RunGates():
                self._run_gates(action)
            case AskAgent() if action.ask.role is Role.WORKER:
                return self._send_back(action)
            case AskAgent():
                from untildone.hosts.hook.slow import consult

                consult(self, action)
            case Wait(until=until, reason=reason):
                return self._wait(until, reason)
            case AwaitPerson(leave=leave) if leave.status.ended:
                return self._hands_over(leave)
            case AwaitPerson(leave=leave, reason=reason):
                self.write(Rested(leave, reason))
            case Rest():
                return self._rests()
        return None

    def _send_back(self, action: AskAgent) -> Reply | None:
        if self.note_edit():
            return None
        prompt = reinjection(self.loop, action)
        started = TurnStarted(
            role=Role.WORKER,
            iteration=action.iteration,
            attempt=action.attempt,
            profile=action.agent.profile,
            session=action.session,
            prompt=prompt,
            messages=action.messages,
            session_id=action.session_id,
            label=action.ask.label,
        )
        if not self.write_if_still_so(started, PromptReinjected(action.iteration)):
            return None
        self.show_live_state()
        return Reply(block_reason=prompt)

    def _run_gates(self, action: RunGates) -> None:
        from untildone.hosts.hook.slow import run_gates

        self.write()
        started = time.monotonic()
        results = run_gates(self, action)
        if results is not None:
            seen = self._workspace_now().fingerprint
            self.write(GatesRan(results, time.monotonic() - started, seen), sync=False)

    def _wait(self, until: float, reason: str) -> Reply | None:
        left = self.deadline - time.monotonic()
        if until - time.time() > min(left, LONGEST_WAIT):
            self.write()
            return Reply(user_message=f"untildone: {reason}. The agent may stop; its next stop goes on with the loop.")
        time.sleep(max(0.0, until - time.time()))
        return None

    def _rests(self) -> Reply:
        """The person is told once how the loop came to rest."""
        self.write()
        self.show_live_state()
        if self.loop.status.ended:
            sessions.forget(self.note)
        else:
            sessions.write(replace(self.note, told=True))
        return Reply(user_message=at_rest(self.loop))

    def _hands_over(self, outcome: Outcome) -> Reply:
        """Done, and a person is there: the loop stays open for what they ask next."""
        self.write()
        return Reply(user_message=done(self.loop, outcome))

    def note_edit(self) -> bool:
        """Write down what somebody made of the live state file; whether somebody did."""
        edit = None if self.mode.live_state(self.loop) is None else self.live.edited()
        if edit is None:
            return False
        self.write(LiveStateSeen(edit.text, edit.before))
        self.live.seen(edit.text)
        return True

    def show_live_state(self) -> None:
        text = self.mode.live_state(self.loop)
        if text is not None and (self.loop.status.ended or self.live.edited() is None):
            self.live.write(text)

    def _pass_on(self, events: tuple[Event, ...]) -> None:
        for event in events:
            if not isinstance(event, AnswerRead):
                continue
            for name, text in event.documents.items():
                self.store.add_to_document(self.loop.loop_id, name, text)
            self.show_live_state()
            if event.keep_checkpoint:
                self.store.keep_checkpoint(self.loop, self.mode.live_state(self.loop))

    def wants_out(self) -> bool:
        """Read what others wrote; whether what is running is to end now."""
        self.journal.catch_up()
        return self.loop.interrupts_now


def reinjection(loop: Loop, action: AskAgent) -> str:
    """The prompt that sends the agent back to work."""
    if loop.settings.mode != "phases":
        return action.ask.prompt
    from untildone.modes.phases import prompts as texts

    _, mark, instructions = action.ask.prompt.rpartition("[WHAT TO DO NOW]")
    return texts.reinjection(loop) + (f"\n{mark}{instructions}" if mark else "")
