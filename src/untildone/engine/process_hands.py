"""Hands that run agents and gates as processes on this machine.

Terminal, server and cluster use them; the stop hook uses them for gates and supervisors.
"""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from untildone import agents, gates
from untildone.core import budget as budgets
from untildone.core.actions import Action, AskAgent, AwaitPerson, GateStep, RunCommand, RunGates, RunTrials, Wait
from untildone.core.answers import rounds
from untildone.core.errors import UsageError
from untildone.core.events import (
    AcceptanceRan,
    BaselineRan,
    FailuresExplained,
    GatesRan,
    GateStarted,
    HostsAsked,
    LimitReached,
    MachineLacked,
    MessageSent,
    PauseRequested,
    Rested,
    SandboxSeen,
    TurnInterrupted,
    WorkspaceSeen,
)
from untildone.core.kinds import Host, Interruption, Source
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, GateResult, Outcome, Role, RoomKind, Urgency, Usage
from untildone.core.plugins.agent_io import Request
from untildone.core.plugins.gate import Gate
from untildone.core.protection.sandbox import HostAsked
from untildone.core.receipts import proving
from untildone.core.values.value import replace
from untildone.engine import boxes, environments, leftovers, turns, usage_limits
from untildone.engine.standby import Standby, Warm
from untildone.engine.stepper import CHANGED_SINCE, Next, Stepper
from untildone.engine.surroundings import IgnoringObserver, Observer, Person, Signals, Surroundings
from untildone.engine.verdicts import gating, judging, known_files
from untildone.system.box import sandbox
from untildone.system.process import Ended
from untildone.workspace.shadow import Reading

if TYPE_CHECKING:
    from untildone.store import Store

LONG_WAIT = 5.0
"""Seconds. A loop that waits longer for a usage limit leaves its slot of a server or machine to another loop meanwhile."""
LOOK_EVERY = 0.02
"""Seconds between two looks at the journal while the loop waits."""

FIRST_OFFER, LONGEST_OFFER = 0.5, 10.0
"""Seconds until a loop whose agent a machine lacks is offered to the machines again. They grow with the time that it waits."""
NOBODY_HAS_IT_AFTER = 600.0
"""Seconds after which a loop is blocked if only machines without its agent have taken it."""

BUBBLEWRAP = "bwrap"
"""The program of sealed rooms."""

MOST_RESTLESS = 4
"""So many times in a row a workspace that changes by itself is looked at again before the claim is refused."""


