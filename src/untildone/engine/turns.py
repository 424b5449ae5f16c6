"""One turn of an agent: write that it starts, run the program, read its output, write the result."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from untildone import agents
from untildone.core import apply
from untildone.core import budget as budgets
from untildone.core.actions import AskAgent
from untildone.core.answers import agreement
from untildone.core.children import SOCKET
from untildone.core.errors import AgentMissing, BoxNotMade, LoopNotFound, ResourcesShort, UsageError
from untildone.core.events import (
    BudgetWarned,
    HostsAsked,
    Rested,
    SessionOpened,
    TurnEnded,
    TurnInterrupted,
    UsageSeen,
)
from untildone.core.kinds import Interruption
from untildone.core.limits import Limit
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
    SoFar,
    Spend,
    Usage,
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
from untildone.core.values.value import dataclass, field, replace
from untildone.engine import leftovers, programs, reports
from untildone.engine import usage_limits as limits
from untildone.engine.asking import Asking, Start
from untildone.engine.boxes.refusals import Refusals
from untildone.engine.side_files import SideFiles
from untildone.engine.standby import Warm
from untildone.engine.stepper import Seen
from untildone.engine.verdicts.gating import SHORTEST
from untildone.system import orphans, process
from untildone.system.process import Cause, Ended, Open, Spawn
from untildone.workspace import worktrees

if TYPE_CHECKING:
    from untildone.engine.boxes.network import Connected
    from untildone.engine.process_hands import ProcessHands
    from untildone.engine.surroundings import Surroundings
    from untildone.system.box.sandbox import Box

KEPT_ANSWER = 200_000
NOTE_EVERY = 0.25
"""Seconds between two notes of what a turn has used so far, at least."""
UNKNOWN_WORD = "(a word that was drawn)"
PRIVATE = (
    "UNTILDONE_TOKEN",
    "UNTILDONE_NOTIFY_SECRET",
    "UNTILDONE_NOTIFY_WEBHOOK",
    "UNTILDONE_NOTIFY_APPRISE",
    "UNTILDONE_STORE",
    SOCKET,
)
"""Variables of untildone that agents and checks do not inherit."""

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
        self.asking = Asking(hands, environment(hands.around, hands.loop.loop_id))
        self._at_most = None if hands.time_left is None else max(SHORTEST, hands.time_left())
        self.allowed: float | None = None
        """How many seconds the turn may take, by the budget as of the last call of `timeout`."""
        self._used = Used(Usage())
        """What the running agent has used so far."""
        self._noted = Usage()
        """What of that is in the journal."""
        self._began = self._note_from = 0.0
        """When the program was started, and from when on the journal may have more of what it uses."""
        hands.used_in_turn = Usage()
        self._side: SideReader | None = None
        """The reader of the running agent, if the agent reports beside its output what each message used, and that is read."""
        self._side_files = SideFiles(())
        self._is_metered = False
        """Whether the agent has reported its usage while it works."""
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
        self._side = reader if start.request.meters and isinstance(reader, SideReader) else None
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
            self._began = time.monotonic()
            self._note_from = self._began + NOTE_EVERY
            self._side_files = SideFiles(self._side.side_files(opened.environment) if self._side else ())
            ended = process.run(
                spawn, lambda line: self._take_line(action, reader, line), self.hands.must_stop, opened.program
            )
            for line in self._side_files.last_lines():
                self._take_side_line(line)
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

    def _is_over_budget(self) -> bool:
        """Whether what the agent has used in this turn uses up the dollars or tokens of the loop, as they are limited now."""
        for line in self._side_files.lines():
            self._take_side_line(line)
        self._note_usage()
        spend = self.loop.spend.plus(time.monotonic() - self._began, self._used.usage)
        self._warn(spend)
        return budgets.spent(self.loop.own_budget, spend) is not None

    def _warn(self, spend: Spend) -> None:
        """Warn of a limit of which a long turn uses most: the next decision may be an hour away."""
        for gauge in budgets.gauges(self.loop.own_budget, spend):
            is_due = gauge.is_nearly_used() and not gauge.used_up and gauge.limit not in self.loop.warned
            if is_due and gauge.limit is not Limit.ITERATIONS:
                self.stepper.write(BudgetWarned(gauge.limit, gauge.used, gauge.allowed), sync=False)

    def _note_usage(self) -> None:
        """Write what the turn has used so far, but not at every message of a quick agent: if this runner dies, the next one counts it."""
        turn, now = self.loop.turn, time.monotonic()
        if turn is None or self._used.usage == self._noted or now < self._note_from:
            return
        self._noted, self._note_from = self._used.usage, now + NOTE_EVERY
        growth = self._side.session_growth() if self._side else self._used.session_growth
        total = apply.with_total(self.loop, Answer(), growth).session_total
        known = SoFar(self._used.usage, now - self._began, self._used.priced, total)
        self.stepper.write(UsageSeen(turn.role, turn.iteration, known), sync=False)

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
            used_up=self._is_over_budget,
            on_error_line=self._take_side_line if self._side and self._side.reads_errors else None,
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

    def _take_side_line(self, line: bytes) -> bool:
        """Take a line that the agent's program wrote beside its output. True: the reader knows it."""
        events = self._side.feed_side(line) if self._side else None
        for event in events or ():
            if isinstance(event, Used):
                self._is_metered = True
                self._take_used(event)
            else:
                self.hands.observer.agent(event, self.loop)
        return events is not None

    def _take_used(self, event: Used) -> None:
        self._used, self.hands.used_in_turn = event, event.usage

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
            self._take_used(event)
            return
        if isinstance(event, SessionKnown):
            known = self.loop.session_of(role, profile)
            if known is None or known.session_id != event.session_id:
                self.stepper.write(SessionOpened(role, profile, event.session_id), sync=False)
        self.hands.observer.agent(event, self.loop)

    def _conclude(self, start: Start, ended: Ended) -> None:
        action, request, now = start.action, start.request, self.around.clock()
        answer = limits.in_local_time(start.reader.finish(ended.exit_code, ended.stderr_tail, now), now)
        if answer.failure is not None:
            self.hands.standby.end(broke_off=start.turn is not None and answer.failure.kind in BROKE_OFF)
            agent, environment = agents.of(action.agent), self.asking.environment(action)
            explained = programs.explained(
                agent, request, answer.failure, environment, lambda: self.asking.box_for_version(action)
            )
            answer = replace(answer, failure=explained)
        self._warn_if_unpriced(action, answer)
        if self._side is not None:
            answer = apply.with_total(self.loop, answer, self._side.session_growth())
            self._warn_if_unmetered(action, answer)
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
            usage, total = apply.usage_of(self.loop, answer), answer.session_total
            self.around.site.secure(self.loop, self._title(action), self.around.redactor)
            self.stepper.write(
                TurnInterrupted(action.ask.role, action.iteration, reason, ended.seconds, usage, answer.priced, total),
                sync=False,
            )
        else:
            self._finish(action, replace(answer, text=answer.text[-KEPT_ANSWER:]), ended.seconds)

    def _warn_if_unmetered(self, action: AskAgent, answer: Answer) -> None:
        """Say once that a limit of dollars or tokens holds at the end of a turn only."""
        profile = action.agent.profile
        if self._is_metered or profile in self.hands.unmetered or not apply.usage_of(self.loop, answer).tokens:
            return
        self.hands.unmetered.add(profile)
        sentence = f"{profile} did not report what it uses while it worked: its limits are checked after each turn."
        self.hands.observer.agent(Notice(sentence), self.loop)

    def _warn_if_unpriced(self, action: AskAgent, answer: Answer) -> None:
        """Say once that a limit of dollars does not hold, because nobody knows what the agent's model costs."""
        profile, limit = action.agent.profile, self.loop.budget.cost_usd
        if limit is None or profile in self.hands.unpriced or not apply.usage_of(self.loop, answer).unpriced:
            return
        self.hands.unpriced.add(profile)
        model = answer.model or action.agent.model
        of_what = f"the model {model} of {profile}" if model else f"the model of {profile}"
        sentence = (
            f"Price unknown: {of_what} is not in the table of prices, so the limit of dollars does not hold for it."
        )
        self.hands.observer.agent(Notice(f"{sentence} Add it to [prices] in your settings."), self.loop)

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
        def look(_ended: TurnEnded) -> Seen:
            return self._look(action) if action.ask.role is Role.WORKER else Seen(self._changed_by_others())

        forks = self.asking.forks
        transcript = forks.transcript(action, answer, self._prompt) if forks.may_be_forked(action) else ""
        tests = self._tests(action, answer) if action.ask.role is Role.AUTHOR else None
        self.stepper.end_turn(action.ask.role, action.iteration, answer, seconds, look, transcript, tests)

    def _tests(self, action: AskAgent, answer: Answer) -> AcceptanceTests | None:
        """The acceptance tests that the author wrote. They are kept before the journal says so."""
        from untildone.engine.verdicts import authoring

        store, loop_id = self.hands.store, self.loop.loop_id
        return authoring.taken(
            self.stepper.workspace,
            self.loop,
            action.agent,
            self.asking.environment(action),
            lambda name, text: store.carry(loop_id, name, text),
            failed=bool(answer.failure),
        )

    def _look(self, action: AskAgent) -> Seen:
        loop = self.loop
        kept = self.around.site.keep(loop, self._title(action), self.hands.must_stop, self.around.redactor)
        commit = kept.head if kept.made else None
        return Seen(self.stepper.workspace.look(loop.changes, commit, self.hands.must_stop), kept.note)

    def _changed_by_others(self) -> Changes | None:
        """The workspace, if a supervisor changed it although it must not: then the gate results are void. None: unchanged."""
        if not self.loop.claimed:
            return None
        changes = self.stepper.workspace.look(self.loop.changes)
        return None if changes.fingerprint == self.loop.last_seen else changes

    def _title(self, action: AskAgent) -> str:
        return f"Round {action.iteration}: {self.loop.title}"


def environment(around: Surroundings, loop_id: str) -> Mapping[str, str]:
    """The environment of agents and checks, with the mark by which all processes of the loop are found."""
    name, value = orphans.mark(loop_id)
    return {**inherited(around.environment, loop_id), name: value}


def without_database(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables with which libpq finds and opens databases: untildone's own is none of the agents'."""
    return {name: value for name, value in environment.items() if not name.startswith("PG")}


def inherited(environment: Mapping[str, str], loop_id: str) -> Mapping[str, str]:
    """The environment without PRIVATE variables, with the loop's id."""
    kept = {key: entry for key, entry in environment.items() if key not in PRIVATE}
    return {**kept, "UNTILDONE_LOOP_ID": loop_id}
