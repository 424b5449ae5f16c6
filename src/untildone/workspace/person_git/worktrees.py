"""Git worktrees: a loop may work in a worktree of its own, on a branch of its own."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

from untildone.core.errors import UsageError
from untildone.core.loop import Loop
from untildone.core.model import EMPTY
from untildone.system.box.sandbox import Access, Box, Mount
from untildone.workspace.git import GitFailed, git, line_of, never, repository_at
from untildone.workspace.git_links import refuse_outward
from untildone.workspace.person_git.index import LINKED_REPOSITORY, committed

_NOT_FETCHED = re.compile("promisor|not allowed|missing|unable to read")
"""How git says that an object is missing in a partial clone, and that it may not fetch it."""
_LOCAL = {"GIT_ALLOW_PROTOCOL": "file", "GIT_NO_LAZY_FETCH": "1"}
"""For a clone of a folder: what the configuration of that folder names is not fetched."""


def create_worktree(
    repository: str, loop_id: str, folder: Path, box: Box | None = None, wants_out: Callable[[], bool] = never
) -> str:
    """Create a worktree in `folder` on the branch `untildone/<loop_id>`, from the last commit; keep one that exists.

    Filters of the repository run in `box`: an agent may have set them in an earlier loop. They are ended once `wants_out` returns True.
    Returns the folder to work in: the same relative path in the worktree as `repository` has in its own work tree."""
    root, branch, target = repository_at(repository), f"untildone/{loop_id}", os.path.abspath(folder)
    try:
        refuse_outward(root)
        if not git(root, "rev-parse", "--verify", "--quiet", "HEAD", fine=(0, 1)):
            raise UsageError(f"The repository {root} has no commit yet.", "commit something: a worktree starts from it")
        if not _is_worktree(root, target):
            known = git(root, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", fine=(0, 1))
            place = ("--force", target, branch) if known else ("-b", branch, target, "HEAD")
            os.makedirs(target, exist_ok=True)
            git(
                root, "worktree", "add", "--quiet", *place, box=box and _writing(box, root, target), wants_out=wants_out
            )
    except (GitFailed, OSError) as error:
        raise UsageError(f"No worktree can be made in {target}: {error}.", _way_out(root, str(error))) from error
    inside = os.path.normpath(os.path.join(target, os.path.relpath(os.path.realpath(repository), root)))
    return inside if os.path.isdir(inside) else target


def gone(loop: Loop, home: Path) -> UsageError | None:
    """What a person does about a loop whose folder is gone; None: it is there, or on a machine of a cluster. `home` has the loops."""
    place, name = loop.settings.workspace, loop.loop_id
    if loop.settings.remote is not None or os.path.isdir(place):
        return None
    way = f"bring it back, then `untildone resume {name}`"
    if loop.settings.worktree and name in place:
        root, branch = shlex.quote(place.partition(name)[0] + name), f"untildone/{name}"
        back = f"`git -C {shlex.quote(str(home))} worktree add --force {root} {branch}` brings back what was committed"
        files = f"`untildone rewind {name} --to {loop.spend.iterations}` the files of its last round"
        way = f"{back}, then {files}; or `untildone duplicate {name}` begins anew"
    return UsageError(f"The folder {place}, in which the loop works, does not exist.", way)


def _way_out(root: str, problem: str) -> str:
    """What a person does about a worktree that cannot be made."""
    if _NOT_FETCHED.search(problem):
        return f"untildone fetches no objects that are missing here; bring them with: git -C {root} archive HEAD > /dev/null"
    return "name an empty folder"


def _writing(box: Box, folder: str, target: str) -> Box:
    """The box, with one more folder that can be written."""
    return dataclasses.replace(box, folder=folder, mounts=(*box.mounts, Mount(Access.WRITE, target)))


def fill_submodules(
    repository: str, worktree: str, box: Box | None = None, wants_out: Callable[[], bool] = never
) -> tuple[str, ...]:
    """Check out the submodules of a worktree, from the repository's own clones of them: git leaves them empty.

    Programs that these clones name run in `box`. Returns a sentence about those that stay empty."""
    try:
        here, there = repository_at(repository), repository_at(worktree)
        links = {path: entry for path, entry in committed(there).items() if entry.mode == LINKED_REPOSITORY}
        empty = [
            os.fsdecode(path)
            for path, entry in links.items()
            if not _filled(here, there, path, entry.name, box, wants_out)
        ]
    except GitFailed as problem:
        return (f"The submodules of the worktree cannot be checked out: {problem}.",)
    if not empty:
        return ()
    hint = f"`git submodule update --init` in {here} brings them for the next loop"
    return (f"Submodules that are empty in the worktree: {', '.join(empty)}. hint: {hint}",)


def _filled(here: str, there: str, path: bytes, commit: str, box: Box | None, wants_out: Callable[[], bool]) -> bool:
    name = os.fsdecode(path)
    source, target = os.path.join(here, name), os.path.join(there, name)
    if os.path.lexists(os.path.join(target, ".git")):
        return True
    if not os.path.lexists(os.path.join(source, ".git")):
        return False
    try:
        if not git(source, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", fine=(0, 1, 128)):
            return False
        origin = line_of(git(source, "config", "--get", "remote.origin.url", fine=(0, 1)))
        copying = ("clone", "--quiet", "--no-checkout", "--no-recurse-submodules", source, target)
        reached, writes = EMPTY if box else _LOCAL, box and _writing(box, here, there)
        git(here, *copying, remote=True, env=reached, box=writes, wants_out=wants_out)
        if origin:
            git(target, "remote", "set-url", "origin", origin)
        writes = box and _writing(box, target, there)
        git(target, "checkout", "--quiet", "--detach", commit, box=writes, wants_out=wants_out)
    except GitFailed:
        return False
    return not fill_submodules(source, target, box, wants_out)


def _is_worktree(root: str, folder: str) -> bool:
    listed = git(root, "worktree", "list", "--porcelain").splitlines()
    return os.path.isdir(folder) and b"worktree " + os.fsencode(os.path.realpath(folder)) in listed
