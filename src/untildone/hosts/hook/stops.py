"""Answers a stop of the agent: steps the loop, and blocks the stop with the next prompt or allows it."""

from __future__ import annotations

import os
import time

from untildone import agents
from untildone.core.actions import AskAgent, AwaitPerson, Record, RunGates, Wait
from untildone.core.errors import LoopBusy
from untildone.core.events import (
    AnswerRead,
    BudgetWarned,
    GatesRan,
    HookTriggered,
    LimitReached,
    PromptReinjected,
    Rested,
    SettingsChanged,
    TurnEnded,
)
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Answer, Role, Status
from untildone.core.plugins.hook import ALLOW, HookEvent, Reply
from untildone.core.protection.secrets import Redactor
from untildone.core.values.value import replace
from untildone.engine.leasing import leased
from untildone.engine.stepper import HostParts, Stepper
from untildone.engine.stepper_ports import Next, WorkspaceAfterTurn
from untildone.hosts.hook import presence, sessions
from untildone.hosts.hook.sessions import Note
from untildone.hosts.hook.status_lines import at_rest, done

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.events import Entry
    from untildone.store.files import FileStore

KEPT_MESSAGE = 200_000
LONGEST_WAIT = 120.0
"""Seconds that a stop may wait for a supervisor at a usage limit, while the person waits too."""


def answer(event: HookEvent, note: Note, deadline: float) -> Reply:
    """The reply to a stop of a session that has a loop."""
    note = _with_holder(note, event.agent)
    store = open_store(note.root, presence.environment_of(note.holder))
    if not os.path.isdir(os.path.join(note.root, f"{note.loop_id}.progress")):
        _tell(note)
        sessions.forget(note)
        return Reply(user_message=at_rest(store.load(note.loop_id)))
    reply: Reply | None = None
    news: list[bool] = []
    try:
        with leased(
            store, note.loop_id, Host.HOOK, parts=HostParts(on_entry=lambda entry, _: news.append(_is_news(entry)))
        ) as stepper:
            stop = Stop(event, note, deadline, store, stepper)
            reply = stop.answer()
            presence.register(note.root, stepper.loop, note.holder)
            # Also without a new entry: a hook that was killed may have sent nothing.
            news.append(stop.rests)
    except LoopBusy as busy:
        if store.load(note.loop_id).settings.interactive:
            return ALLOW  # the hook of a wrapped run answers the same stop
        return Reply(user_message=f"untildone: {busy.sentence} It decides there; the agent may stop.")
    except Exception as problem:
        if reply is None:
            raise
        # The loop has ended; it is archived when the next loop of the folder starts.
        reply = replace(reply, user_message=f"{reply.user_message} It could not be archived yet: {problem}")
    finally:
        if any(news):
            _tell(note)
    if stop.rests:
        _note_rest(note, stop.loop)
    return reply


def _note_rest(note: Note, loop: Loop) -> None:
    """Note that the person knows that the loop rests. Notifications come first: a hook that is killed in between does both again."""
    if loop.status.ended:
        sessions.forget(note)
    else:
        sessions.write(replace(note, rest_reported=True))


def _tell(note: Note) -> None:
    from untildone.hosts.hook import notifying

    notifying.tell(note.root, note.loop_id, note.holder)


def _is_news(entry: Entry) -> bool:
    """Whether an entry may give a notification; `core.notices` decides."""
    return isinstance(entry.event, Rested | BudgetWarned | LimitReached | GatesRan | SettingsChanged)


def _with_holder(note: Note, agent: str) -> Note:
    """The note with the present agent process, if the noted one has ended: a session can be resumed in another process."""
    if note.holder and not presence.is_gone(note.holder):
        return note
    holder = presence.of_agent(agent, os.environ)
    if not holder:
        return note
    sessions.write(replace(note, holder=holder))
    return replace(note, holder=holder)


def open_store(root: str, hidden: Mapping[str, str] | None = None) -> FileStore:
    """The store in a folder. `hidden` are variables that the agent hides from its hooks; their secrets are redacted too."""
    from pathlib import Path

    from untildone.store.files import FileStore

    return FileStore(Path(root), Redactor.from_environment({**(hidden or {}), **os.environ}))


