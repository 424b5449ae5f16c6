"""Runs gates on a workspace that does not change meanwhile."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from untildone import gates
from untildone.core.actions import GateStep, RunCommand, RunGates, RunTrials
from untildone.core.errors import UsageError
from untildone.core.events import GatesRan, GateStarted, WorkspaceSeen
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.core.plugins.gate import Gate
from untildone.core.receipts.proving import TrialsRan
from untildone.engine import environments
from untildone.engine.agent import leftovers
from untildone.engine.stepper_ports import Next
from untildone.engine.verdicts import gating, judging
from untildone.workspace.shadow import Reading

if TYPE_CHECKING:
    from untildone.engine.process_hands import ProcessHands


MOST_RESTLESS = 4
"""How often in a row the runner looks again at a workspace that changes by itself, before the claim is refused."""


class GateHands:
    """Runs the gates and proofs of a loop. `hands` are those of the host."""

    def __init__(self, hands: ProcessHands) -> None:
        self._hands = hands
        self.stepper = hands.stepper
        self._signs: tuple[str, ...] = ()
        """The tampering report about the claim that was judged last."""
        self._restless = 0
        """How often in a row the workspace was not as the last turn, or the last look, had left it."""

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    def run(self, action: RunGates) -> Next:
        """Run the gates. If the workspace changes meanwhile, they run again."""
        self._hands.standby.end()
        if not action.weighs and self._hands.before_turns.lacks_trial():
            return self._hands.instead_of(action) or Next.GO_ON
        self.stepper.write()
        leftovers.end(self.loop.loop_id, self._hands.around, self._hands.groups, self.loop.settings.keep_running)
        if self.stepper.note_edit():
            return Next.GO_ON
        judged = self.loop.changes.fingerprint if action.weighs else self.loop.last_seen
        if self._has_changed_since(judged) and self._restless < MOST_RESTLESS:
            return Next.GO_ON
        loop, started = self.loop, time.monotonic()
        results = self._results(action) if self._restless < MOST_RESTLESS else _unjudged(action)
        self.stepper.drop_edit()
        if results is None:
            return self._hands.instead_of(action) or Next.GO_ON
        self._restless = 0
        title = f"Checks after round {loop.spend.iterations}: {loop.title}"
        self._hands.around.site.secure(loop, title, self._hands.around.redactor)
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
        [first, *_] = action.steps
        if isinstance(first.need, RunTrials):
            return self._proved(first, first.need)
        judge = self._judge()
        needs = [step.need for step in action.steps if isinstance(step.need, RunCommand)]
        findings = judge.findings(needs, self._begin_command, self._hands.must_stop) if needs else {}
        if findings is None or self._hands.must_stop():
            return None
        self._signs = judge.signs()
        results = tuple(
            gating.run_step(self._gate(step), step, self.loop, findings, self._signs) for step in action.steps
        )
        for result in results:
            if result.command:
                self._hands.observer.gate(result.command, result)
        return results

    def _proved(self, step: GateStep, need: RunTrials) -> tuple[GateResult, ...] | None:
        """The result of a proof; None: the runner must stop."""
        gate = self._gate(step)
        self._begin_command(need.command)
        finding = self.prove(gate, need)
        if finding is None or self._hands.must_stop():
            return None
        result = gate.judge(self.loop, step, finding)
        self._hands.observer.gate(need.command, result)
        return (result,)

    def prove(self, gate: Gate, need: RunTrials) -> TrialsRan | None:
        """The results of the trials of a proof; None: the runner must stop."""

        def begin(number: int, total: int, about: str) -> None:
            self._hands.observer.trying(need.command, number, total, about)

        return self._judge().prove(gate, need, begin, self._hands.must_stop)

    def _judge(self) -> judging.Judge:
        """Runs the commands of gates in their rooms, and looks for signs of tampering. Nothing of the worker runs meanwhile."""
        self._hands.standby.end()
        around, loop = self._hands.around, self.loop
        base = gating.Room(
            self.stepper.place,
            environments.of_checks(around, loop),
            self._hands.must_stop,
            around.redactor,
            self._hands.groups,
            self._hands.time_left,
            left_out=environments.not_passed(around.environment, loop, around.pass_env),
        )
        hidden = () if self._hands.store.root is None else (str(self._hands.store.root),)
        loop_id = self.loop.loop_id
        return judging.Judge(
            self.loop, self.stepper.workspace, hidden, base, lambda name: self._hands.store.carried(loop_id, name)
        )

    def _begin_command(self, command: str) -> None:
        self.stepper.write(GateStarted(command), sync=False)
        self._hands.observer.gate(command, None)

    def _gate(self, step: GateStep) -> Gate:
        gate = gates.gate_of(self.loop.settings, step.gate)
        if gate is None:
            raise UsageError(f"The gate '{step.gate}' is not installed here.", "install the package that defines it")
        return gate


def _unjudged(action: RunGates) -> tuple[GateResult, ...]:
    """Failures of all steps, for a workspace that keeps changing: a verdict would be about files that are gone."""
    reason = "the workspace keeps changing by itself while it is judged: end the program that writes there"
    return tuple(GateResult(step.gate, step.command, passed=False, reason=reason) for step in action.steps)
