"""The stepper: the one place where decisions about a loop are carried out, for every host.

`core.decide` says what a loop does next. `Stepper.run` writes what only needs writing, hands everything else to the
`Hands` of the host, and decides again, until the loop rests or the hands leave.

What happens between `pause --now` and the end of the agent:

1. `operations.control.pause` appends `PauseRequested(NOW)` to the journal, from another process. If another process holds the lock of the
journal, the order waits in the registry of running loops (`operations.reach.order`).
2. The agent runs in `turns.Turn`. `system.program` calls `ProcessHands.must_stop` every 20 ms; it reads the journal
   (`Stepper.catch_up`), and the loop now says `interrupts_now`.
3. `system.program` asks a program that has a `Conversation` to end its turn, and waits up to 2 s. Then it ends the process tree
   (SIGTERM, after 1.5 s SIGKILL), and `Turn._conclude` writes `TurnInterrupted`.
4. `Stepper.run` decides again: the order to pause becomes `Rested`, and there is nothing left to do.
5. The engine ends what the agent left running; `leasing.leased` archives the loop if it has ended (`stop --now`), and releases the
   lease. The notice of `Rested` went to the outbox when `Rested` was written; a thread sends it.

Without a runner, `operations.control` settles the loop itself: `engine.below.settle` writes `Rested`, and asks no agent.

The stop hook imports this module: it loads git, receipts and usage limits only when a loop needs them.
"""

from __future__ import annotations

import time

from untildone import modes
from untildone.core.actions import Action, AskAgent, AwaitPerson, Record, Rest, RestoreWorkspace, RunGates, Wait
from untildone.core.apply import apply
from untildone.core.applying.sessions import usage_of
from untildone.core.decide import decide
from untildone.core.events import (
    AnswerRead,
    ChildSpent,
    Entry,
    Event,
    LimitReached,
    LiveStateSeen,
    PauseRequested,
    Rested,
    SettingsChanged,
    StateRepaired,
    StopRequested,
    TurnEnded,
    TurnInterrupted,
    TurnStarted,
    WorkspaceRestored,
    WorkspaceSeen,
)
from untildone.core.kinds import Host, Interruption
from untildone.core.loop import Loop
from untildone.core.model import Answer, Changes, Outcome, Refused, Role, SessionUse, Status, Urgency
from untildone.core.values.codec import moment
from untildone.core.values.hints import assert_never
from untildone.core.values.value import dataclass, replace
from untildone.engine.stepper_ports import Below, Hands, Next, WorkspaceAfterTurn
from untildone.gates import gates_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from untildone.core.model import AcceptanceTests
    from untildone.engine.ports import Journal, LiveState, Records
    from untildone.engine.submissions import Submissions
    from untildone.engine.usage_limits import SharedLimits
    from untildone.system.running import Orders
    from untildone.workspace.look import Workspace

CHANGED_SINCE = "The workspace has changed since it was checked. hint: `untildone resume` checks it again"


def own_workspace(loop: Loop) -> str:
    """The workspace of the settings: where a loop works, if its host does not say otherwise."""
    return loop.settings.workspace


def ignore(_entry: Entry, _loop: Loop) -> None:
    """Takes new entries, and does nothing with them."""
    return


def _ignore_start(_stepper: Stepper) -> None:
    return


def _inherits_nothing(_stepper: Stepper, _start: Changes) -> tuple[int, tuple[Refused, ...]]:
    return 0, ()


@dataclass(frozen=True, slots=True)
class HostParts:
    """What a host gives its stepper."""

    enter: Callable[[Loop], str] = own_workspace
    """Returns the folder in which the agents of a loop work."""
    clock: Callable[[], float] = time.time
    on_entry: Callable[[Entry, Loop], None] = ignore
    """Called for every new entry."""
    limits: SharedLimits | None = None
    """The shared usage limits; None: those of the state folder."""