class ProcessHands:
    """The `Hands` of a host that runs processes."""

    def __init__(
        self,
        stepper: Stepper,
        store: Store,
        around: Surroundings,
        *,
        observer: Observer | None = None,
        person: Person | None = None,
        signals: Signals | None = None,
        longest_wait: float | None = None,
        time_left: Callable[[], float] | None = None,
    ) -> None:
        """`longest_wait` (seconds): instead of waiting longer, the runner leaves, and `waits_until` is the end of the wait.

        `time_left`: the seconds until the deadline of the host; None: it has none.
        """
        self.stepper = stepper
        self.store = store
        self.around = around
        self.observer = observer or IgnoringObserver()
        self.signals = signals or Signals()
        self.groups: set[int] = set()
        """Process groups in which a process outlived its turn or gate; the host ends them at the end of the drive."""
        self.unmetered: set[str] = set()
        """Profiles of which the person knows that they do not report their usage while they work."""
        self.unpriced: set[str] = set()
        """Profiles of which the person knows that nobody knows their prices."""
        self.refused: dict[Role, tuple[str, ...]] = {}
        """What boxes refused in the last turn of a role; the agent is told with its next prompt."""
        self.used_in_turn = Usage()
        """What the running agent has used so far, as far as it has reported that."""
        self.standby = Standby(self._after_standby)
        """The program of the worker between two turns."""
        self.loops_socket = ""
        """Where the worker reaches the loops that it may start; empty: it may start none."""
        self.waits_until: float | None = None
        self.time_left = time_left
        self._person = person
        self._longest_wait = longest_wait
        self._pause_written = False
        self._signs: tuple[str, ...] = ()
        """The tampering report about the claim that was judged last."""
        self._restless = 0
        """How often in a row the workspace was not as the last turn, or the last look, had left it."""

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    def ask(self, action: AskAgent) -> Next:
        return self._instead_of(action) or self._leave_to_others(action) or self._ask(action)

    def gates(self, action: RunGates) -> Next:
        return self._instead_of(action) or self._run_gates(action)

    def wait(self, action: Wait) -> Next:
        return self._instead_of(action) or self._wait(action)

    def person(self, action: AwaitPerson) -> Next:
        return self._instead_of(action) or self._ask_person(action)

    def _after_standby(self, warm: Warm, ended: Ended, asked: tuple[HostAsked, ...]) -> None:
        """Take care of what a program left that was open between two turns."""
        if ended.leftover_group is not None:
            self.groups.add(ended.leftover_group)
        if ended.exit_code < 0:
            # Something killed it: with its launcher gone, the agent itself may still be at work.
            leftovers.end(self.loop.loop_id, self.around, self.groups, self.loop.settings.keep_running)
        if asked:
            # The entry takes the place of those that the agent has not been told of.
            earlier = tuple(each.sentence for each in self.loop.hosts_refused)
            self.refused[Role.WORKER] = (*self.refused.get(Role.WORKER, ()), *earlier)
            self.stepper.write(HostsAsked(Role.WORKER, warm.iteration, asked), sync=False)

    def must_stop(self) -> bool:
        """Read signals and new entries of the journal. True: the running agent or gate must end at once."""
        if self.stepper.orders is not None and self.stepper.orders.interrupts_now:
            # Before the journal: an order is there because the journal could not be written.
            return True
        self.stepper.catch_up()
        if self.signals.interrupt.is_set() and not self._pause_written:
            self._pause_written = True
            self.stepper.write(PauseRequested(Urgency.NOW, Outcome.INTERRUPTED))
        return self.loop.interrupts_now or self.signals.speak.is_set() or self.signals.leave.is_set()

    def _has_news(self) -> bool:
        """Whether a wait is over: the runner must stop, or an order is waiting."""
        return self.must_stop() or (self.stepper.orders is not None and self.stepper.orders.is_waiting)

    def _instead_of(self, action: Action) -> Next | None:
        """GO_ON if the action is obsolete, LEAVE if the host leaves before it, None if it is to be carried out."""
        self.stepper.obey()
        self.must_stop()
        if self.signals.speak.is_set() and self.loop.turn is None:
            self.signals.speak.clear()
            self.stepper.write(TurnInterrupted(Role.WORKER, self.loop.spend.iterations, Interruption.PERSON))
        if not self.stepper.is_current:
            return Next.GO_ON
        return Next.LEAVE if self.signals.leaves_before(action) else None

    def _ask(self, action: AskAgent) -> Next:
        held_back = (
            self._limit_known(action)
            or self._group_used_up()
            or self._is_another_supervisor(action)
            or self._is_contained_otherwise()
            or self._lacks_baseline()
            or self._asks_about_failures()
            or self._lacks_trial()
        )
        if held_back:
            return self._instead_of(action) or Next.GO_ON
        if not self.stepper.note_edit():
            turns.Turn(self).take(action)
        return Next.GO_ON

    def _leave_to_others(self, action: AskAgent) -> Next | None:
        """Leave the loop to another machine of the cluster if this one does not have the agent's program. If none has had it for a
        while, the loop is blocked: somebody must install it."""
        if self.around.host is not Host.CLUSTER or not (program := self._missing_program(action)):
            return None
        loop, now = self.loop, self.around.clock()
        since = loop.lacking_since or now
        if now - since > NOBODY_HAS_IT_AFTER:
            tried = ", ".join(loop.lacking)
            needs = "sealed rooms" if program == BUBBLEWRAP else f"agent '{action.agent.profile}'"
            reason = f"No machine has the program '{program}' of {needs}; tried: {tried}."
            hint = f"install it on one of them, then `untildone resume {loop.loop_id}`"
            self.stepper.write(Rested(Outcome.BLOCKED, f"{reason} hint: {hint}"))
            return Next.GO_ON
        machine = loop.runner.machine if loop.runner else ""
        if machine not in loop.lacking:
            self.stepper.write(MachineLacked(machine, program))
        self.waits_until = now + min(LONGEST_OFFER, max(FIRST_OFFER, now - since))
        return Next.LEAVE

    def _missing_program(self, action: AskAgent) -> str:
        """The program of the agent, or that of sealed rooms if a person wants these, if it is not on this machine; else empty."""
        if self.loop.settings.checks and self.loop.settings.room is RoomKind.SEALED and sandbox.problem():
            return BUBBLEWRAP
        choice = action.agent
        program = agents.of(choice).invocation(Request(prompt="", command=choice.command)).argv[0]
        path = os.path.join(self.stepper.place, program) if os.sep in program else program
        return "" if shutil.which(path, path=self._environment(choice).get("PATH")) else program

    def _limit_known(self, action: AskAgent) -> bool:
        """Whether another loop has reached a usage limit of this agent. Then it is written to the journal, and the agent is not asked."""
        profile, account = action.agent.profile, usage_limits.account(action.agent, self.stepper.place)
        if self.loop.tries_limits:
            self.around.limits.forget(account)
        known = self.around.limits.find(account, self.around.clock())
        if known is None or self.loop.limits.get(profile) == known:
            return False
        self.stepper.write(LimitReached(profile, known.until, known.message, known.strikes))
        return True

    def _group_used_up(self) -> bool:
        """Whether the loop rests now because the loops of its group have together used up the group's cost limit."""
        name = self.loop.settings.group
        group = self.store.group(name) if name else None
        if group is None or group.max_cost is None or not group.used_up:
            return False
        spent = f"The group '{group.name}' has spent ${group.cost:.2f} of its ${group.max_cost:.2f}."
        reason = f"{spent} hint: raise that with `untildone group {shlex.quote(group.name)} --max-cost`, then resume"
        self.stepper.write(Rested(Outcome.BUDGET, reason))
        return True

    def note_supervisors(self) -> None:
        """Write which programs and settings supervisors run with, before the first turn."""
        known_files.note(self.stepper, self._environment)

    def _environment(self, choice: AgentChoice) -> Mapping[str, str]:
        return environments.of_agent(self.around, self.loop, choice)

    def _is_another_supervisor(self, action: AskAgent) -> bool:
        """Whether the loop rests now because the supervisor's program or settings are not those of the loop's start."""
        if action.ask.role not in (Role.SUPERVISOR, Role.AUTHOR):
            return False
        files = known_files.changed(self.loop, action.agent, self._environment(action.agent), self.stepper.place)
        if files:
            self.stepper.write(Rested(Outcome.PAUSED, known_files.sentence(self.loop, files)))
        return bool(files)

    def _is_contained_otherwise(self) -> bool:
        """Whether this machine contains agents in another way than so far; that is written. Without the box that the person wants, the
        loop rests."""
        try:
            held = boxes.containment(self.loop.settings)
        except UsageError as problem:
            self.stepper.write(Rested(Outcome.PAUSED, f"{problem.sentence} hint: {problem.hint}"))
            return True
        if self.loop.containments[-1:] == (held,):
            return False
        self.stepper.write(SandboxSeen(held), sync=False)
        return True

    def _lacks_baseline(self) -> bool:
        """Whether the checks had to run once before the first round; what they said is written."""
        loop, started = self.loop, time.monotonic()
        if loop.baseline or loop.spend.iterations or not proving.wants_baseline(loop.settings):
            return False
        from untildone.gates import baseline

        need = RunTrials(proving.BASELINE, loop.settings.check_timeout, proving.seconds(loop.settings))
        finding = self._judge().prove(baseline.GATE, need, self._trying(need), self.must_stop)
        if finding is not None:
            self.stepper.write(BaselineRan(baseline.measured(loop, finding), time.monotonic() - started))
        return True

    def _asks_about_failures(self) -> bool:
        """Whether a person at the terminal had to be asked what the failures before any work are; the answer is written."""
        loop = self.loop
        if self._person is None or loop.failures_explained or loop.spend.iterations or not loop.baseline:
            return False
        from untildone.gates import baseline

        question = baseline.question(loop)
        if question is None:
            return False
        self._explain(question, self._person)
        return True

    def _explain(self, question: AwaitPerson, person: Person) -> None:
        """Ask, and write what the person says. Another entry of the journal makes the question obsolete: then it is asked again."""
        from untildone.gates import baseline

        known = self.loop.seq
        answer = person.ask(question, self.loop, lambda: self._has_news() or self.loop.seq != known)
        if answer is None:
            self._rest_as(question)
        elif answer:
            parsed = rounds.parse(answer, budgets.rounds_left(self.loop.budget, self.loop.spend))
            if parsed.changes:
                self.stepper.write(MessageSent(answer[: len(answer) - len(parsed.rest)], Source.TERMINAL))
            for notice in parsed.notices:
                person.tell(notice)
            if (word := parsed.rest.strip().lower()) in question.choices:
                self.stepper.write(FailuresExplained(ignored=word == baseline.IGNORE))

    def _lacks_trial(self) -> bool:
        """Whether the checks had to run with the acceptance tests before any work; what they said is written."""
        loop, started, written = self.loop, time.monotonic(), self.loop.acceptance
        if written is None or written.tried:
            return False
        from untildone.core.answers import authoring
        from untildone.gates import acceptance

        need = RunTrials(proving.ACCEPTANCE, loop.settings.check_timeout, proving.seconds(loop.settings))
        finding = self._judge().prove(acceptance.FIRST, need, self._trying(need), self.must_stop)
        if finding is None:
            return True
        problem = finding.problem or ("the time for proofs was over" if finding.is_cut else "")
        if not problem:
            self.stepper.write(AcceptanceRan(acceptance.tried(loop, finding), time.monotonic() - started))
        if problem or self.loop.acceptance is None:
            reason = authoring.not_run(written.profile, written.paths, problem)
            self.stepper.write(Rested(Outcome.BLOCKED, reason))
        return True

    def _run_gates(self, action: RunGates) -> Next:
        """Run the gates on a workspace that nobody changes meanwhile. One that changed is judged again."""
        self.standby.end()
        if not action.weighs and self._lacks_trial():
            return self._instead_of(action) or Next.GO_ON
        self.stepper.write()
        leftovers.end(self.loop.loop_id, self.around, self.groups, self.loop.settings.keep_running)
        if self.stepper.note_edit():
            return Next.GO_ON
        judged = self.loop.changes.fingerprint if action.weighs else self.loop.last_seen
        if self._has_changed_since(judged) and self._restless < MOST_RESTLESS:
            return Next.GO_ON
        loop, started = self.loop, time.monotonic()
        results = self._results(action) if self._restless < MOST_RESTLESS else _unjudged(action)
        self.stepper.drop_edit()
        if results is None:
            return self._instead_of(action) or Next.GO_ON
        self._restless = 0
        title = f"Checks after round {loop.spend.iterations}: {loop.title}"
        self.around.site.secure(loop, title, self.around.redactor)
        fingerprint = self.stepper.workspace.look(loop.changes).fingerprint
        ran = GatesRan(results, time.monotonic() - started, fingerprint, self._signs, action.weighs)
        self.stepper.write(ran, sync=False)
        return Next.GO_ON

    def _has_changed_since(self, judged: str) -> bool:
        """Whether the workspace is not the one with this fingerprint any more. Then that is written, and earlier results are void."""
        changes = self.stepper.workspace.look(self.loop.changes, reading=Reading.ALL)
        if changes.fingerprint == judged:
            return False
        self._restless += 1
        self.stepper.write(WorkspaceSeen(changes))
        return True

    def _results(self, action: RunGates) -> tuple[GateResult, ...] | None:
        """The result of every step; None: the runner must stop."""
        judge = self._judge()
        [first, *_] = action.steps
        if isinstance(first.need, RunTrials):
            return self._proved(judge, first, first.need)
        needs = [step.need for step in action.steps if isinstance(step.need, RunCommand)]
        findings = judge.findings(needs, self._begin_command, self.must_stop) if needs else {}
        if findings is None or self.must_stop():
            return None
        self._signs = judge.signs()
        results = tuple(
            gating.run_step(self._gate(step), step, self.loop, findings, self._signs) for step in action.steps
        )
        for result in results:
            if result.command:
                self.observer.gate(result.command, result)
        return results

    def _proved(self, judge: judging.Judge, step: GateStep, need: RunTrials) -> tuple[GateResult, ...] | None:
        """The result of a proof; None: the runner must stop."""
        gate = self._gate(step)
        self._begin_command(need.command)
        finding = judge.prove(gate, need, self._trying(need), self.must_stop)
        if finding is None or self.must_stop():
            return None
        result = gate.judge(self.loop, step, finding)
        self.observer.gate(need.command, result)
        return (result,)

    def _trying(self, need: RunTrials) -> Callable[[int, int, str], None]:
        """Shows the progress of a proof."""
        return lambda number, total, about: self.observer.trying(need.command, number, total, about)

    def _judge(self) -> judging.Judge:
        """Runs the commands of gates in their rooms, and looks for signs of tampering. Nothing of the worker runs meanwhile."""
        self.standby.end()
        around, loop = self.around, self.loop
        base = gating.Room(
            self.stepper.place,
            environments.of_checks(around, loop),
            self.must_stop,
            around.redactor,
            self.groups,
            self.time_left,
            left_out=environments.not_passed(around.environment, loop, around.pass_env),
        )
        hidden = () if self.store.root is None else (str(self.store.root),)
        loop_id = self.loop.loop_id
        return judging.Judge(
            self.loop, self.stepper.workspace, hidden, base, lambda name: self.store.carried(loop_id, name)
        )

    def _begin_command(self, command: str) -> None:
        self.stepper.write(GateStarted(command), sync=False)
        self.observer.gate(command, None)

    def _gate(self, step: GateStep) -> Gate:
        gate = gates.gate_of(self.loop.settings, step.gate)
        if gate is None:
            raise UsageError(f"The gate '{step.gate}' is not installed here.", "install the package that defines it")
        return gate

    def _wait(self, action: Wait) -> Next:
        self.standby.end()
        self.stepper.write()
        self.observer.waiting(action.until, action.reason, self.loop)
        seconds = action.until - self.around.clock()
        if self._longest_wait is not None and seconds > self._longest_wait:
            self.waits_until = action.until
            return Next.LEAVE
        self._sleep(action.until, time.monotonic() + seconds)
        return Next.GO_ON

    def _sleep(self, until: float, long_enough: float) -> None:
        """Sleep until a time, or until another process appends to the journal. `long_enough` bounds it if the clock is set back."""
        while self.around.clock() < until and not self._has_news() and self.stepper.is_current:
            if time.monotonic() > long_enough:
                return
            time.sleep(max(0.0, min(LOOK_EVERY, until - self.around.clock())))

    def _ask_person(self, question: AwaitPerson) -> Next:
        """Ask until the person answers or leaves, or until an entry of another process makes the question obsolete."""
        self.standby.end()
        self.stepper.write()
        action: Action = question
        while (answer := self._answer(question, action)) is not None:
            if not answer or self._take_in(answer):
                return Next.GO_ON
            action = self.stepper.decide()
            question = replace(action, question="") if isinstance(action, AwaitPerson) else AwaitPerson("")
        self._rest_as(question)
        return Next.GO_ON

    def _answer(self, question: AwaitPerson, action: Action) -> str | None:
        def moved_on() -> bool:
            return self._has_news() or self.stepper.decide() != action

        return None if self._person is None else self._person.ask(question, self.loop, moved_on)

    def _take_in(self, answer: str) -> bool:
        """Write the person's message and show the notices about round controls. True: it was more than round controls."""
        loop = self.loop
        parsed = rounds.parse(answer, budgets.rounds_left(loop.budget, loop.spend))
        self.stepper.write(MessageSent(answer, Source.TERMINAL))
        for notice in parsed.notices:
            if self._person is not None:
                self._person.tell(notice)
        return bool(parsed.rest.strip())

    def _rest_as(self, question: AwaitPerson) -> None:
        """Let the loop rest after the person left, or if there is no person."""
        if question.leave is Outcome.VERIFIED and self.stepper.recheck():
            self.stepper.write(Rested(Outcome.PAUSED, CHANGED_SINCE))
        else:
            # A control that another process has just written takes precedence.
            self.stepper.rest_if_current(Rested(question.leave, question.reason))


def _unjudged(action: RunGates) -> tuple[GateResult, ...]:
    """Failures of all steps, for a workspace that does not keep still: a verdict would be about files that are gone."""
    reason = "the workspace keeps changing by itself while it is judged: end the program that writes there"
    return tuple(GateResult(step.gate, step.command, passed=False, reason=reason) for step in action.steps)
