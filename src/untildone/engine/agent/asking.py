"""How an agent is asked: the request, where its program runs, and whether a program that is still open can take the turn."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from untildone import agents
from untildone.core import children
from untildone.core.actions import AskAgent
from untildone.core.answers import agreement
from untildone.core.children import SOCKET
from untildone.core.errors import UsageError
from untildone.core.limits import REPORTED
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Role, SessionUse
from untildone.core.plugins.agent_io import Reader, Request
from untildone.core.protection.sandbox import SandboxNet
from untildone.core.retries import needs_new_session
from untildone.core.values.value import dataclass, replace
from untildone.engine import environments
from untildone.engine.agent import programs
from untildone.engine.agent.forks import Forks
from untildone.engine.agent.standby import Key, NextTurn
from untildone.engine.place import Place
from untildone.workspace.shadow import NoSnapshot

if TYPE_CHECKING:
    from untildone.engine.boxes import Plan
    from untildone.engine.process_hands import ProcessHands
    from untildone.system.box.sandbox import Box

LETTERS, WORD_LENGTH = "BCDFGHJKMNPQRSTVWXZ23456789", 10
"""Letters and length of the words that are drawn for reviewers. No letter looks like another, none is a vowel, and a word is too long to
be guessed from its digest."""


@dataclass(frozen=True, slots=True)
class Start:
    """How an agent is asked."""

    action: AskAgent
    request: Request
    reader: Reader
    place: Place
    word: str
    key: Key | None
    """What the process consists of, if it may serve the next turn too."""
    turn: NextTurn | None = None
    """The turn on an open program; None: a new one is started."""


class Asking:
    """Prepares one turn."""

    def __init__(self, hands: ProcessHands) -> None:
        self.hands = hands
        self.stepper = hands.stepper
        self.around = hands.around
        self.forks = Forks(self.stepper, self.around, self.environment)
        self._known: dict[AgentChoice, Mapping[str, str]] = {}
        """The environments of the agents that were asked for."""
        self._refused_notes = ""
        """What the agent must know about refusals of its box in the turn before."""

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    def environment(self, action: AskAgent) -> Mapping[str, str]:
        """The environment of an agent outside of its box."""
        sockets = self._sockets(action)
        more = {SOCKET: sockets[0]} if sockets else {}
        if action.agent not in self._known:
            self._known[action.agent] = environments.of_agent(self.around, self.loop, action.agent)
        return {**self._known[action.agent], **more}

    def _sockets(self, action: AskAgent) -> tuple[str, ...]:
        """The socket by which the worker reaches loops of its own, if it may have any."""
        is_worker = action.ask.role is Role.WORKER
        return (self.hands.loops_socket,) if is_worker and self.hands.loops_socket else ()

    def start(self, action: AskAgent) -> Start:
        """How the agent is asked: by the program that is still open, if that can take the turn, or by a new one."""
        word, plan = draw_word() if action.ask.agrees_with else "", self.plan(action)
        self._refused_notes = self._refused_before(action.ask.role)
        return self._on_open_program(action, plan, word) or self._on_new_program(action, plan, word)

    def _on_open_program(self, action: AskAgent, plan: Plan | None, word: str) -> Start | None:
        standby = self.hands.standby
        if standby.is_empty:
            return None
        if not self._may_be_warm(action):
            standby.end()
            return None
        action = self._continued(action)
        request = self._complete(action, Place(self.stepper.place), word)
        key = self._key(action, request, plan)
        turn = standby.next_turn(key, request)
        return None if turn is None else Start(action, request, turn.talk, turn.warm.link.place, word, key, turn)

    def _on_new_program(self, action: AskAgent, plan: Plan | None, word: str) -> Start:
        place = self.place(action, plan)
        request = self._complete(action, place, word)
        key = self._key(action, request, plan) if request.stays else None
        return Start(action, request, agents.of(action.agent).reader(request), place, word, key)

    def _continued(self, action: AskAgent) -> AskAgent:
        """The action, in the session that the agent's program has still open, if no other process could open it again."""
        resumes = action.ask.session is SessionUse.RESUME and not needs_new_session(self.loop, action.ask.role)
        held = self.hands.standby.session(action.agent) if resumes else ""
        known = self.loop.session_of(action.ask.role, action.agent.profile)
        if not held or known is None or known.session_id != held or action.session is not SessionUse.NEW:
            return action
        return replace(action, session=SessionUse.RESUME, session_id=held)

    def _key(self, action: AskAgent, request: Request, plan: Plan | None) -> Key:
        from untildone.engine.boxes import network

        neutral = replace(
            request, prompt="", session=SessionUse.NEW, session_id=None, fresh_id="", max_cost_usd=None, stays=True
        )
        settings, environment = self.loop.settings, self.environment(action)
        named = plan is not None and settings.sandbox_net is SandboxNet.HOSTS
        return Key(
            action.agent,
            agents.of(action.agent).invocation(neutral),
            environment,
            self.stepper.place,
            plan,
            network.allowed(settings, action.agent, environment) if named else None,
        )

    def plan(self, action: AskAgent) -> Plan | None:
        """What the box of an agent in the workspace is made from; None: there is none, or the agent has its own checkout. UsageError if
        there can be none, and there must be one."""
        from untildone.engine import boxes
        from untildone.engine.boxes import Connection, planning
        from untildone.system.box.sandbox import Access, Mount

        workspace, loop = self.stepper.workspace, self.loop
        if action.ask.role in (Role.SUPERVISOR, Role.AUTHOR):
            return None
        stubs, telling = self._kept_back()
        if not boxes.containment(loop.settings).boxed:
            if stubs:
                raise UsageError("Tests can be kept back only from an agent in a box.", "use --sandbox on")
            return None
        return planning.plan_for(
            loop.settings,
            workspace.path,
            action.agent,
            self.environment(action),
            loop.loop_id,
            root=workspace.shadow.start.root if workspace.shadow.start else "",
            documents=planning.documents_of(loop, self.hands.store.root),
            connection=Connection(tuple(Mount(Access.WRITE, path) for path in self._sockets(action))),
            kept_back=stubs,
            telling=telling,
        )

    def _kept_back(self) -> tuple[Mapping[str, str], tuple[str, ...]]:
        """Stubs for the tests that are kept back, and paths of other files that reveal these tests. UsageError if the tests are unknown."""
        from untildone.engine.verdicts import keeping_back

        try:
            shadow = self.stepper.workspace.shadow
            return keeping_back.stubs(self.loop, shadow), keeping_back.telling(self.loop, shadow)
        except NoSnapshot as problem:
            raise UsageError(str(problem), "name a folder with --held-out, or leave it out") from problem

    def place(self, action: AskAgent, plan: Plan | None) -> Place:
        """Where the agent runs: reviewers and authors in a checkout of their own, all others in the workspace.

        UsageError if there is no box for it."""
        from untildone.engine import boxes
        from untildone.engine.verdicts import authoring, reviewing

        checkouts = {Role.SUPERVISOR: reviewing.place, Role.AUTHOR: authoring.place}
        if own := checkouts.get(action.ask.role):
            return own(self.stepper.workspace, self.loop, action.agent, self.environment(action))
        return Place(self.stepper.place, None if plan is None else boxes.box_of(plan))

    def _complete(self, action: AskAgent, place: Place, word: str) -> Request:
        """The request, with the version of the program if that matters."""
        agent = agents.of(action.agent)
        request, environment = self._request(action, place, word), self.environment(action)
        return programs.with_version(agent, request, environment, lambda: self.box_for_version(action))

    def box_for_version(self, action: AskAgent) -> Box | None:
        """The box in which the program of an agent says its version; None: agents have none. UsageError if there can be none."""
        return programs.box_for(self.loop, self.stepper.place, action.agent, self.environment(action))

    def _request(self, action: AskAgent, place: Place, word: str) -> Request:
        ask = action.ask
        how = agreement.instructions(ask.agrees_with, word, ask.agrees_if) if word else ""
        work = self._work() if ask.shows_work else ""
        parts = (action.prompt, self._own_loops(action), work, place.where, self._refused_notes, how)
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
            goal=ask.role is Role.WORKER and self.loop.settings.native_goal,
            max_cost_usd=action.max_cost_usd,
            command=action.agent.command,
            meters=any(limit.of(self.loop.budget) is not None for limit in REPORTED),
            prices=self.around.prices,
            folder=place.folder,
            stays=self._may_stay(action),
        )

    def _own_loops(self, action: AskAgent) -> str:
        """What a worker with a new session must know about loops of its own."""
        most = children.may_start(self.loop) if self._sockets(action) else 0
        if not most or action.session is not SessionUse.NEW:
            return ""
        return (
            f"You may hand parts of this job to up to {most} loops of your own: `untildone child --help` says how. Each works in "
            "a git worktree from the last commit, within a share of your budget. Commit before you start one, and take its work "
            "over from its diff."
        )

    def _may_stay(self, action: AskAgent) -> bool:
        """Whether the program may serve a next turn too, if there is one."""
        most = self.loop.own_budget.iterations
        return self._may_be_warm(action) and (most is None or action.iteration < most)

    def _may_be_warm(self, action: AskAgent) -> bool:
        """Whether one process may serve several turns. Not if a reviewer may fork the session: then its transcript must be whole after
        each turn, which only the end of the process proves. Nor if the program has a goal of its own, which lives in its session."""
        able = agents.of(action.agent).capabilities.warm and self.hands.standby.is_on
        is_own = action.ask.role is Role.WORKER and action.session is not SessionUse.FORK
        return able and is_own and not self.loop.settings.native_goal and not self.forks.may_be_forked(action)

    def _refused_before(self, role: Role) -> str:
        hosts = self.loop.hosts_refused if role is Role.WORKER else ()
        refused = (*self.hands.refused.pop(role, ()), *(each.sentence for each in hosts))
        return "\n".join((*refused, "Work without that, or say what you need.")) if refused else ""

    def _work(self) -> str:
        from untildone.engine.verdicts import reviewing
        from untildone.gates.review import shown

        return shown.text(reviewing.work(self.stepper.workspace, self.loop))


def draw_word() -> str:
    """A word for one question to a reviewer: nothing that was written before can contain it."""
    return "".join(secrets.choice(LETTERS) for _ in range(WORD_LENGTH))
