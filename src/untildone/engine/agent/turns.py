"""One turn of an agent: write that it starts, run the program, read its output, write the result."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from untildone import agents
from untildone.core import budget as budgets
from untildone.core.actions import AskAgent
from untildone.core.answers import agreement
from untildone.core.applying import sessions
from untildone.core.errors import AgentMissing, BoxNotMade, LoopNotFound, ResourcesShort, UsageError
from untildone.core.events import (
    HostsAsked,
    Rested,
    SessionOpened,
    TurnEnded,
    TurnInterrupted,
)
from untildone.core.kinds import Interruption
from untildone.core.loop import Loop, output_name
from untildone.core.model import (
    AcceptanceTests,
    Answer,
    Changes,
    Failure,
    FailureKind,
    Outcome,
    Role,
    SessionUse,
)
from untildone.core.plugins.agent_io import (
    AgentEvent,
    Conversation,
    Notice,
    Reader,
    Request,
    SessionKnown,
    SideReader,
    Used,
)
from untildone.core.protection.passing import PRIVATE
from untildone.core.values.value import dataclass, field, replace
from untildone.engine import usage_limits as limits
from untildone.engine.agent import leftovers, programs, reports
from untildone.engine.agent.asking import Asking, Start
from untildone.engine.agent.metering import Meter
from untildone.engine.agent.standby import Warm
from untildone.engine.boxes.refusals import Refusals
from untildone.engine.stepper_ports import WorkspaceAfterTurn
from untildone.engine.verdicts.gating import SHORTEST
from untildone.system.program import process
from untildone.system.program.process import Ended, Open
from untildone.system.program.spawn import Cause, Spawn
from untildone.workspace.person_git import worktrees

if TYPE_CHECKING:
    from untildone.engine.boxes.network import Connected
    from untildone.engine.process_hands import ProcessHands
    from untildone.system.box.sandbox import Box

KEPT_ANSWER = 200_000
UNKNOWN_WORD = "(a word that was drawn)"
BROKE_OFF = (FailureKind.CRASHED, FailureKind.MALFORMED, FailureKind.TIMEOUT)
"""Failures of an agent that did not come to its end."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """What the program of a turn has beside its process."""

    link: Connected
    report: reports.Report
    environment: Mapping[str, str]
    program: Open | None = None
    """The process; None: it is to be started."""
    turn: int = 1
    """Which turn of the process this is."""
    covers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """See `Warm.covers`."""


class Turn:
    """One turn. `hands` are those of the host that runs it."""

    def __init__(self, hands: ProcessHands) -> None:
        self.hands = hands
        self.stepper = hands.stepper
        self.around = hands.around
        self.asking = Asking(hands)
        self._at_most = None if hands.time_left is None else max(SHORTEST, hands.time_left())
        self.allowed: float | None = None
        """How many seconds the turn may take, by the budget as of the last call of `timeout`."""
        self._meter = Meter(hands, None)
        self._prompt = ""
        self._refusals: Refusals | None = None

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    def take(self, action: AskAgent) -> None:
        """Run the agent. Does nothing if the decision is obsolete."""
        if action.ask.role is not Role.WORKER:
            self.hands.standby.end()
        if (
            action.ask.role is Role.SUPERVISOR
            and action.session is SessionUse.FORK
            and self.asking.forks.distrusts(action)
        ):
            return
        try:
            if problem := worktrees.gone(self.loop, self.hands.store.home):
                raise problem
            start = self.asking.start(action)
        except UsageError as problem:
            self.stepper.write_if_current(Rested(Outcome.BLOCKED, f"{problem.sentence} hint: {problem.hint}"))
            return
        self._take(start)

    def _take(self, start: Start) -> None:
        action, reader = start.action, start.reader
        self._meter = Meter(self.hands, reader if start.request.meters and isinstance(reader, SideReader) else None)
        if not self._begin(
            action, start.request, start.word, (*start.place.notes, *self.asking.forks.why_fresh(action))
        ):
            return
        self._prompt = start.request.prompt
        self.stepper.show_live_state()
        if action.ask.role is Role.WORKER:
            self.around.site.begin(self.loop)
        try:
            ended = self._started(start)
        except LoopNotFound:
            raise
        except (AgentMissing, UsageError) as problem:
            kind = FailureKind.RESOURCES if isinstance(problem, ResourcesShort) else FailureKind.UNAVAILABLE
            hint = problem.hint[:1].upper() + problem.hint[1:]
            failure = Failure(kind, f"{problem.sentence} {hint}".strip())
            self._finish(action, Answer(failure=failure), 0.0)
            return
        self._conclude(start, ended)

    def _begin(self, action: AskAgent, request: Request, word: str, notes: tuple[str, ...]) -> bool:
        """Write that the turn starts. The drawn word stays out of the journal, which every program of this person can read."""
        if not word:
            return self.stepper.begin_turn(action, request.prompt)
        prompt = request.prompt.replace(word, UNKNOWN_WORD)
        return self.stepper.begin_turn(action, prompt, word=agreement.digest(word), notes=notes)

    def _started(self, start: Start) -> Ended:
        """Run the agent. A box that cannot be made is planned anew, once: what it hides or shows may have vanished meanwhile."""
        try:
            return self._run(start)
        except BoxNotMade:
            return self._run(replace(start, place=self.asking.place(start.action, self.asking.plan(start.action))))

    def _run(self, start: Start) -> Ended:
        action, reader = start.action, start.reader
        with ExitStack() as context:
            opened = self._opened(start, context)
            spawn = self._spawn(start, opened)
            if opened.link.place.box is not None:
                self._refusals = Refusals(opened.link.place.box, spawn.env)
            self.around.guard.ensure()
            self._meter.begin(opened.environment)
            ended = process.run(
                spawn, lambda line: self._take_line(action, reader, line), self.hands.must_stop, opened.program
            )
            self._meter.end()
            if report_line := opened.report.line():
                self._take_line(action, reader, report_line)
            if ended.open is not None and start.key is not None and isinstance(reader, Conversation):
                kept = Warm(
                    start.key,
                    ended.open,
                    reader,
                    opened.link,
                    context.pop_all(),
                    action.iteration,
                    opened.turn,
                    opened.covers,
                )
                self.hands.standby.keep(kept)
        self._look_for_refusals(ended.stderr_tail.encode(errors="replace"))
        self._put_back_links(opened.link.place.box)
        if asked := opened.link.asked():
            self.stepper.write(HostsAsked(action.ask.role, action.iteration, asked), sync=False)
        if ended.leftover_group is not None:
            self.hands.groups.add(ended.leftover_group)
        return ended

    def _opened(self, start: Start, context: ExitStack) -> _Opened:
        """What the program of a turn has beside its process. `context` ends it."""
        from untildone.engine.boxes import covers, network

        action, invocation = start.action, agents.of(start.action.agent).invocation(start.request)
        environment = {**self.asking.environment(action), **invocation.env}
        if start.turn is not None:
            warm = self.hands.standby.take(start.turn)
            context.push(warm.context)
            report = reports.Report(invocation, None)
            return _Opened(warm.link, report, environment, warm.program, warm.turns, warm.covers)
        link = context.enter_context(network.connected(start.place, self.loop.settings, action.agent, environment))
        name = f"{self.loop.loop_id}-{action.ask.role.value}"
        report = context.enter_context(reports.expected(invocation, action.agent, environment, name))
        return _Opened(link, report, environment, covers=covers.of(link.place.box))

    def _spawn(self, start: Start, opened: _Opened) -> Spawn:
        action, place, invocation = start.action, opened.link.place, opened.report.invocation
        return Spawn(
            argv=place.argv(invocation.argv),
            boxed=invocation.argv[0] if place.box else "",
            env=place.environment(opened.environment),
            cwd=place.folder,
            stdin=invocation.stdin,
            conversation=start.reader if isinstance(start.reader, Conversation) else None,
            stays=start.request.stays,
            lines_together=invocation.prints_text,
            spool=self.hands.store.spool(self.loop.loop_id, output_name(action.ask.role, action.iteration)),
            timeout=self.timeout(),
            timeout_now=self.timeout,
            used_up=self._meter.is_over_budget,
            on_error_line=self._meter.take_line if self._meter.reads_errors else None,
            ends_on_sigint=agents.of(action.agent).capabilities.interrupt,
            redactor=self.around.redactor,
            descriptors=place.descriptors,
        )

    def timeout(self) -> float | None:
        """How many seconds the turn may take, by the present budget: it may change while the agent works."""
        loop = self.loop
        limits = (budgets.turn_timeout(loop.own_budget, loop.spend), self._at_most)
        self.allowed = min((limit for limit in limits if limit is not None), default=None)
        return self.allowed

    def _take_line(self, action: AskAgent, reader: Reader, line: bytes) -> None:
        for event in reader.feed(line):
            self._note(action, event)
        self._look_for_refusals(line)

    def _look_for_refusals(self, output: bytes) -> None:
        if self._refusals is not None and (sentence := self._refusals.take(output)):
            self.hands.observer.agent(Notice(sentence), self.loop)

    def _put_back_links(self, box: Box | None) -> None:
        from untildone.engine.boxes import links

        for sentence in links.put_back(box):
            if self._refusals is not None:
                self._refusals.add(sentence)
            self.hands.observer.agent(Notice(sentence), self.loop)

    def _note(self, action: AskAgent, event: AgentEvent) -> None:
        role, profile = action.ask.role, action.agent.profile
        if isinstance(event, Used):
            self._meter.take(event)
            return
        if isinstance(event, SessionKnown):
            known = self.loop.session_of(role, profile)
            if known is None or known.session_id != event.session_id:
                self.stepper.write(SessionOpened(role, profile, event.session_id), sync=False)
        self.hands.observer.agent(event, self.loop)

    def _conclude(self, start: Start, ended: Ended) -> None:
        action, now = start.action, self.around.clock()
        answer = limits.in_local_time(start.reader.finish(ended.exit_code, ended.stderr_tail, now), now)
        if answer.failure is not None:
            self.hands.standby.end(broke_off=start.turn is not None and answer.failure.kind in BROKE_OFF)
            answer = replace(answer, failure=self._explained(start, answer.failure))
        answer = self._meter.conclude(action.agent, answer)
        self._end_survivors(ended, answer)
        if self._refusals is not None and self._refusals.sentences:
            self.hands.refused[action.ask.role] = tuple(self._refusals.sentences)
            answer = replace(answer, denials=(*answer.denials, *self._refusals.sentences))
        reason = self._cut_short(ended, answer)
        self.stepper.note_edit()
        self.stepper.note_settings()
        if reason is Interruption.TIMEOUT and action.ask.role is not Role.WORKER:
            # A timeout of another role uses no iteration, so it must count as a failure, whose retries are limited.
            failure = Failure(FailureKind.TIMEOUT, f"no answer within {self.allowed or 0:g} s")
            self._finish(action, replace(answer, failure=failure), ended.seconds)
        elif reason is not None:
            usage, total = sessions.usage_of(self.loop, answer), answer.session_total
            self.around.site.secure(self.loop, self._title(action), self.around.redactor)
            self.stepper.write(
                TurnInterrupted(action.ask.role, action.iteration, reason, ended.seconds, usage, answer.priced, total),
                sync=False,
            )
        else:
            self._finish(action, replace(answer, text=answer.text[-KEPT_ANSWER:]), ended.seconds)

    def _explained(self, start: Start, failure: Failure) -> Failure:
        """The failure, with what the person can do about an unknown option or a missing variable."""
        action, environment = start.action, self.asking.environment(start.action)
        return programs.explained(
            agents.of(action.agent),
            start.request,
            failure,
            environment,
            lambda: self.asking.box_for_version(action),
            frozenset(self.around.environment.keys() - environment.keys() - {*PRIVATE}),
        )

    def _end_survivors(self, ended: Ended, answer: Answer) -> None:
        """End what is left of an agent that was killed or broke off: with its launcher gone, the agent itself may still be at work.

        After an answer, or a failure that the agent itself reported, its processes stay: they may be servers that it started."""
        broke_off = answer.failure is not None and answer.failure.kind in BROKE_OFF
        if ended.cause is Cause.EXITED and (ended.exit_code < 0 or broke_off):
            leftovers.end(self.loop.loop_id, self.around, self.hands.groups, self.loop.settings.keep_running)

    def _cut_short(self, ended: Ended, answer: Answer) -> Interruption | None:
        """Why the turn was interrupted; None: it was not, or the answer was complete."""
        match ended.cause:
            case Cause.USED_UP if answer.failure is not None:
                return Interruption.BUDGET
            case Cause.INTERRUPTED:
                return self._why_interrupted()
            case Cause.TIMED_OUT if answer.failure is not None:
                return self._why_timed_out()
            case _:
                return None

    def _why_interrupted(self) -> Interruption:
        person = self.hands.signals.speak.is_set() and not self.loop.interrupts_now
        self.hands.signals.speak.clear()
        return Interruption.PERSON if person else Interruption.CONTROL

    def _why_timed_out(self) -> Interruption:
        own = self.loop.budget.iteration_timeout
        by_own_limit = own is not None and self.allowed is not None and self.allowed >= own
        return Interruption.TIMEOUT if by_own_limit else Interruption.BUDGET

    def _finish(self, action: AskAgent, answer: Answer, seconds: float) -> None:
        def look(_ended: TurnEnded) -> WorkspaceAfterTurn:
            return (
                self._look(action) if action.ask.role is Role.WORKER else WorkspaceAfterTurn(self._changed_by_others())
            )

        forks = self.asking.forks
        transcript = forks.transcript(action, answer, self._prompt) if forks.may_be_forked(action) else ""
        tests, problem = self._tests(action, answer) if action.ask.role is Role.AUTHOR else (None, None)
        self.stepper.end_turn(action.ask.role, action.iteration, answer, seconds, look, transcript, tests)
        if problem is not None:
            self.stepper.write(Rested(Outcome.BLOCKED, f"{problem.sentence} hint: {problem.hint}"))

    def _tests(self, action: AskAgent, answer: Answer) -> tuple[AcceptanceTests | None, UsageError | None]:
        """The acceptance tests that the author wrote, and why they cannot be kept. They are kept before the journal says so."""
        from untildone.engine.verdicts import authoring

        store, loop_id = self.hands.store, self.loop.loop_id
        try:
            tests = authoring.taken(
                self.stepper.workspace,
                self.loop,
                action.agent,
                self.asking.environment(action),
                lambda name, text: store.carry(loop_id, name, text),
                failed=bool(answer.failure),
            )
        except UsageError as problem:
            return None, problem
        return tests, None

    def _look(self, action: AskAgent) -> WorkspaceAfterTurn:
        loop = self.loop
        kept = self.around.site.keep(loop, self._title(action), self.hands.must_stop, self.around.redactor)
        commit = kept.head if kept.made else None
        return WorkspaceAfterTurn(self.stepper.workspace.look(loop.changes, commit, self.hands.must_stop), kept.note)

    def _changed_by_others(self) -> Changes | None:
        """The workspace, if a supervisor changed it although it must not: then the gate results are void. None: unchanged."""
        if not self.loop.claimed:
            return None
        changes = self.stepper.workspace.look(self.loop.changes)
        return None if changes.fingerprint == self.loop.last_seen else changes

    def _title(self, action: AskAgent) -> str:
        return f"Round {action.iteration}: {self.loop.title}"
