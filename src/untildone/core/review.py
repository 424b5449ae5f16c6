"""The supervisor as a gate: what it is asked, and what its answer means."""

from __future__ import annotations

from untildone.core.actions import Ask
from untildone.core.claims import has_marker
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Answer, FailureKind, GateResult, Role, SessionUse

SESSION_IS_OF_NO_USE = (FailureKind.CONTEXT_FULL, FailureKind.UNAVAILABLE)
"""After these, going on in the same session, or in a copy of it, would only fail again."""


def wants_fresh(loop: Loop, role: Role) -> bool:
    retry = loop.retry
    return retry is not None and retry.role is role and retry.failure.kind in SESSION_IS_OF_NO_USE


def ask(loop: Loop, reviewer: AgentChoice | None = None) -> Ask:
    """A fork of the worker's session looks, if the agent can fork; else a fresh reviewer who is shown everything."""
    guidance = str(loop.settings.options.get("supervisor_prompt", ""))
    words = "\n\n".join(loop.asked)
    if _can_fork(loop, reviewer or loop.settings.agent_for(Role.SUPERVISOR)):
        return Ask(Role.SUPERVISOR, f"What the person asked:\n{words}", SessionUse.FORK, guidance)
    prompt = f"What the person asked:\n{words}\n\nThe agent's last message:\n{loop.last_answer}"
    return Ask(Role.SUPERVISOR, prompt, SessionUse.NEW, guidance, show_diff=True)


def _can_fork(loop: Loop, reviewer: AgentChoice) -> bool:
    has_session = loop.session_of(Role.WORKER, reviewer.profile) is not None
    return "fork" in reviewer.abilities and has_session and not wants_fresh(loop, Role.SUPERVISOR)


def result(loop: Loop, answer: Answer) -> GateResult:
    """The marker alone on a line is agreement; anything else is feedback."""
    agreed = has_marker(answer.text, loop.settings.marker)
    if agreed is not None:
        return GateResult("review", "", passed=True, tail=agreed.message or "")
    feedback = answer.text.strip() or "The supervisor said nothing."
    return GateResult("review", "", passed=False, tail=feedback, reason="the supervisor asks for more")
