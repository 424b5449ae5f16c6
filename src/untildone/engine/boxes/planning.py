"""Plans the box of an agent of a loop: which folders are the work, and what belongs to untildone."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from untildone import agents, modes
from untildone.core.judging.project_tests.keeping_back import share_of
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, LoopSettings
from untildone.core.plugins.agent import Needs
from untildone.core.plugins.agent_io import Request
from untildone.core.receipts.proving import HELD_OUT
from untildone.engine.boxes import Connection, Plan, home_of
from untildone.engine.place import BOXES
from untildone.settings import guidance
from untildone.store import layout, places
from untildone.system import running, state_folder
from untildone.workspace.git import root_of
from untildone.workspace.rooms.toolchain.caches import is_below


def plan_for(
    settings: LoopSettings,
    folder: str,
    choice: AgentChoice | None,
    environment: Mapping[str, str],
    name: str,
    *,
    root: str = "",
    documents: tuple[str, ...] = (),
    checkout: str = "",
    leaves_nothing: bool = False,
    kept_back: Mapping[str, str] | None = None,
    telling: tuple[str, ...] = (),
    connection: Connection | None = None,
    at_terminal: bool = False,
) -> Plan:
    """The plan for an agent that works in `folder`; without an agent, for a check. `name` is that of the box's own files, such as the
    loop's id.

    `root` is the folder whose files are in the loop's snapshots; empty: the top of the repository. `checkout` takes its place;
    with `leaves_nothing` it is writable, and what the agent writes elsewhere can be thrown away.
    `documents` are files of the loop that the agent may read, `kept_back` files of the work that it must not read,
    and `telling` what contains them as well."""
    workspace = os.path.realpath(folder)
    root = _root(workspace, os.path.realpath(root) if root else root_of(workspace) or workspace, environment)
    needs, words = (Needs(), ()) if choice is None else _of_agent(choice, environment)
    return Plan(
        settings=settings,
        workspace=workspace,
        root=root,
        private=os.path.join(state_folder.folder(), BOXES, name),
        environment=environment,
        needs=needs,
        words=words,
        others=tuple(_others(choice.agent if choice else "", needs, environment)),
        hidden=tuple(dict.fromkeys((*hidden(workspace, environment), *_held_out(settings), *telling))),
        documents=documents,
        protected=tuple(_protected(workspace, root, environment, settings.mode)),
        checkout=checkout,
        leaves_nothing=leaves_nothing,
        kept_back=kept_back or {},
        connection=connection or Connection(),
        at_terminal=at_terminal,
    )


def _of_agent(choice: AgentChoice, environment: Mapping[str, str]) -> tuple[Needs, tuple[str, ...]]:
    """What the agent needs, and its command line without a prompt."""
    agent = agents.of(choice)
    request = Request(prompt="", model=choice.model, args=choice.args, command=choice.command)
    return agent.needs(environment, choice.args), agent.invocation(request).reporting_to(None).argv


def _root(workspace: str, root: str, environment: Mapping[str, str]) -> str:
    """The top of the repository of the workspace; the workspace itself if the home folder is in that repository."""
    home = os.path.realpath(home_of(environment))
    return workspace if is_below(home, root) else root


def _others(own: str, own_needs: Needs, environment: Mapping[str, str]) -> Iterator[str]:
    """The folders and files in which the other agents keep their state and login."""
    kept = {*_state(own_needs)}
    for name in agents.own_names():
        if name != own:
            yield from (path for path in _state(agents.find(name).needs(environment, ())) if path not in kept)


def _state(needs: Needs) -> tuple[str, ...]:
    return (*needs.writable, *(file.path for file in needs.copied))


def hidden(workspace: str, environment: Mapping[str, str]) -> Iterator[str]:
    """What belongs to untildone: its state, its settings, and the folders of loops: in and above the workspace, of projects beside it
    and in the home folder, and of running ones."""
    yield state_folder.folder()
    yield state_folder.folder(environment)
    own = places.own_settings(os.environ)
    yield str(own.parent if own.parent.name == "untildone" else own)
    yield from (str(folder / layout.FOLDER) for folder in (Path(workspace), *Path(workspace).parents))
    yield from (entry.root for entry in running.entries() if entry.root)
    for folder in (home_of(environment), os.path.dirname(root_of(workspace) or workspace)):
        yield from glob.glob(os.path.join(glob.escape(folder), "*", layout.FOLDER))


def _held_out(settings: LoopSettings) -> Iterator[str]:
    """The folder of tests that the agent must not see."""
    folder = settings.options.get(HELD_OUT)
    if folder and share_of(folder) is None:
        yield str(folder)


def _protected(workspace: str, root: str, environment: Mapping[str, str], mode: str) -> Iterator[str]:
    """The project's settings of untildone, and the files that its modes read."""
    watched = guidance.watched(Path(workspace), environment, (mode,))
    own = os.path.realpath(root)
    yield from (path for path in watched.paths if os.path.isfile(path) and is_below(os.path.realpath(path), own))


def documents_of(loop: Loop, root: Path | None) -> tuple[str, ...]:
    """The documents of a loop that its agent may read, as the mode says."""
    names = modes.of(loop.settings.mode).documents
    if root is None or not names:
        return ()
    folder = layout.live(root, loop.loop_id).progress
    return tuple(path for name in names if os.path.isfile(path := os.path.join(folder, name)))
