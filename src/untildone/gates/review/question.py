"""The question to the supervisor about a claim, and the verdict in its answer."""

from __future__ import annotations

from untildone.core.actions import Ask
from untildone.core.claims import has_marker
from untildone.core.loop import Loop, session_key
from untildone.core.model import AgentChoice, Answer, GateResult, Role, SessionUse
from untildone.core.retries import needs_new_session

LONGEST_FEEDBACK = 20_000

_ROLE = """\
You are the supervisor: you judge the work of a coding agent that says it is done. {where}
Look at the files, and at what was asked; do not take the agent's word for anything. You judge and change nothing: no \
file is yours to edit."""
_IN_COPY = "The conversation so far is that agent's; you look from a copy of it."
_FROM_OUTSIDE = "You see what the person asked, the agent's last message and what changed in the workspace."
_VERDICT = """\
If everything that the person asked for is done and done well, answer with this line, with nothing else on it:
{marker}{with_message}
If not, leave that line out. Whatever you write instead is sent to the agent, word for word, as its next message: so \
write to the agent, and say what is missing or wrong and what to do about it."""
_WITH_MESSAGE = "\nor, to add a word for the person, with this one:\n{stem}: your message]"


def ask(loop: Loop, reviewer: AgentChoice | None = None) -> Ask:
    """The question: in a fork of the worker's session, if the agent can fork; else in a new session, with everything it needs."""
    asked = _what_was_asked(loop)
    if _can_fork(loop, reviewer or loop.settings.agent_for(Role.SUPERVISOR)):
        return Ask(Role.SUPERVISOR, asked, SessionUse.FORK, system_prompt(loop, _IN_COPY))
    prompt = f"{asked}\n\n{_what_was_answered(loop)}"
    return Ask(Role.SUPERVISOR, prompt, SessionUse.NEW, system_prompt(loop, _FROM_OUTSIDE), show_diff=True)


def _what_was_asked(loop: Loop) -> str:
    return "What the person asked:\n" + "\n\n".join(loop.everything_asked)


def _what_was_answered(loop: Loop) -> str:
    return f"The agent's last message:\n{loop.last_answer}"


def _can_fork(loop: Loop, reviewer: AgentChoice) -> bool:
    """A fork is useful only if all of the work happened in the one session that is forked."""
    at_work = [key for key in loop.sessions if key.startswith(session_key(Role.WORKER, ""))]
    there = at_work == [session_key(Role.WORKER, reviewer.profile)] and loop.session_of(Role.WORKER, reviewer.profile)
    return bool(there) and "fork" in reviewer.abilities and not needs_new_session(loop, Role.SUPERVISOR)


def system_prompt(loop: Loop, where: str) -> str:
    """The person's SUPERVISOR.md, then what every supervisor must know: how to agree, and where feedback goes."""
    guidance = loop.settings.supervisor_prompt.strip()
    marker = loop.settings.marker.strip()
    bracketed = len(marker) > 2 and marker.startswith("[") and marker.endswith("]")
    with_message = _WITH_MESSAGE.format(stem=marker[:-1]) if bracketed else ""
    parts = (guidance, _ROLE.format(where=where), _VERDICT.format(marker=marker, with_message=with_message))
    return "\n\n".join(part for part in parts if part)


def verdict(loop: Loop, answer: Answer) -> GateResult:
    """The marker alone on a line is agreement; anything else is feedback, an echo of the instructions included."""
    own_words = answer.text.replace(_what_was_answered(loop).strip(), "")
    instructions = "\n\n".join((system_prompt(loop, ""), _what_was_asked(loop)))
    agreed = has_marker(own_words, loop.settings.marker, instructions)
    if agreed is not None:
        return GateResult("review", "", passed=True, tail=agreed.message or "")
    feedback = answer.text.strip()
    if len(feedback) > LONGEST_FEEDBACK:
        feedback = feedback[:LONGEST_FEEDBACK].rstrip() + " …"
    return GateResult("review", "", passed=False, tail=feedback, reason="the supervisor asks for more")
