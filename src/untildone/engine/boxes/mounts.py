"""The mounts of an agent's box."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from untildone.engine.boxes import Plan, expanded
from untildone.engine.boxes.home_mounts import written_by_agents
from untildone.engine.boxes.mounted import by_path, place_of, topmost_at
from untildone.engine.boxes.own_files import text_of
from untildone.engine.boxes.work_mounts import WorkMounts
from untildone.system.box import common_mounts, sandbox
from untildone.system.box.sandbox import Access, Mount, Problem
from untildone.workspace.rooms.toolchain.caches import is_below


@dataclass(frozen=True, slots=True)
class Made:
    """The mounts of a box, and the variables that mean nothing in it."""

    mounts: tuple[Mount, ...]
    without: frozenset[str]
    variables: Mapping[str, str]
    """Variables by which programs find their copies of files."""
    links: Mapping[str, str]
    """See `Box.links`."""
    parts: Mapping[str, tuple[str, tuple[str, ...]]]
    """See `Box.parts`."""


def unusable(plan: Plan) -> Problem | None:
    """Why no box can be made for a plan; None: one can."""
    chosen = (*plan.settings.allow_write, *plan.settings.allow_read)
    if plan.root == os.sep:
        return Problem("A box cannot protect anything if the workspace is the whole file system.", "work in a folder")
    if not chosen:
        return None
    written = written_by_agents(plan)
    own = [path for path in map(os.path.realpath, plan.hidden) if not is_below(plan.root, path)]
    for path in chosen:
        full = expanded(path, plan)
        if not os.path.exists(full):
            return Problem(
                f"The path {full}, which agents in the sandbox may use, does not exist.", "create it, or leave it out"
            )
        real = os.path.realpath(full)
        if any(is_below(real, path) for path in own):
            return Problem(f"The path {full} belongs to untildone, and no agent may reach it.", "leave it out")
        if written.lead_astray(full):
            return Problem(
                f"The path {full} leads to {real} by a link that agents can change, so they may not use it.",
                f"name {real} itself",
            )
    return None


def mounts(plan: Plan) -> Made:
    """The mounts of a box, in layers: a later one lies on top of an earlier one at the same path."""
    maker = WorkMounts(plan)
    covered = (
        *sandbox.system_read_only(),
        *common_mounts.devices(),
        *maker.private(),
        *maker.of_system(),
        *maker.of_home(),
        *maker.of_projects(),
        *maker.caches(),
    )
    made = (
        *covered,
        *maker.needed(covered),
        *maker.others(),
        *maker.work(),
        *maker.of_agent(),
    )
    made = (*made, *maker.allowed(made))
    together = (*made, *maker.own_program(made), *maker.ours(), *plan.connection.mounts)
    kept = tuple({mount.path: mount for mount in together if not _is_covered(mount, plan)}.values())
    made = (*kept, *maker.sockets(kept))
    variables = {**maker.variables, **maker.unsigned()}
    # What a link leads to is not read: an agent may have made it, and would find the content in the place of the link.
    partly = (each for each in plan.needs.partly if not os.path.islink(each.path))
    parts = {place_of(each.path): (text_of(each.path) or "", each.fields) for each in partly}
    return Made((*made, *_pins(made, plan, maker.links)), maker.without(kept), variables, maker.links, parts)


def concealed(plan: Plan) -> tuple[Mount, ...]:
    """What hides from a room everything that the box of the plan hides, with what the box shows inside of that."""
    maker = WorkMounts(plan)
    covered = (Mount(Access.READ, os.sep), *maker.of_system(), *maker.of_home(), *maker.of_projects())
    made = (*covered, *maker.needed(covered), *maker.others())
    together = {mount.path: mount for mount in (*made, *maker.readable(made), *maker.ours())}
    # A room has a home folder of its own.
    chosen = [mount for path, mount in together.items() if path != maker.home and not is_below(path, plan.root)]
    hidden = [mount for mount in chosen if mount.access in (Access.HIDDEN, Access.EMPTY)]
    inside = (
        mount
        for mount in chosen
        if mount.access is Access.READ
        and (mount.source not in ("", mount.path) or any(is_below(mount.path, each.path) for each in hidden))
    )
    return (*hidden, *inside)


def _pins(made: tuple[Mount, ...], plan: Plan, links: Collection[str]) -> Iterator[Mount]:
    """The folders between a writable folder and what is protected inside of it, each as a mount of its own. A program may not rename
    a mount, but it may rename the folder around it and put another one in its place. `links` are put back where they are."""
    mounted = by_path(made)
    taken = set(mounted)
    protected = (*(mount.path for mount in made if mount.access is not Access.WRITE), *links)
    for path in (os.path.join(plan.workspace, "."), *protected):
        between = []
        while (path := os.path.dirname(path)) not in taken:
            between.append(path)
        around = topmost_at(path, mounted)
        if around.access is Access.WRITE and not around.source:
            taken.update(between)
            yield from (Mount(Access.WRITE, folder) for folder in between if os.path.isdir(folder))


def _is_covered(mount: Mount, plan: Plan) -> bool:
    """Whether a mount would lie in the checkout that takes the place of the work."""
    return bool(plan.checkout) and mount.path != plan.root and is_below(mount.path, plan.root)
