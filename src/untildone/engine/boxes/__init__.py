"""Boxes of agents: what an agent program can reach, from the settings of its loop and from what the program needs.

- The work tree is writable, the loop's state in it is not there. The rest of the file system is read-only.
- Of the home folder a box shows toolchains, settings of tools without logins, caches (writable), and what is not hidden by a dot.
- `/tmp`, `/var/tmp`, `/run` and `/dev/shm` are the box's own: sockets of programs outside are gone with them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from untildone.core.errors import UsageError
from untildone.core.model import LoopSettings
from untildone.core.plugins.agent import Needs
from untildone.core.protection.sandbox import Containment, Sandbox, SandboxNet
from untildone.system import loading
from untildone.system.box import sandbox, scoping, seccomp
from untildone.system.box.sandbox import Box, Mount

NONE = Needs()


@dataclass(frozen=True, slots=True)
class Connection:
    """How programs in a box reach programs of ours outside, such as a proxy."""

    mounts: tuple[Mount, ...] = ()
    """Socket files that the box shows."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables for programs in the box: `HTTPS_PROXY`, …"""
    launcher: tuple[str, ...] = ()
    """A program in the box that starts the agent, with its arguments: see `Box.launcher`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the box of one agent is made from. All paths are absolute."""

    settings: LoopSettings
    workspace: str
    """The folder in which the agent works, links resolved."""
    root: str
    """The folder whose files are the work: the workspace, or the top of its repository."""
    private: str
    """A folder for the box's own files: its `/tmp`, copies of settings. It may outlive the box."""
    environment: Mapping[str, str]
    """The agent's environment outside of the box."""
    needs: Needs = NONE
    words: tuple[str, ...] = ()
    """The command line. Files that it names are shown."""
    hidden: tuple[str, ...] = ()
    """Folders and files of untildone."""
    others: tuple[str, ...] = ()
    """Folders in which other agents keep their state."""
    documents: tuple[str, ...] = ()
    """Files among the hidden ones that the agent may read."""
    protected: tuple[str, ...] = ()
    """Files of the work tree that the agent may read only: settings of untildone."""
    checkout: str = ""
    """A folder that is shown in the place of the root, read-only; empty: the root itself, writable."""
    kept_back: Mapping[str, str] = field(default_factory=dict)
    """Files of the work, by path below the root, with what the agent finds in their place. Then it finds no repository either, which
    contains them."""
    leaves_nothing: bool = False
    """Whether the checkout is writable, and what the program writes elsewhere goes into layers in `private`."""
    connection: Connection = field(default_factory=Connection)
    at_terminal: bool = False
    """Whether the agent keeps the terminal of the process that starts it."""


def containment(settings: LoopSettings) -> Containment:
    """What holds on this machine for the agents of a loop. UsageError if the person wants a box and there can be none."""
    if settings.sandbox is Sandbox.OFF:
        return Containment(boxed=False)
    problem = sandbox.problem()
    if not problem:
        return Containment(boxed=True, network=settings.sandbox_net)
    if settings.sandbox is Sandbox.ON:
        raise UsageError(f"There is no sandbox here: {problem.sentence}", problem.hint)
    return Containment(boxed=False, reason=f"{problem.sentence.rstrip('.')}; {problem.hint}")


def check(plan: Plan) -> None:
    """UsageError if no box can be made for the plan, for a reason that the person can mend."""
    from untildone.engine.boxes import own_program
    from untildone.engine.boxes.mounts import unusable

    own_program.keep_apart()
    if reason := unusable(plan):
        raise UsageError(reason.sentence, reason.hint)


def box_of(plan: Plan) -> Box:
    """The box of an agent. Creates the folders and files that must exist for it. UsageError if it cannot be made."""
    from untildone.engine.boxes.mounts import mounts

    check(plan)
    made = mounts(plan)
    box = Box(
        plan.workspace,
        made.mounts,
        sandbox.Network.HOST if plan.settings.sandbox_net is SandboxNet.ALL else sandbox.Network.NONE,
        new_session=not plan.at_terminal,
        launcher=plan.connection.launcher,
        variables={**plan.needs.environment, **made.variables, **plan.connection.variables},
        without=made.without,
        outlived=bool(plan.settings.keep_running),
        loading=loading.named(plan.environment),
        links=made.links,
        parts=made.parts,
        filter=seccomp.file(),
    )
    return scoping.scoped(box)


def concealed(plan: Plan) -> tuple[Mount, ...]:
    """What a room must cover, so that code of the agent finds no more there than in the box of the plan."""
    from untildone.engine.boxes import mounts

    return mounts.concealed(plan)


def expanded(path: str, plan: Plan) -> str:
    """A path of the person's settings: `~` is the home folder, and relative paths begin in the workspace."""
    home = home_of(plan.environment)
    path = home + path[1:] if path == "~" or path.startswith("~/") else path
    return os.path.normpath(os.path.join(plan.workspace, path))


def home_of(environment: Mapping[str, str]) -> str:
    return environment.get("HOME") or os.path.expanduser("~")
