"""The rooms of a loop over its whole life: what is kept of the start for them, recovered after a crash, and removed at the end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from untildone.core.errors import StoreError, UntilDoneError
from untildone.core.events import WorkspaceSeen
from untildone.core.judging.checks.commands import files_by_path, loads_libraries, programs_by_path
from untildone.core.judging.project_tests.keeping_back import share_of
from untildone.core.loop import Loop
from untildone.core.model import RoomKind
from untildone.core.receipts.proving import HELD_OUT
from untildone.core.values.digest import sha256
from untildone.core.values.value import replace
from untildone.system import state_folder
from untildone.system.box.sandbox import Mount, Network
from untildone.workspace import programs
from untildone.workspace.look import Workspace
from untildone.workspace.rooms import RoomRefused, Rooms
from untildone.workspace.rooms.toolchain.caches import is_below
from untildone.workspace.shadow import NoSnapshot, Shadow


def rooms_of(
    loop: Loop, shadow: Shadow, place: str, hidden: tuple[str, ...], concealed: tuple[Mount, ...] = ()
) -> Rooms:
    """The rooms of a loop. Code under test must not read held-out tests there, nor what is `concealed`: it could print them for the
    agent."""
    root = shadow.start.root if shadow.start else place
    held_out = str(loop.settings.options.get(HELD_OUT) or "")
    is_share = share_of(held_out) is not None
    is_folder = bool(held_out) and not is_share and loop.settings.remote is None
    hidden = (*hidden, held_out) if is_folder else hidden
    network = Network.HOST if loop.settings.room_net else Network.NONE
    watches = loop.settings.room is not RoomKind.PLAIN and any(map(loads_libraries, loop.settings.checks))
    return Rooms(
        shadow,
        kept_as(loop, place),
        place,
        root,
        environment=with_named_programs(os.environ, loop, place),
        hidden=hidden,
        network=network,
        watches_libraries=watches,
        shows_repository=not is_share,
        concealed=concealed,
        named=tuple(path for command in loop.settings.checks for path in files_by_path(command)),
    )


def recorded(seen: WorkspaceSeen, loop: Loop, workspace: Workspace) -> WorkspaceSeen:
    """Write down what lies beside the first snapshot and which programs are on PATH. Returns the event with the hashes of both.

    A record that cannot be written is missing when a claim is judged, and the claim is refused. In a cluster each machine has its own:
    see `StartKept`."""
    if seen.changes.tree is None or loop.settings.remote is not None:
        return seen
    try:
        beside, listed = kept(loop, workspace, seen.changes.tree)
    except (RoomRefused, NoSnapshot, OSError, StoreError):
        return seen
    return replace(seen, record=beside, programs=listed)


def kept(loop: Loop, workspace: Workspace, tree: str) -> tuple[str, str]:
    """Write down what lies beside the snapshot of the start and which programs are on PATH. Returns the hashes of both; empty if no gate
    needs them."""
    settings = loop.settings
    if settings.room is RoomKind.PLAIN or not (settings.checks or settings.gates):
        return "", ""
    beside = rooms_of(loop, workspace.shadow, workspace.path, ()).begin(tree)
    environment = with_named_programs(os.environ, loop, workspace.path)
    return beside, programs.record(environment, workspace.path, programs_file(kept_as(loop, workspace.path)))


def with_named_programs(environment: Mapping[str, str], loop: Loop, place: str) -> Mapping[str, str]:
    """The environment with a PATH that also has the folders of programs which checks name by their path: they judge as those on PATH
    do. Programs in the workspace are not meant: they belong to the tree."""
    words = (path for command in loop.settings.checks for path in programs_by_path(command))
    named = [os.path.normpath(os.path.join(place, os.path.expandvars(os.path.expanduser(word)))) for word in words]
    folders = dict.fromkeys(os.path.dirname(path) for path in named if os.access(path, os.X_OK))
    outside = [folder for folder in folders if not is_below(os.path.realpath(folder), os.path.realpath(place))]
    return {**environment, "PATH": os.pathsep.join((environment.get("PATH", os.defpath), *outside))}


def recover(loop: Loop, workspace: Workspace) -> tuple[str, ...]:
    """Put back the agent's files if a runner died while a restored room was open. Returns sentences about what was done."""
    if not loop.settings.checks or not loop.start.tree or loop.settings.room is RoomKind.PLAIN:
        return ()
    rooms = rooms_of(loop, workspace.shadow, workspace.path, ())
    if loop.settings.remote is None:
        return rooms.recover()
    # The published work was checked out, and may be newer than the claim that was judged.
    rooms.discard_restoring()
    return ()


def shrink(loop: Loop, place: str) -> None:
    """Remove the copies of the workspace that rooms of an ended loop have left."""
    if not loop.settings.checks or not loop.start.tree:
        return
    with suppress(OSError, UntilDoneError, NoSnapshot):
        rooms_of(loop, Shadow(place, loop_id=loop.loop_id), place, ()).shrink()


def forget(loop_id: str, place: str) -> None:
    """Remove everything that was kept for the rooms of a deleted loop, which worked in a place."""
    for name in (loop_id, _in_cluster(loop_id, place)):
        with suppress(OSError, UntilDoneError, NoSnapshot):
            programs_file(name).unlink(missing_ok=True)
            Rooms(Shadow(place, loop_id=loop_id), name, place, place).remove()


def kept_as(loop: Loop, place: str) -> str:
    """The name under which this machine keeps what it knows of the start."""
    return loop.loop_id if loop.settings.remote is None else _in_cluster(loop.loop_id, place)


def _in_cluster(loop_id: str, place: str) -> str:
    """Several machines of a cluster may have one state folder, and each has its own record of a loop's start."""
    return f"{loop_id}-{sha256(os.fsencode(os.path.realpath(place))).hexdigest()[:12]}"


def programs_file(name: str) -> Path:
    return Path(state_folder.folder(), "programs", f"{name}.json")
