"""Checks and preparations before an agent is asked."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from typing import TYPE_CHECKING

from untildone import agents
from untildone.core.actions import AskAgent, RunTrials
from untildone.core.errors import UsageError
from untildone.core.events import AcceptanceRan, BaselineRan, LimitReached, MachineLacked, Rested, SandboxSeen
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Role, RoomKind
from untildone.core.plugins.agent_io import Request
from untildone.core.receipts import proving
from untildone.engine import boxes, usage_limits
from untildone.engine.stepper_ports import Next
from untildone.engine.verdicts import known_files
from untildone.system.box import sandbox

if TYPE_CHECKING:
    from untildone.engine.process_hands import ProcessHands


FIRST_OFFER, LONGEST_OFFER = 0.5, 10.0
"""Seconds until a loop whose agent a machine lacks is offered to the machines again. They grow with the time that it waits."""
NOBODY_HAS_IT_AFTER = 600.0
"""Seconds after which a loop is blocked if only machines without its agent have taken it."""

BUBBLEWRAP = "bwrap"
"""The program of sealed rooms."""


class BeforeTurns:
    """Checks whether the agent of a loop can be asked now. `hands` are those of the host."""

    def __init__(self, hands: ProcessHands) -> None:
        self._hands = hands
        self.stepper = hands.stepper

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    def holds_back(self, action: AskAgent) -> bool:
        """Whether an entry had to be written first: then the stepper decides again."""
        return (
            self._limit_known(action)
            or self._group_used_up()
            or self._is_another_supervisor(action)
            or self._is_contained_otherwise()
            or self._lacks_baseline()
            or self._asks_about_failures()
            or self.lacks_trial()
        )

    def leave_to_others(self, action: AskAgent) -> Next | None:
        """Hand the loop over to another machine of the cluster if this one lacks the agent's program. If all machines have lacked it for
        a while, the loop is blocked until a person installs it."""
        if self._hands.around.host is not Host.CLUSTER or not (program := self._missing_program(action)):
            return None
        loop, now = self.loop, self._hands.around.clock()
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
        self._hands.waits_until = now + min(LONGEST_OFFER, max(FIRST_OFFER, now - since))
        return Next.LEAVE

    def _missing_program(self, action: AskAgent) -> str:
        """The program of the agent, or that of sealed rooms if a person wants these, if it is not on this machine; else empty."""
        if self.loop.settings.checks and self.loop.settings.room is RoomKind.SEALED and sandbox.problem():
            return BUBBLEWRAP
        choice = action.agent
        program = agents.of(choice).invocation(Request(prompt="", command=choice.command)).argv[0]
        path = os.path.join(self.stepper.place, program) if os.sep in program else program
        return "" if shutil.which(path, path=self._hands.environment(choice).get("PATH")) else program

    def _limit_known(self, action: AskAgent) -> bool:
        """Whether another loop has reached a usage limit of this agent. Then it is written to the journal, and the agent is not asked."""
        profile, account = action.agent.profile, usage_limits.account(action.agent, self.stepper.place)
        if self.loop.tries_limits:
            self._hands.around.limits.forget(account)
        known = self._hands.around.limits.find(account, self._hands.around.clock())
        if known is None or self.loop.limits.get(profile) == known:
            return False
        self.stepper.write(LimitReached(profile, known.until, known.message, known.strikes))
        return True

    def _group_used_up(self) -> bool:
        """Whether the loop rests now because the loops of its group have together used up the group's cost limit."""
        name = self.loop.settings.group
        group = self._hands.store.group(name) if name else None
        if group is None or group.max_cost is None or not group.used_up:
            return False
        spent = f"The group '{group.name}' has spent ${group.cost:.2f} of its ${group.max_cost:.2f}."
        reason = f"{spent} hint: raise it with `untildone group {shlex.quote(group.name)} --max-cost USD`, then resume"
        self.stepper.write(Rested(Outcome.BUDGET, reason))
        return True

    def _is_another_supervisor(self, action: AskAgent) -> bool:
        """Whether the loop rests now because the supervisor's program or settings are not those of the loop's start."""
        if action.ask.role not in (Role.SUPERVISOR, Role.AUTHOR):
            return False
        files = known_files.changed(self.loop, action.agent, self._hands.environment(action.agent), self.stepper.place)
        if files:
            self.stepper.write(Rested(Outcome.PAUSED, known_files.sentence(self.loop, files)))
        return bool(files)

    def _is_contained_otherwise(self) -> bool:
        """Whether this machine contains agents in another way than the journal says; then the new way is written. If the required box
        cannot be made, the loop rests."""
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
        finding = self._hands.judging.prove(baseline.GATE, need)
        if finding is not None:
            self.stepper.write(BaselineRan(baseline.measured(loop, finding), time.monotonic() - started))
        return True

    def _asks_about_failures(self) -> bool:
        """Whether a person at the terminal had to be asked what the failures before any work are; the answer is written."""
        loop = self.loop
        if not self._hands.talking.has_person or loop.failures_explained or loop.spend.iterations or not loop.baseline:
            return False
        from untildone.gates import baseline

        question = baseline.question(loop)
        if question is None:
            return False
        self._hands.talking.explain(question)
        return True

    def lacks_trial(self) -> bool:
        """Whether the checks had to run with the acceptance tests before any work; what they said is written."""
        loop, started, written = self.loop, time.monotonic(), self.loop.acceptance
        if written is None or written.tried:
            return False
        from untildone.core.answers import authoring
        from untildone.gates import acceptance

        need = RunTrials(proving.ACCEPTANCE, loop.settings.check_timeout, proving.seconds(loop.settings))
        finding = self._hands.judging.prove(acceptance.FIRST, need)
        if finding is None:
            return True
        problem = finding.problem or ("the time for proofs was over" if finding.is_cut else "")
        if not problem:
            self.stepper.write(AcceptanceRan(acceptance.tried(loop, finding), time.monotonic() - started))
        if problem or self.loop.acceptance is None:
            reason = authoring.not_run(written.profile, written.paths, problem)
            self.stepper.write(Rested(Outcome.BLOCKED, reason))
        return True
