"""One turn of an agent: write that it starts, run the program, read its output, write the result."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from untildone import agents
from untildone.core import budget as budgets
from untildone.core.actions import AskAgent
from untildone.core.answers import agreement
from untildone.core.errors import AgentMissing, BoxNotMade, LoopNotFound, ResourcesShort, UsageError
from untildone.core.events import HostsAsked, Rested, SessionDistrusted, SessionOpened, TurnEnded, TurnInterrupted
from untildone.core.kinds import Host, Interruption
from untildone.core.loop import Loop, output_name
from untildone.core.model import Answer, Changes, Failure, FailureKind, Outcome, Role, SessionUse, Usage
from untildone.core.plugins.agent_io import (
    AgentEvent,
    Conversation,
    Invocation,
    Notice,
    Reader,
    Request,
    SessionKnown,
    Used,
)
from untildone.core.values.value import replace
from untildone.engine import leftovers, programs, reports
from untildone.engine import usage_limits as limits
from untildone.engine.boxes.refusals import Refusals
from untildone.engine.place import Place
from untildone.engine.stepper import Seen
from untildone.engine.verdicts.gating import SHORTEST
from untildone.system import orphans, process
from untildone.system.process import Cause, Ended, Spawn

if TYPE_CHECKING:
    from untildone.core.plugins.transcript import SessionRecord
    from untildone.engine.process_hands import ProcessHands
    from untildone.engine.surroundings import Surroundings

KEPT_ANSWER = 200_000
LETTERS, WORD_LENGTH = "BCDFGHJKMNPQRSTVWXZ23456789", 10
"""Of the words that are drawn for reviewers: no letter that looks like another, and no vowel. Too long to be guessed from the digest."""
UNKNOWN_WORD = "(a word that was drawn)"
PRIVATE = (
    "UNTILDONE_TOKEN",
    "UNTILDONE_NOTIFY_SECRET",
    "UNTILDONE_NOTIFY_WEBHOOK",
    "UNTILDONE_NOTIFY_APPRISE",
    "UNTILDONE_STORE",
)
"""Variables of untildone that agents and checks do not inherit."""

BROKE_OFF = (FailureKind.CRASHED, FailureKind.MALFORMED, FailureKind.TIMEOUT)
"""Failures of an agent that did not come to its end."""


class Turn:
    """One turn. `hands` are those of the host that runs it."""

    def __init__(self, hands: ProcessHands) -> None:
        self.hands = hands
        self.stepper = hands.stepper
        self.around = hands.around
        self._at_most = None if hands.time_left is None else max(SHORTEST, hands.time_left())
        self.allowed: float | None = None
        """How many seconds the turn may take, by the budget as of the last call of `timeout`."""
        self._used = Usage()
        """What the running agent has used so far."""
        self._prompt = ""
        self._refusals: Refusals | None = None

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    def take(self, action: AskAgent) -> None:
        """Run the agent. Does nothing if the decision is obsolete."""
        if action.ask.role is Role.SUPERVISOR and action.session is SessionUse.FORK and self._distrusts(action):
            return
        try:
            place = self._place(action)
        except UsageError as problem:
            self.stepper.write_if_current(Rested(Outcome.BLOCKED, f"{problem.sentence} hint: {problem.hint}"))
            return
        self._take(action, place)

    def _distrusts(self, action: AskAgent) -> bool:
        """Whether the session to fork may deceive a reviewer. Then that is written, and the next decision asks a fresh one."""
        from untildone.engine.verdicts import reviewing, transcripts

        profile = action.agent.profile
        session = self.loop.session_of(Role.WORKER, profile)
        record = self._record(action, action.session_id or "")
        may_grow = self.around.host is Host.HOOK
        if (
            session is None
            or record is None
            or not transcripts.is_unchanged(record, session.transcript, may_grow=may_grow)
        ):
            reason = "the transcript of the agent's session is not as its turn left it."
        else:
            reason = self._no_copy(action) or reviewing.steered(self.stepper.workspace, self.loop)
        if reason:
            self.stepper.write(SessionDistrusted(profile, reason))
        return bool(reason)

    def _why_fresh(self, action: AskAgent) -> tuple[str, ...]:
        """A sentence for the person if a reviewer that could fork the session does not, because nobody can vouch for its transcript."""
        session = self.loop.session_of(Role.WORKER, action.agent.profile)
        could = action.ask.role is Role.SUPERVISOR and action.session is SessionUse.NEW and self._is_forkable(action)
        if session is None or session.transcript or not could or self._record(action, session.session_id) is None:
            return ()
        return ("A fresh supervisor is asked: nobody can vouch for the transcript of the agent's session.",)

    def _is_forkable(self, action: AskAgent) -> bool:
        """Whether worker and supervisor are the same agent, which can fork its session."""
        settings = self.loop.settings
        is_own = settings.agent_for(Role.SUPERVISOR).profile == settings.worker.profile == action.agent.profile
        return is_own and "fork" in action.agent.abilities and not self._no_copy(action)

    def _no_copy(self, action: AskAgent) -> str:
        """Why this version of the agent cannot be a reviewer that forks the session; empty: it can. In a box, the reviewer's checkout is
        in the place of the workspace; without one it is another folder."""
        from untildone.engine import boxes

        agent = agents.find(action.agent.agent)
        if not agent.versions.forks_elsewhere or boxes.containment(self.loop.settings).boxed:
            return ""
        version = programs.known_version(agent, self._environment(action))
        if agent.versions.can_fork_elsewhere(version):
            return ""
        return f"{agent.program} {version} copies a session only in the folder where it began."

    def _place(self, action: AskAgent) -> Place:
        """Where the agent runs: a reviewer in a checkout of its own, all others in the workspace. UsageError if there is no box for it."""
        from untildone.engine import boxes
        from untildone.engine.boxes import planning
        from untildone.engine.verdicts import reviewing

        workspace, loop, environment = self.stepper.workspace, self.loop, self._environment(action)
        if action.ask.role is Role.SUPERVISOR:
            return reviewing.place(workspace, loop, action.agent, environment)
        if not boxes.containment(loop.settings).boxed:
            return Place(self.stepper.place)
        plan = planning.plan_for(
            loop.settings,
            workspace.path,
            action.agent,
            environment,
            loop.loop_id,
            root=workspace.shadow.start.root if workspace.shadow.start else "",
            documents=planning.documents_of(loop, self.hands.store.root),
        )
        return Place(self.stepper.place, boxes.box_of(plan))

    def _take(self, action: AskAgent, place: Place) -> None:
        word = draw_word() if action.ask.agrees_with else ""
        agent = agents.find(action.agent.agent)
        request = programs.with_version(agent, self._request(action, place, word), self._environment(action))
        reader = agent.reader(request)
        if not self._begin(action, request, word, (*place.notes, *self._why_fresh(action))):
            return
        self._prompt = request.prompt
        self.stepper.show_live_state()
        if action.ask.role is Role.WORKER:
            self.around.site.begin(self.loop)
        try:
            ended = self._started(action, agent.invocation(request), reader, place)
        except LoopNotFound:
            raise
        except (AgentMissing, UsageError) as problem:
            kind = FailureKind.RESOURCES if isinstance(problem, ResourcesShort) else FailureKind.UNAVAILABLE
            hint = problem.hint[:1].upper() + problem.hint[1:]
            failure = Failure(kind, f"{problem.sentence} {hint}".strip())
            self._finish(action, Answer(failure=failure), 0.0)
            return
        self._conclude(action, request, reader, ended)

    def _begin(self, action: AskAgent, request: Request, word: str, notes: tuple[str, ...]) -> bool:
        """Write that the turn starts. The drawn word stays out of the journal, which every program of this person can read."""
        if not word:
            return self.stepper.begin_turn(action, request.prompt)
        prompt = request.prompt.replace(word, UNKNOWN_WORD)
        return self.stepper.begin_turn(action, prompt, word=agreement.digest(word), notes=notes)

    def _request(self, action: AskAgent, place: Place, word: str) -> Request:
        ask = action.ask
        how = agreement.instructions(ask.agrees_with, word, ask.agrees_if) if word else ""
        parts = (action.prompt, self._work() if ask.shows_work else "", place.where, self._told(ask.role), how)
        return Request(
            prompt="\n\n".join(part for part in parts if part),
            session=action.session,
            session_id=action.session_id,
            fresh_id=str(uuid.uuid4()),
            model=action.agent.model,
            args=action.agent.args,
            system_prompt=ask.system_prompt,
            permissions=action.agent.permissions,
            reviews=ask.role is Role.SUPERVISOR,
            max_cost_usd=action.max_cost_usd,
            command=action.agent.command,
            meters=self.loop.budget.cost_usd is not None or self.loop.budget.tokens is not None,
            prices=self.around.prices,
            folder=place.folder,
        )

    def _told(self, role: Role) -> str:
        """What the agent must know about refusals of its box in the turn before."""
        hosts = self.loop.hosts_refused if role is Role.WORKER else ()
        refused = (*self.hands.refused.pop(role, ()), *(each.sentence for each in hosts))
        return "\n".join((*refused, "Work without that, or say what you need.")) if refused else ""

    def _work(self) -> str:
        from untildone.engine.verdicts import reviewing
        from untildone.gates.review import shown

        return shown.text(reviewing.work(self.stepper.workspace, self.loop))

    def _environment(self, action: AskAgent) -> Mapping[str, str]:
        own = environment(self.around, self.loop.loop_id)
        return {**own, **self.around.profile_environment(action.agent.profile)}

    def _started(self, action: AskAgent, invocation: Invocation, reader: Reader, place: Place) -> Ended:
        """Run the agent. A box that cannot be made is planned anew, once: what it hides or shows may have vanished meanwhile."""
        try:
            return self._run(action, invocation, reader, place)
        except BoxNotMade:
            return self._run(action, invocation, reader, self._place(action))

    def _run(self, action: AskAgent, invocation: Invocation, reader: Reader, place: Place) -> Ended:
        from untildone.engine.boxes import network

        environment = {**self._environment(action), **invocation.env}
        name = f"{self.loop.loop_id}-{action.ask.role.value}"
        with (
            network.connected(place, self.loop.settings, action.agent, environment) as link,
            reports.expected(invocation, action.agent, environment, name) as report,
        ):
            spawn = self._spawn(action, report.invocation, reader, link.place, environment)
            if link.place.box is not None:
                self._refusals = Refusals(link.place.box, spawn.env)
            self.around.guard.ensure()
            ended = process.run(spawn, lambda line: self._take_line(action, reader, line), self.hands.must_stop)
            if line := report.line():
                self._take_line(action, reader, line)
        self._look_for_refusals(ended.stderr_tail.encode(errors="replace"))
        if link.asked:
            self.stepper.write(HostsAsked(action.ask.role, action.iteration, link.asked), sync=False)
        if ended.leftover_group is not None:
            self.hands.groups.add(ended.leftover_group)
        return ended

    def _is_over_budget(self) -> bool:
        """Whether what the agent has used in this turn uses up the dollars or tokens of the loop, as they are limited now."""
        return budgets.spent(self.loop.budget, self.loop.spend.plus(0.0, self._used)) is not None

    def _spawn(
        self, action: AskAgent, invocation: Invocation, reader: Reader, place: Place, environment: Mapping[str, str]
    ) -> Spawn:
        return Spawn(
            argv=place.argv(invocation.argv),
            boxed=invocation.argv[0] if place.box else "",
            env=place.environment(environment),
            cwd=place.folder,
            stdin=invocation.stdin,
            conversation=reader if isinstance(reader, Conversation) else None,
            lines_together=invocation.prints_text,
            spool=self.hands.store.spool(self.loop.loop_id, output_name(action.ask.role, action.iteration)),
            timeout=self.timeout(),
            timeout_now=self.timeout,
            used_up=self._is_over_budget,
            ends_on_sigint=agents.find(action.agent.agent).capabilities.interrupt,
            redactor=self.around.redactor,
            descriptors=place.descriptors,
        )

    def timeout(self) -> float | None:
        """How many seconds the turn may take, by the present budget: it may change while the agent works."""
        loop = self.loop
        limits = (budgets.turn_timeout(loop.budget, loop.spend), self._at_most)
        self.allowed = min((limit for limit in limits if limit is not None), default=None)
        return self.allowed

    def _take_line(self, action: AskAgent, reader: Reader, line: bytes) -> None:
        for event in reader.feed(line):
            self._note(action, event)
        self._look_for_refusals(line)

    def _look_for_refusals(self, output: bytes) -> None:
        if self._refusals is not None and (sentence := self._refusals.take(output)):
            self.hands.observer.agent(Notice(sentence), self.loop)

    def _note(self, action: AskAgent, event: AgentEvent) -> None:
        role, profile = action.ask.role, action.agent.profile
        if isinstance(event, Used):
            self._used = event.usage
            return
        if isinstance(event, SessionKnown):
            known = self.loop.session_of(role, profile)
            if known is None or known.session_id != event.session_id:
                self.stepper.write(SessionOpened(role, profile, event.session_id), sync=False)
        self.hands.observer.agent(event, self.loop)

    def _conclude(self, action: AskAgent, request: Request, reader: Reader, ended: Ended) -> None:
        now = self.around.clock()
        answer = limits.in_local_time(reader.finish(ended.exit_code, ended.stderr_tail, now), now)
        if answer.failure is not None:
            agent, environment = agents.find(action.agent.agent), self._environment(action)
            answer = replace(answer, failure=programs.explained(agent, request, answer.failure, environment))
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
            usage = answer.usage if answer.session_total is None else Usage()
            self.around.site.secure(self.loop, self._title(action), self.around.redactor)
            self.stepper.write(
                TurnInterrupted(action.ask.role, action.iteration, reason, ended.seconds, usage, answer.priced),
                sync=False,
            )
        else:
            self._finish(action, replace(answer, text=answer.text[-KEPT_ANSWER:]), ended.seconds)

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

        transcript = self._transcript(action, answer) if self._may_be_forked(action) else ""
        self.stepper.end_turn(action.ask.role, action.iteration, answer, seconds, look, transcript)

    def _may_be_forked(self, action: AskAgent) -> bool:
        """Whether a reviewer may be a fork of the session of this turn."""
        return self.loop.settings.review and action.ask.role is Role.WORKER and self._is_forkable(action)

    def _transcript(self, action: AskAgent, answer: Answer) -> str:
        """The digest of the transcript after this turn, if it can be vouched for."""
        from untildone.engine.verdicts import transcripts

        session = self.loop.session_of(Role.WORKER, action.agent.profile)
        session_id = answer.session_id or (session.session_id if session else None)
        record = self._record(action, session_id) if session_id and answer.failure is None else None
        before = session.transcript if session and action.session is SessionUse.RESUME else None
        return transcripts.vouched(record, before, (self._prompt,)) if record else ""

    def _record(self, action: AskAgent, session_id: str) -> SessionRecord | None:
        choice = action.agent
        return agents.find(choice.agent).record(session_id, self._environment(action), choice.args)

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


def draw_word() -> str:
    """A word for one question to a reviewer: nothing that was written before can contain it."""
    return "".join(secrets.choice(LETTERS) for _ in range(WORD_LENGTH))


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
