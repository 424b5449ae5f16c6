"""The stop hook of an agent: installs it, and begins, shows and cancels loops inside the agent's own sessions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from untildone import agents, modes, settings
from untildone.core.answers import rounds
from untildone.core.errors import AgentMissing, UsageError
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Urgency
from untildone.core.values.value import dataclass
from untildone.hosts.hook import agent_settings, program
from untildone.store.files import FileStore

DEFAULT_AGENT = agents.DEFAULT
_FIXED = {"context": "continue", "worktree": False, "loop_enabled": True}
"""Settings of every loop in a session: the session is the context, and the agent works in the person's folder."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The result of installing or uninstalling the hook."""

    file: Path
    """The settings file of the agent."""
    notices: tuple[str, ...]
    """Sentences for the person."""
    hint: str = ""
    """The remaining step for the person in the agent."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A loop whose next round is the running turn of a session."""

    loop: Loop
    prompt: str
    """The text to give to the agent; empty if an earlier call gave it."""
    new: bool
    """False if an earlier call for the same prompt had begun the loop."""


def agent_names() -> tuple[str, ...]:
    """The agents that have a stop hook."""
    return agents.hooked_names()


def check_agent(name: str) -> None:
    """Raise UsageError if there is no such agent, or if it has no stop hook."""
    agents.hook_of(name)


def mode_names() -> tuple[str, ...]:
    """The modes whose loops can run inside a session."""
    return modes.in_session()


def session_variables() -> list[str]:
    """The environment variables in which agents give the id of the session to the programs they start."""
    return [variable for name in agent_names() if (variable := agents.hook_of(name).session_variable)]


def typed(agent: str) -> str:
    """What a person types in the agent to begin a loop."""
    return agents.hook_of(agent).typed


def program_file() -> str:
    """The path of the program that the agent runs as its hook."""
    return os.path.abspath(program.__file__)


def install(agent: str, folder: Path, *, for_user: bool) -> Installed:
    """Add the hook to the settings of the agent: those of the folder, or with `for_user` those of all projects."""
    from untildone.workspace.person_git import exclude

    place = agent_settings.installation(agent, folder, os.environ, for_person=for_user)
    notices = agent_settings.install(place)
    if place.file.is_relative_to(folder):
        exclude.hide(str(place.file))
    return Installed(place.file, notices, place.hook.setup.hint)


def uninstall(agent: str, folder: Path, *, for_user: bool) -> Installed:
    """Remove the hook from the settings of the agent."""
    from untildone.workspace.person_git import exclude

    place = agent_settings.installation(agent, folder, os.environ, for_person=for_user)
    # First: `uninstall` may delete the folder, and `reveal` needs it to find the repository.
    exclude.reveal(str(place.file))
    return Installed(place.file, agent_settings.uninstall(place))


def installations(folder: Path) -> tuple[tuple[str, Path], ...]:
    """Agents that have the hook in their settings, each with the settings file."""
    places = (
        agent_settings.installation(agent, folder, os.environ, for_person=for_user)
        for agent in agent_names()
        for for_user in (False, True)
    )
    return tuple((place.agent, place.file) for place in dict.fromkeys(places) if agent_settings.is_installed(place))


def loop_of(store: FileStore, session: str) -> Loop | None:
    """The loop of the session, if it has one that has not ended."""
    from untildone.hosts.hook import beginnings

    return beginnings.loop_of(store, session) if session else None


def loops_of_sessions(store: FileStore) -> tuple[Loop, ...]:
    """All loops that were begun in a session and are not in the history."""
    from untildone.hosts.hook import beginnings

    return beginnings.loops_of_sessions(store)


def cancel(store: FileStore, session: str) -> Loop:
    """Stop the loop of the session at once. Returns the loop as it is afterwards."""
    from untildone.hosts.hook import beginnings
    from untildone.operations import control

    loop = beginnings.loop_of(store, beginnings.checked_session(session))
    if loop is None:
        raise UsageError("This session has no loop.", "`untildone list` shows the loops there are")
    stopped = control.stop(store, loop.loop_id, Urgency.NOW, Outcome.STOPPED)
    beginnings.forget(store, session)
    return stopped


def begin(folder: Path, task: str, session: str, flags: dict[str, Any], prompted_at: float) -> Begun:
    """Begin a new loop in the session; without a task, or with round controls at its start, go on with its paused loop. To one that is
    blocked, the task is the answer.

    `prompted_at` is the time of the person's prompt, 0 if unknown: two hooks may report the same prompt.
    """
    from untildone.hosts.hook import beginnings, presence
    from untildone.operations import stores

    store = stores.open_files(folder, create=True)
    beginnings.checked_session(session)
    with beginnings.one_at_a_time(store):
        present = beginnings.loop_of(store, session)
        if present is not None and present.works_in_session:
            return _begun_already(present, prompted_at)
        if present is not None and (present.outcome is Outcome.BLOCKED or _is_for_loop(task)):
            _resume(store, present, task)
            loop_id = present.loop_id
        else:
            loop_id = create(store, task, folder, session, {**flags, "interactive": False}).loop_id
        holder = presence.of_agent(flags["agent"], os.environ)
        expect_notices(store, loop_id, holder)
        begun = beginnings.take_up(store, loop_id, session, holder)
        return Begun(begun.loop, begun.prompt, new=True)


def expect_notices(store: FileStore, loop_id: str, holder: str) -> None:
    """Send notifications about a loop from now on. The environment of the session's process may name channels that agents do not get."""
    from untildone.hosts.hook import presence
    from untildone.operations.driving import telling

    telling.expect(store, store.load(loop_id), {**presence.environment_of(holder), **os.environ})


def _is_for_loop(task: str) -> bool:
    """Whether the words are for the paused loop of the session, and no new task: none, or round controls at the start."""
    return not task.strip() or bool(rounds.parse(task, 1).changes)


def _begun_already(present: Loop, prompted_at: float) -> Begun:
    """The running loop, if it began after the prompt: then another hook reported the same prompt first."""
    if present.turn is not None and present.turn.started_at > prompted_at > 0:
        return Begun(present, "", new=False)
    used = rounds.progress(present.spend.iterations, present.budget.iterations)
    raise UsageError(
        f"This session has a loop already: {present.loop_id}, round {used}: {present.title}",
        f"{agents.hook_of(present.settings.worker.agent).typed}-cancel ends it",
    )


def _resume(store: FileStore, present: Loop, message: str) -> None:
    from untildone.operations import control

    if message.strip():
        control.say(store, present.loop_id, message)
    control.resume(store, present.loop_id, host=Host.HOOK)


def create(
    store: FileStore, task: str, folder: Path, session: str, flags: dict[str, Any], *, reviewed: bool | None = None
) -> Loop:
    """Create and start a loop in a session. `reviewed` overrules the mode's choice whether a supervisor reviews."""
    from untildone.operations.creating import creation

    chosen = settings.load(folder, {**flags, **_FIXED})
    try:
        return creation.create(
            store, task, chosen, folder, hook_session=session, reviewed=reviewed, host=Host.HOOK, starts=True
        ).loop
    except AgentMissing as problem:
        raise UsageError(problem.sentence, problem.hint) from None
