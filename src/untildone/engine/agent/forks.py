"""Whether a reviewer may be a fork of the worker's session, and whether its transcript can be vouched for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from untildone import agents
from untildone.core.actions import AskAgent
from untildone.core.events import SessionDistrusted
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Answer, Role, SessionUse
from untildone.engine.agent import programs

if TYPE_CHECKING:
    from untildone.core.plugins.transcript import SessionRecord
    from untildone.engine.stepper import Stepper
    from untildone.engine.surroundings import Surroundings


class Forks:
    """The session of a loop's worker, as far as reviewers are concerned."""

    def __init__(
        self, stepper: Stepper, around: Surroundings, environment: Callable[[AskAgent], Mapping[str, str]]
    ) -> None:
        self.stepper = stepper
        self.around = around
        self._environment = environment

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    def distrusts(self, action: AskAgent) -> bool:
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

    def why_fresh(self, action: AskAgent) -> tuple[str, ...]:
        """A sentence for the person if a reviewer that could fork the session does not, because its transcript is not known to be
        unchanged."""
        session = self.loop.session_of(Role.WORKER, action.agent.profile)
        could = action.ask.role is Role.SUPERVISOR and action.session is SessionUse.NEW and self._is_forkable(action)
        if session is None or session.transcript or not could or self._record(action, session.session_id) is None:
            return ()
        return ("A fresh supervisor is asked: the transcript of the agent's session may have been changed.",)

    def _is_forkable(self, action: AskAgent) -> bool:
        """Whether worker and supervisor are the same agent, which can fork its session."""
        settings = self.loop.settings
        is_own = settings.agent_for(Role.SUPERVISOR).profile == settings.worker.profile == action.agent.profile
        return is_own and "fork" in action.agent.abilities and not self._no_copy(action)

    def _no_copy(self, action: AskAgent) -> str:
        """Why this version of the agent cannot be a reviewer that forks the session; empty: it can. In a box, the reviewer's checkout is
        in the place of the workspace; without one it is another folder."""
        from untildone.engine import boxes

        agent = agents.of(action.agent)
        if not agent.versions.forks_elsewhere or boxes.containment(self.loop.settings).boxed:
            return ""
        version = programs.known_version(agent, self._environment(action))
        if agent.versions.can_fork_elsewhere(version):
            return ""
        return f"{agent.program} {version} copies a session only in the folder where it began."

    def may_be_forked(self, action: AskAgent) -> bool:
        """Whether a reviewer may be a fork of the session of this turn."""
        return self.loop.settings.review and action.ask.role is Role.WORKER and self._is_forkable(action)

    def transcript(self, action: AskAgent, answer: Answer, prompt: str) -> str:
        """The digest of the transcript after this turn, if it can be vouched for."""
        from untildone.engine.verdicts import transcripts

        session = self.loop.session_of(Role.WORKER, action.agent.profile)
        session_id = answer.session_id or (session.session_id if session else None)
        record = self._record(action, session_id) if session_id and answer.failure is None else None
        before = session.transcript if session and action.session is SessionUse.RESUME else None
        return transcripts.vouched(record, before, (prompt,)) if record else ""

    def _record(self, action: AskAgent, session_id: str) -> SessionRecord | None:
        choice = action.agent
        return agents.of(choice).record(session_id, self._environment(action), choice.args)
