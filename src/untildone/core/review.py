"""The supervisor as a gate: what it is asked, and what its answer means."""

from __future__ import annotations

from untildone.core.actions import Ask
from untildone.core.claims import has_marker
from untildone.core.loop import Loop
from untildone.core.model import Answer, GateResult, Role, SessionUse


def ask(loop: Loop) -> Ask:
    """A fork of the worker's session looks, if the agent can fork; else a fresh reviewer who is shown everything."""
    guidance = str(loop.settings.options.get("supervisor_prompt", ""))
    supervisor = loop.settings.agent_for(Role.SUPERVISOR)
    forked = "fork" in supervisor.abilities and loop.session_of(Role.WORKER, supervisor.profile) is not None
    words = "\n\n".join(loop.asked)
    if forked:
        return Ask(Role.SUPERVISOR, f"What the person asked:\n{words}", SessionUse.FORK, guidance)
    prompt = f"What the person asked:\n{words}\n\nThe agent's last message:\n{loop.last_answer}"
    return Ask(Role.SUPERVISOR, prompt, SessionUse.NEW, guidance, show_diff=True)


def result(loop: Loop, answer: Answer) -> GateResult:
    """The marker alone on a line is agreement; anything else is feedback."""
    agreed = has_marker(answer.text, loop.settings.marker)
    if agreed is not None:
        return GateResult("review", "", passed=True, tail=agreed.message or "")
    feedback = answer.text.strip() or "The supervisor said nothing."
    return GateResult("review", "", passed=False, tail=feedback, reason="the supervisor asks for more")
