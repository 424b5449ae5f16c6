"""Runs checks on a snapshot of a workspace, in a room, while the workspace stays as it is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from untildone import gates
from untildone.core.actions import GateStep, RunCommand
from untildone.core.errors import StoreError
from untildone.core.loop import Loop
from untildone.core.model import Changes, GateResult, RoomKind
from untildone.core.plugins.gate import CommandRan
from untildone.core.values.value import replace
from untildone.engine import boxes
from untildone.engine.boxes import planning
from untildone.engine.verdicts import gating, judging
from untildone.gates.check import GATE
from untildone.system.box.sandbox import Network, in_network
from untildone.workspace import rooms
from untildone.workspace.look import Workspace
from untildone.workspace.rooms.contents import copy
from untildone.workspace.shadow import NoSnapshot


def run(
    loop: Loop,
    workspace: Workspace,
    hidden: tuple[str, ...],
    base: gating.Room,
    tree: str,
    begin: Callable[[str], None] = lambda _command: None,
) -> tuple[GateResult, ...]:
    """The verdicts of the loop's checks on a snapshot. StoreError if the snapshot is gone."""
    loop = replace(loop, changes=Changes(tree, None, tree))
    needs = [RunCommand(command, loop.settings.check_timeout) for command in loop.settings.checks]
    if _is_sealed(loop):
        findings = judging.Judge(loop, workspace, hidden, base).findings(needs, begin, base.interrupted) or {}
    else:
        findings = _in_a_copy(loop, workspace, base, tree, needs, begin)
    steps = [GateStep(GATE.name, need) for need in needs if need.command in findings]
    gate = gates.gate_of(loop.settings, GATE.name)
    return tuple(gating.run_step(gate, step, loop, findings) for step in steps) if gate else ()


def _is_sealed(loop: Loop) -> bool:
    return bool(loop.start_record) and rooms.best(loop.settings.room) is RoomKind.SEALED


def _in_a_copy(
    loop: Loop,
    workspace: Workspace,
    base: gating.Room,
    tree: str,
    needs: list[RunCommand],
    begin: Callable[[str], None],
) -> dict[str, CommandRan]:
    ran: dict[str, CommandRan] = {}
    with _copied(workspace, tree) as folder:
        room = _boxed(loop, replace(base, folder=folder))
        for need in needs:
            begin(need.command)
            ran[need.command] = replace(gating.run_command(need, room), room=RoomKind.PLAIN)
    return ran


def _boxed(loop: Loop, room: gating.Room) -> gating.Room:
    """The room inside a box, if the agents of the loop run in one: checks run code of theirs."""
    if not boxes.containment(loop.settings).boxed:
        return room
    name = os.path.join(loop.loop_id, "checks")
    box = boxes.box_of(planning.plan_for(loop.settings, room.folder, None, room.environment, name, root=room.folder))
    box = in_network(box, Network.HOST) if loop.settings.room_net else box
    return replace(
        room, argv=lambda command: box.argv(("/bin/sh", "-c", command)), environment=box.environment(room.environment)
    )


@contextmanager
def _copied(workspace: Workspace, tree: str) -> Iterator[str]:
    """A folder elsewhere with the files of a snapshot."""
    shadow = workspace.shadow
    root = shadow.start.root if shadow.start else workspace.path
    with tempfile.TemporaryDirectory(prefix="untildone-", ignore_cleanup_errors=True) as place:
        try:
            made = copy.Copy(shadow, Path(place))
            made.become(tree, shadow.files(tree).keys(), copy.nothing)
        except (OSError, NoSnapshot) as problem:
            raise StoreError(
                f"The snapshot {tree[:12]} cannot be checked out: {problem}.", "look at the disk"
            ) from problem
        below = os.path.join(made.files, os.path.relpath(workspace.path, root))
        os.makedirs(below, exist_ok=True)
        yield os.path.normpath(below)