class Stepper:
    """Steps one loop. Writing requires the loop's lease: see `engine.leasing`."""

    def __init__(
        self,
        records: Records,
        journal: Journal,
        host: HostParts | None = None,
        *,
        orders: Orders | None = None,
        inherits: Callable[[Stepper, Changes], tuple[int, tuple[Refused, ...]]] = _inherits_nothing,
    ) -> None:
        """`orders` are controls that could not be written to the journal; `inherits` returns what else a loop starts from."""
        self.journal = journal
        self.mode = modes.of(journal.loop.settings.mode)
        self._records = records
        self._host = host or HostParts()
        self.orders = orders
        self.submissions: Submissions | None = None
        """Events that other threads of the runner want to be written; None: there are no such threads."""
        self.below: Below | None = None
        """The loops below this one; None: there are none."""
        self.is_first_runner = False
        """Whether it is sure that no other runner had the loop: then no process of one can be left."""
        self._inherits = inherits
        self._decided_at = 0
        self._last_but_reports = 0
        """The number of the last entry that is no report of a loop below."""
        self._place = ""
        self._workspace: Workspace | None = None
        self._live: LiveState | None = None

    @property
    def loop(self) -> Loop:
        return self.journal.loop

    @property
    def place(self) -> str:
        """The folder in which the agents of the loop work."""
        self._place = self._place or self._host.enter(self.loop)
        return self._place

    @property
    def workspace(self) -> Workspace:
        if self._workspace is None:
            from untildone.workspace.look import Workspace

            self._workspace = Workspace(self.place, self.loop.loop_id, start=self.loop.start)
        return self._workspace

    def run(self, hands: Hands) -> Loop:
        """Step until the loop rests or the hands leave. Everything written is on disk when this returns."""
        while self.carry_out(self.decide(), hands) is Next.GO_ON:
            continue
        self.journal.append()
        if not self.loop.status.ended and self.loop.status is not Status.RUNNING:
            self.drop_edit()
        self.show_live_state()
        return self.loop

    def settle(self) -> Action:
        """Append the events of `Record` actions until another action is next; return that action."""
        while isinstance(action := self.decide(), Record):
            self._record(action)
        self.journal.append()
        return action

    def decide(self) -> Action:
        """The next action, after reading what other processes have appended."""
        self.catch_up()
        self._decided_at = self.loop.seq
        return decide(self.loop, self._host.clock(), self.mode, gates_of)

    def foresee(self, event: Event) -> tuple[Loop, Action]:
        """The loop after an event that is not written, and its next action then."""
        now = self._host.clock()
        loop = apply(self.loop, Entry(self.loop.seq + 1, now, event))
        return loop, decide(loop, now, self.mode, gates_of)

    def carry_out(self, action: Action, hands: Hands) -> Next:
        """Carry out an action. An action without a case here is an error at once."""
        match action:
            case Record():
                self._record(action)
                return Next.GO_ON
            case AskAgent():
                return self._progressed(hands.ask(action), action)
            case RunGates():
                return self._progressed(hands.gates(action), action)
            case RestoreWorkspace():
                self._restore(action)
                return Next.GO_ON
            case Wait():
                return hands.wait(action)
            case AwaitPerson():
                return hands.person(action)
            case Rest():
                return Next.LEAVE
            case _:
                assert_never(action)

    def _progressed(self, then: Next, action: Action) -> Next:
        """Raises if the hands go on without having written anything: they would get the same action for ever."""
        if then is Next.GO_ON and self.is_current:
            raise RuntimeError(f"the hands of this host did nothing for {type(action).__name__}")
        return then

    def catch_up(self) -> None:
        """Read the entries that other processes appended, and write those that other threads want."""
        self._show(self.journal.catch_up())
        if self.submissions is not None:
            self.submissions.write(self)

    def write(self, *events: Event, sync: bool = True) -> None:
        """Append events, even if other processes have appended since the last decision."""
        self._lead(events)
        self._show(self.journal.append(*events, sync=sync))

    def write_if_current(self, *events: Event, sync: bool = True) -> bool:
        """Append events that follow from the last decision. False: another process appended since, so decide again."""
        self._lead(events)
        entries = self.journal.append(*events, sync=sync, after=self._decided_at)
        self._show(entries)
        return any(entry.event is events[-1] for entry in entries)

    def rest_if_current(self, rested: Rested) -> bool:
        """Append a rest that a person chose, as `write_if_current` does. Loops below rest first; what they report does not change it."""
        if self.is_current:
            self._lead((rested,))
            if self._last_but_reports <= self._decided_at:
                self._decided_at = self.loop.seq
        return self.write_if_current(rested)

    def _lead(self, events: tuple[Event, ...]) -> None:
        """Loops below rest first. So a runner that is killed in between leaves a loop that is not at rest, and the next one goes on."""
        below = self.below
        if below is None:
            return
        for event in events:
            if isinstance(event, Rested):
                below.rest(event.outcome)
            elif isinstance(event, TurnStarted):
                below.go_on()

    @property
    def is_current(self) -> bool:
        """Whether no entry was read or written since the last decision."""
        return self.loop.seq == self._decided_at

    def _show(self, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            if not isinstance(entry.event, ChildSpent):
                self._last_but_reports = entry.seq
            self._host.on_entry(entry, self.loop)

    def _record(self, action: Record) -> None:
        if self.write_if_current(*action.events, sync=False):
            for event in action.events:
                self._publish(event)

    def _publish(self, event: Event) -> None:
        """The effects of an event outside the journal: usage limits for other loops, documents for people."""
        if isinstance(event, LimitReached):
            self._share_limit(event)
        elif isinstance(event, AnswerRead):
            for name, text in event.documents.items():
                self._records.add_to_document(self.loop.loop_id, name, text)
            self.show_live_state()
            if event.keep_checkpoint:
                self._records.keep_checkpoint(self.loop, self.mode.live_state(self.loop))

    def _share_limit(self, event: LimitReached) -> None:
        from untildone.engine import usage_limits

        limits = self._host.limits or usage_limits.SharedLimits(usage_limits.default_folder())
        limits.share(event, self.loop.settings, self.place)

    def obey(self) -> None:
        """Write an order that reached the runner by the registry of running loops to the journal."""
        order = None if self.orders is None else self.orders.take()
        if order is None or self.orders is None:
            return
        urgency, outcome = Urgency(order.urgency), next(each for each in Outcome if each.word == order.outcome)
        self.write(StopRequested(urgency, outcome) if order.control == "stop" else PauseRequested(urgency, outcome))
        self.orders.done()

    # Turns

    def begin_turn(
        self, action: AskAgent, prompt: str, *also: Event, word: str = "", notes: tuple[str, ...] = ()
    ) -> bool:
        """Write that a turn starts; on disk before anything is spent. False: decide again.

        `word` and `notes` are those of a reviewer's turn: see `TurnStarted`."""
        started = TurnStarted(
            role=action.ask.role,
            iteration=action.iteration,
            attempt=action.attempt,
            profile=action.agent.profile,
            session=action.session,
            prompt=prompt,
            messages=action.messages,
            session_id=action.session_id,
            label=action.ask.label,
            word=word,
            notes=notes,
        )
        return self.write_if_current(started, *also)

    def begin_own_turn(self, prompt: str, session_id: str, *before: Event) -> None:
        """Write that the worker works without a decision of the loop: the person prompted it, or a background task ended."""
        loop = self.loop
        started = TurnStarted(
            role=Role.WORKER,
            iteration=loop.next_iteration,
            attempt=1,
            profile=loop.settings.worker.profile,
            session=SessionUse.RESUME,
            prompt=prompt,
            messages=len(loop.inbox) if prompt else 0,
            session_id=session_id,
        )
        self.write(*before, started)

    def end_turn(
        self,
        role: Role,
        iteration: int,
        answer: Answer,
        seconds: float,
        look: Callable[[TurnEnded], WorkspaceAfterTurn],
        transcript: str = "",
        tests: AcceptanceTests | None = None,
    ) -> None:
        """Write the result of a turn. `look` gets the event and returns the workspace.

        `transcript` is the digest of the worker's transcript, if it can be vouched for; `tests` are those that an author wrote."""
        ended = TurnEnded(role, iteration, self._for_journal(answer), seconds, transcript=transcript, tests=tests)
        workspace = look(ended)
        self.write(replace(ended, changes=workspace.changes, note=workspace.note), sync=False)

    def _for_journal(self, answer: Answer) -> Answer:
        """The answer with what its turn used, if it has only the total of its session, and with a time that JSON holds exactly."""
        if answer.session_total is not None:
            answer = replace(answer, usage=usage_of(self.loop, answer))
        failure = answer.failure
        if failure is None or failure.reset_at is None:
            return answer
        return replace(answer, failure=replace(failure, reset_at=moment(failure.reset_at)))

    def interrupt_turn(self, reason: Interruption) -> None:
        """Write that the running turn, if there is one, was interrupted."""
        turn = self.loop.turn
        if turn is not None:
            seconds = max(0.0, self._host.clock() - turn.started_at)
            self.write(TurnInterrupted(turn.role, turn.iteration, reason, seconds))

    # The workspace and the files beside the journal

    def take_up(self, keep_start: Callable[[Stepper], None] = _ignore_start) -> None:
        """Enter the workspace and record what changed while no runner had the loop. `keep_start`: see `Site`."""
        if self.loop.status.ended:
            return
        self._place = self._host.enter(self.loop)
        self._recover_rooms()
        self.look_first()
        keep_start(self)
        self.recheck()
        self._recover()
        # In a session of the agent, the agent works on while the loop rests.
        self.note_edit(at_rest=self.loop.host is not Host.HOOK)

    def _recover_rooms(self) -> None:
        """Undo what a runner left that died while a check ran with the original judge files in the workspace."""
        if self.loop.settings.checks and self.loop.start.tree:
            from untildone.engine.verdicts import loop_rooms

            for sentence in loop_rooms.recover(self.loop, self.workspace):
                self.write(StateRepaired(sentence))

    def look_first(self) -> None:
        """Write the state of the workspace before the first turn."""
        if self.loop.start.fingerprint:
            return
        if self.loop.settings.remote is not None:
            # A machine that died here may have begun from another commit.
            self.workspace.forget_start()
        start = self.workspace.look(None)
        uncommitted, refused = self._inherits(self, start)
        event = WorkspaceSeen(start, uncommitted=uncommitted, refused=refused)
        self.write(self._recorded(event) if self.loop.settings.checks else event)

    def _restore(self, action: RestoreWorkspace) -> None:
        """Put the workspace back to a snapshot. What changed since that was decided is kept in one too. Raises what keeps it from that."""
        from untildone.workspace import restoring

        before = self.workspace.look(None).tree or ""
        restoring.restore(self.workspace.shadow, before, action.tree)
        kept = before if before not in (action.kept, action.tree) else ""
        self.write(WorkspaceRestored(action.tree, self.workspace.look(None), kept))

    def _recorded(self, event: WorkspaceSeen) -> WorkspaceSeen:
        """Keep what rooms need to know about the start of the loop."""
        from untildone.engine.verdicts import loop_rooms

        return loop_rooms.recorded(event, self.loop, self.workspace)

    def recheck(self) -> bool:
        """True: the workspace has changed since the gates ran, so their results are void; that is written."""
        loop = self.loop
        if loop.status.ended or not (loop.claimed and loop.gates):
            return False
        changes = self.workspace.look(loop.changes)
        if changes.fingerprint == loop.last_seen:
            return False
        self.write(WorkspaceSeen(changes))
        return True

    def _recover(self) -> None:
        """Restore the state of the mode from the documents, for a loop that has worked but lost that state."""
        loop = self.loop
        if loop.spend.iterations and loop.skill_state is None and loop.turn is None:
            recovered = self.mode.recover(loop, self._records.documents(loop.loop_id))
            if recovered is not None:
                self.write(recovered)

    def note_edit(self, *, at_rest: bool = False) -> bool:
        """Write an edit of the live state file to the journal. False: there was none. `at_rest`: see `LiveStateSeen`."""
        edit = None if self.mode.live_state(self.loop) is None else self._live_file().edited()
        if edit is None:
            return False
        self.write(LiveStateSeen(edit.text, edit.before, at_rest))
        self._live_file().accept(edit.text)
        return True

    def drop_edit(self) -> None:
        """Undo an edit of the live state file that was made while gates ran or the loop came to rest: only leftovers work then."""
        text = self.mode.live_state(self.loop)
        if text is not None and self._live_file().edited() is not None:
            self._write_live_file(text)
            self.write(
                StateRepaired("an edit of the live state file after the agent's turn does not count, and was undone")
            )

    def note_settings(self) -> None:
        """Write which files that steer loops have changed since the loop was taken up."""
        from untildone.system import trust

        known = self.loop.settings_changed
        fresh = tuple(path for path in trust.changed_during(self.loop.loop_id) if path not in known)
        if fresh:
            self.write(SettingsChanged(fresh), sync=False)

    def show_live_state(self) -> None:
        """Update the live state file, if the mode has one. An edit that is not in the journal yet is not overwritten."""
        text = self.mode.live_state(self.loop)
        if text is not None and (self.loop.status.ended or self._live_file().edited() is None):
            self._write_live_file(text)

    def _write_live_file(self, text: str) -> None:
        from untildone.workspace.person_git import exclude

        exclude.hold(self.place)
        self._live_file().write(text)

    def _live_file(self) -> LiveState:
        if self._live is None:
            self._live = self._records.live_file(self.loop.loop_id, self.place)
        return self._live