class Stop:
    """One stop of one session, under the lease of its loop. These are the `Hands` of the stop hook."""

    def __init__(self, event: HookEvent, note: Note, deadline: float, store: FileStore, stepper: Stepper) -> None:
        self.event = event
        self.note = note
        self.deadline = deadline
        self.store = store
        self.stepper = stepper
        self.message = self._message()
        self.session_was_read = False
        self.rests = False
        """Whether the reply reports that the loop rests."""
        self._reply: Reply | None = None
        """The answer to the agent, once it is known."""
        self._note = ""
        """A sentence for the person about the commit of this round."""

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    def answer(self) -> Reply:
        loop = self.loop
        if loop.status is not Status.RUNNING:
            self.stepper.show_live_state()
            return self._rests()
        if loop.turn is not None and loop.turn.started_at > self.event.at:
            # Another hook of the same session was called for the same stop and has already answered it.
            return ALLOW
        if loop.turn is None and loop.settings.interactive and not self._note_own_work():
            return ALLOW
        self._note_stop()
        self.stepper.recheck()
        self.stepper.run(self)
        return self._reply or self._rests()

    def ask(self, action: AskAgent) -> Next:
        """Ask the worker by blocking its stop with the prompt, another role in a process of its own."""
        if action.ask.role is Role.WORKER:
            return self._send_back(action)
        from untildone.hosts.hook.slow import consult

        return consult(self, action)

    def gates(self, action: RunGates) -> Next:
        from untildone.hosts.hook.slow import run_gates

        return run_gates(self, action)

    def wait(self, action: Wait) -> Next:
        """Wait if the wait is short; else let the agent stop."""
        seconds = action.until - time.time()
        if seconds > min(self.deadline - time.monotonic(), LONGEST_WAIT):
            return self._leave(f"untildone: {action.reason}. The agent may stop; its next stop goes on with the loop.")
        time.sleep(max(0.0, seconds))
        return Next.GO_ON

    def person(self, action: AwaitPerson) -> Next:
        """Leave the loop open for the person's next prompt if the task is done. Any other question pauses the loop."""
        if action.leave.status.ended:
            return self._leave(done(self.loop, action.leave))
        self.stepper.write(Rested(action.leave, action.reason))
        return Next.GO_ON

    def _leave(self, text: str) -> Next:
        self._reply = Reply(user_message=text)
        return Next.LEAVE

    def _send_back(self, action: AskAgent) -> Next:
        prompt = action.closed(self.stepper.mode.prompt_in_session(self.loop, action.ask))
        if self.stepper.note_edit() or not self.stepper.begin_turn(action, prompt, PromptReinjected(action.iteration)):
            return Next.GO_ON
        self._reply = Reply(block_reason=prompt, user_message=self._note)
        return Next.LEAVE

    def _message(self) -> str:
        """The agent's last message; of a cumulative message, only the new part."""
        message, hook = self.event.message, agents.hook_of(self.event.agent)
        if message is None:
            from untildone.hosts.hook.transcripts import last_message

            return last_message(hook, self.event.transcript, self.event.transcript_marker)
        if self.event.message_is_cumulative and self.event.stop_hook_active:
            message = message[self.note.message_read :]
        return hook.own_words(message)

    def _note_own_work(self) -> bool:
        """For a stop without a prompt since the last one: whether the agent worked by itself, as after a background task."""
        message, known = self.message.strip(), self.loop.last_answer.strip()
        if not message or (known and message.endswith(known)):
            return False
        self.stepper.begin_own_turn("", self.event.session_id)
        return True

    def _note_stop(self) -> None:
        loop, turn = self.loop, self.loop.turn
        self.stepper.write(HookTriggered(self.event.session_id, self.event.stop_hook_active), sync=False)
        self.stepper.note_edit()
        if turn is None or turn.role is not Role.WORKER or loop.answer is not None:
            return
        answer = Answer(text=self.message[-KEPT_MESSAGE:], session_id=self.event.session_id)
        seconds = max(0.0, time.time() - turn.started_at)
        self.stepper.end_turn(Role.WORKER, turn.iteration, answer, seconds, self._look, self._transcript())
        if self.event.message_is_cumulative:
            sessions.write(replace(self.note, message_read=len(self.event.message or "")))

    def _transcript(self) -> str:
        """The digest of the session's transcript, for a supervisor that forks it."""
        if not self.loop.settings.review or not self.event.transcript:
            return ""
        from untildone.hosts.hook.slow import vouched

        return vouched(self)

    def _look(self, ended: TurnEnded) -> WorkspaceAfterTurn:
        """The workspace after the turn, with a commit if the loop makes commits; without it if the next decision does not need it."""
        if not self._workspace_matters(ended):
            return WorkspaceAfterTurn()
        from untildone.engine.site import LocalSite

        self.stepper.note_settings()
        title = f"Round {ended.iteration}: {self.loop.title}"
        site = LocalSite()
        kept = site.keep(self.loop, title, lambda: False, self.store.redactor)
        # The agent goes on in the session, perhaps without a word to the hook.
        site.begin(self.loop)
        self._note = kept.note
        return WorkspaceAfterTurn(
            self.stepper.workspace.look(self.loop.changes, kept.head if kept.made else None), kept.note
        )

    def _workspace_matters(self, ended: TurnEnded) -> bool:
        """Whether the next decision needs the workspace. Most do not, and reading it takes longer than the rest of a stop."""
        loop, action = self.stepper.foresee(ended)
        events = action.events if isinstance(action, Record) else ()
        claims = any(isinstance(event, AnswerRead) and (event.claimed or event.gives_up) for event in events)
        is_last = loop.budget.iterations is not None and loop.spend.iterations >= loop.budget.iterations
        ordered = loop.pause is not None or loop.stop is not None
        return claims or is_last or ordered or loop.settings.commit or loop.stall.answers > 1

    def _rests(self) -> Reply:
        """The reply that reports to the person, once, that the loop rests."""
        self.rests = True
        return Reply(user_message=" ".join(filter(None, (at_rest(self.loop), self._note))))
