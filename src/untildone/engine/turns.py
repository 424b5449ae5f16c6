"""One turn of an agent: write that it starts, run the program, read its output, write the result."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from untildone import agents
from untildone.core import budget as budgets
from untildone.core.actions import AskAgent
from untildone.core.agent_io import AgentEvent, Invocation, Reader, Request, SessionKnown
from untildone.core.errors import AgentMissing, LoopNotFound, UsageError
from untildone.core.events import SessionOpened, TurnEnded, TurnInterrupted
from untildone.core.kinds import Interruption
from untildone.core.loop import Loop, output_name
from untildone.core.model import Answer, Changes, Failure, FailureKind, Role, Usage
from untildone.core.value import replace
from untildone.engine import usage_limits as limits
from untildone.engine.gating import SHORTEST
from untildone.system import orphans, process
from untildone.system.process import Cause, Ended, Spawn
from untildone.workspace.diff import patch

if TYPE_CHECKING:
    from untildone.engine.process_hands import ProcessHands
    from untildone.engine.surroundings import Surroundings

KEPT_ANSWER = 200_000
SHOWN_DIFF = 60_000
PRIVATE = ("UNTILDONE_TOKEN", "UNTILDONE_NOTIFY_SECRET", "UNTILDONE_STORE")
"""Variables of untildone that agents and checks do not inherit."""


class Turn:
    """One turn. `hands` are those of the host that runs it."""

    def __init__(self, hands: ProcessHands) -> None:
        self.hands = hands
        self.stepper = hands.stepper
        self.around = hands.around
        self._at_most = None if hands.time_left is None else max(SHORTEST, hands.time_left())
        self.allowed: float | None = None
        """How many seconds the turn may take, by the budget as of the last call of `timeout`."""

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    def take(self, action: AskAgent) -> None:
        """Run the agent. Does nothing if the decision is obsolete."""
        request = self._request(action)
        agent = agents.find(action.agent.agent)
        reader = agent.reader(request)
        if not self.stepper.begin_turn(action, request.prompt):
            return
        self.stepper.show_live_state()
        try:
            ended = self._run(action, agent.invocation(request), reader)
        except LoopNotFound:
            raise
        except (AgentMissing, UsageError) as problem:
            failure = Failure(FailureKind.UNAVAILABLE, f"{problem.sentence} {problem.hint}".strip())
            self._finish(action, Answer(failure=failure), 0.0)
            return
        self._conclude(action, reader, ended)

    def _request(self, action: AskAgent) -> Request:
        return Request(
            prompt=action.ask.prompt + (self._diff() if action.ask.show_diff else ""),
            session=action.session,
            session_id=action.session_id,
            fresh_id=str(uuid.uuid4()),
            model=action.agent.model,
            args=action.agent.args,
            system_prompt=action.ask.system_prompt,
            permissions=action.agent.permissions,
            max_cost_usd=action.max_cost_usd,
            command=action.agent.command,
        )

    def _diff(self) -> str:
        try:
            diff = patch(self.stepper.place, self.loop.start.tree or "")
        except UsageError:
            return ""
        return f"\n\nWhat changed in the workspace:\n```diff\n{diff[:SHOWN_DIFF]}\n```"

    def _run(self, action: AskAgent, invocation: Invocation, reader: Reader) -> Ended:
        loop = self.loop
        profile_env = self.around.profile_environment(action.agent.profile)
        spawn = Spawn(
            argv=invocation.argv,
            env={**environment(self.around, loop.loop_id), **profile_env, **invocation.env},
            cwd=self.stepper.place,
            stdin=invocation.stdin,
            lines_together=invocation.prints_text,
            spool=self.hands.store.spool(loop.loop_id, output_name(action.ask.role, action.iteration)),
            timeout=self.timeout(),
            timeout_now=self.timeout,
            redactor=self.around.redactor,
        )
        self.around.guard.ensure()
        ended = process.run(spawn, lambda line: self._take_line(action, reader, line), self.hands.must_stop)
        if ended.leftover_group is not None:
            self.hands.groups.add(ended.leftover_group)
        return ended

    def timeout(self) -> float | None:
        """How many seconds the turn may take, by the present budget: it may change while the agent works."""
        loop = self.loop
        limits = (budgets.turn_timeout(loop.budget, loop.spend), self._at_most)
        self.allowed = min((limit for limit in limits if limit is not None), default=None)
        return self.allowed

    def _take_line(self, action: AskAgent, reader: Reader, line: bytes) -> None:
        for event in reader.feed(line):
            self._note(action, event)

    def _note(self, action: AskAgent, event: AgentEvent) -> None:
        role, profile = action.ask.role, action.agent.profile
        if isinstance(event, SessionKnown):
            known = self.loop.session_of(role, profile)
            if known is None or known.session_id != event.session_id:
                self.stepper.write(SessionOpened(role, profile, event.session_id), sync=False)
        self.hands.observer.agent(event, self.loop)

    def _conclude(self, action: AskAgent, reader: Reader, ended: Ended) -> None:
        now = self.around.clock()
        answer = limits.in_local_time(reader.finish(ended.exit_code, ended.stderr_tail, now), now)
        reason = self._cut_short(ended, answer)
        self.stepper.note_edit()
        if reason is Interruption.TIMEOUT and action.ask.role is not Role.WORKER:
            # A timeout of another role uses no iteration, so it must count as a failure, whose retries are limited.
            failure = Failure(FailureKind.TIMEOUT, f"no answer within {self.allowed or 0:g} s")
            self._finish(action, replace(answer, failure=failure), ended.seconds)
        elif reason is not None:
            usage = answer.usage if answer.session_total is None else Usage()
            self.around.site.secure(self.loop, self._title(action))
            self.stepper.write(
                TurnInterrupted(action.ask.role, action.iteration, reason, ended.seconds, usage), sync=False
            )
        else:
            self._finish(action, replace(answer, text=answer.text[-KEPT_ANSWER:]), ended.seconds)

    def _cut_short(self, ended: Ended, answer: Answer) -> Interruption | None:
        """Why the turn was interrupted; None: it was not, or the answer was complete."""
        match ended.cause:
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
        def look(_ended: TurnEnded) -> Changes | None:
            return self._look(action) if action.ask.role is Role.WORKER else self._changed_by_others()

        self.stepper.end_turn(action.ask.role, action.iteration, answer, seconds, look)

    def _look(self, action: AskAgent) -> Changes:
        loop = self.loop
        commit = self.around.site.keep(loop, self._title(action), self.hands.must_stop)
        return self.stepper.workspace.look(loop.changes, commit)

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


def inherited(environment: Mapping[str, str], loop_id: str) -> Mapping[str, str]:
    """The environment without PRIVATE variables, with the loop's id."""
    kept = {key: entry for key, entry in environment.items() if key not in PRIVATE}
    return {**kept, "UNTILDONE_LOOP_ID": loop_id}
