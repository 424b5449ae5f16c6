"""The person's prompts in a wrapped session: the first one starts a loop, all of them belong to what the person asked."""

from __future__ import annotations

import os
import time

from untildone import modes
from untildone.core import budget as budgets
from untildone.core.actions import Ask
from untildone.core.answers import blocked, rounds
from untildone.core.errors import LoopBusy
from untildone.core.events import BudgetChanged, MessageSent, ResumeRequested
from untildone.core.kinds import Host, Interruption, Source
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Role, Status
from untildone.core.plugins.hook import ALLOW, HookEvent, Reply
from untildone.core.values.value import replace
from untildone.engine.leasing import leased
from untildone.engine.stepper import Stepper
from untildone.hosts.hook import presence, runs, sessions, stops
from untildone.hosts.hook.runs import RunLoop
from untildone.hosts.hook.sessions import Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.answers.rounds import Parsed
    from untildone.store.files import FileStore

_NOT_FOR_AGENT = (
    "What stands in brackets at the start of this prompt, as in [r+5], is meant for untildone, not for you."
)
_SAID_ELSEWHERE = "The person said this from another terminal:\n{text}"
TRY_AGAIN = 0.05


def on_prompt(event: HookEvent, run_folder: str, deadline: float) -> Reply:
    """The reply to a prompt in a wrapped session."""
    if not event.prompt.strip() or not sessions.is_name(event.session_id):
        return ALLOW
    note = sessions.find(event.session_id, event.folders) or _noted(event.session_id, run_folder)
    if note is None or not os.path.isdir(os.path.join(note.root, f"{note.loop_id}.progress")):
        return ALLOW if _was_stopped(event, run_folder) else _begin(event, run_folder, deadline)
    runs.add_loop(run_folder, RunLoop(note.session_id, note.loop_id, note.root))
    return _go_on_when_free(event, replace(note, holder=runs.holder(run_folder)), deadline)


def _go_on_when_free(event: HookEvent, note: Note, deadline: float) -> Reply:
    """Wait for the lease, which a hook may hold while a supervisor works. At the deadline, the prompt becomes a message instead."""
    while True:
        try:
            return _go_on(event, note)
        except LoopBusy:
            if time.monotonic() + TRY_AGAIN > deadline:
                break
            time.sleep(TRY_AGAIN)
    journal = stops.open_store(note.root).open(note.loop_id)
    # A note names a loop and proves nothing: only a loop of a session takes a prompt for the person's words.
    if journal.loop.host is Host.HOOK:
        journal.append(MessageSent(event.prompt, Source.SESSION))
    journal.close()
    return ALLOW


def _noted(session_id: str, run_folder: str) -> Note | None:
    """The note in the folder where the run began, because the agent may have changed its folder; None: there is none."""
    notes = (sessions.read(loop.root, session_id) for loop in runs.loops_of(run_folder, session_id))
    return next((note for note in notes if note is not None), None)


def _was_stopped(event: HookEvent, run_folder: str) -> bool:
    """Whether a person stopped this session's loop: then the session goes on without a loop."""
    own = runs.loops_of(run_folder, event.session_id)
    outcomes = (stops.open_store(loop.root).load(loop.loop_id).outcome for loop in own)
    return any(outcome in (Outcome.STOPPED, Outcome.ABANDONED) for outcome in outcomes)


def _begin(event: HookEvent, run_folder: str, deadline: float) -> Reply:
    from untildone.hosts.hook import prompts

    own = ("--run", run_folder, "--session", event.session_id)
    output = prompts.run_command(("_wrapped", *own), deadline, given=event.prompt)
    return prompts.reply_from(output) if "refused" in output else _notices(rounds.parse(event.prompt, None))


def _go_on(event: HookEvent, note: Note) -> Reply:
    store = stops.open_store(note.root)
    with leased(store, note.loop_id, Host.HOOK) as stepper:
        loop = stepper.loop
        if loop.stop or loop.pause or loop.outcome is Outcome.PAUSED or _is_our_own(loop, event.prompt):
            return ALLOW
        parsed = rounds.parse(event.prompt, budgets.rounds_left(loop.budget, loop.spend))
        if loop.status is Status.PAUSED:
            stepper.write(ResumeRequested(host=Host.HOOK))
        if parsed.rest.strip():
            return _ask(stepper, event, note, parsed)
        stepper.write(MessageSent(event.prompt, Source.SESSION))
    return _where_it_was(store, note, parsed) if loop.status is Status.PAUSED else _only_control(parsed)


def _is_our_own(loop: Loop, prompt: str) -> bool:
    """Whether the prompt is the one that blocked the last stop: some agents report it as if the person had typed it."""
    if loop.turn is None or loop.turn.role is not Role.WORKER:
        return False
    ask = modes.find(loop.settings.mode).next(replace(loop, turn=None, inbox=loop.turn.messages))
    if not isinstance(ask, Ask):
        return False
    words, closing = ask.prompt.strip(), "" if ask.is_closed else blocked.closing(loop, Role.WORKER)
    return prompt.strip() in (words, f"{words}\n\n{closing}")


def _ask(stepper: Stepper, event: HookEvent, note: Note, parsed: Parsed) -> Reply:
    """Make the prompt the next round. It is the person's own round, so the budget grows by one."""
    elsewhere = stepper.loop.inbox
    # A turn without a stop: the person interrupted the agent, or it takes the prompt while it works.
    stepper.interrupt_turn(Interruption.PERSON)
    stepper.write(MessageSent(event.prompt, Source.SESSION))
    allowed = () if stepper.loop.budget.iterations is None else (BudgetChanged(Limit.ITERATIONS, 1, add=True),)
    stepper.begin_own_turn(event.prompt, event.session_id, *allowed)
    presence.register(note.root, stepper.loop, note.holder)
    sessions.write(replace(note, message_read=0, rest_reported=False))
    reply = _notices(parsed)
    adds = [_SAID_ELSEWHERE.format(text=text) for text in elsewhere]
    return Reply(
        user_message=reply.user_message,
        extra_context="\n\n".join([*adds, reply.extra_context] if reply.extra_context else adds),
    )


def _only_control(parsed: Parsed) -> Reply:
    """Block a prompt that contains only round controls, and show their effect."""
    return Reply(block_reason=f"untildone: {'. '.join(parsed.notices)}.")


def _where_it_was(store: FileStore, note: Note, parsed: Parsed) -> Reply:
    """Resume the loop after more rounds: the agent gets what the supervisor or a check asked for."""
    from untildone.core.errors import UsageError
    from untildone.hosts.hook import beginnings

    try:
        begun = beginnings.take_up(store, note.loop_id, note.session_id, note.holder)
    except UsageError as problem:
        return Reply(block_reason=f"untildone: {problem.sentence}")
    return Reply(user_message=_notices(parsed).user_message, extra_context=f"{_NOT_FOR_AGENT}\n\n{begun.prompt}")


def _notices(parsed: Parsed) -> Reply:
    """A reply with the effect of the round controls."""
    message = f"untildone: {'. '.join(parsed.notices)}." if parsed.notices else ""
    return Reply(user_message=message, extra_context=_NOT_FOR_AGENT if parsed.changes else "")
