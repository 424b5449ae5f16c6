"""What a new loop starts from beside the last commit: uncommitted work, and work of earlier loops that a gate refused."""

from __future__ import annotations

import os
from collections.abc import Iterator

from untildone.core.judging.kinds.classify import looks_like_judge
from untildone.core.loop import Loop
from untildone.core.model import Changes, Outcome, Refused
from untildone.store import Journals
from untildone.workspace.person_git.uncommitted import uncommitted
from untildone.workspace.shadow import NoSnapshot, Shadow
from untildone.workspace.shadow.values import Change

MOST_LOOPS = 20
"""How many loops before this one are looked at."""
MOST_PATHS = 20
"""How many paths of a refused loop are named."""
REVIEW = "review"


def look(store: Journals, loop: Loop, shadow: Shadow, start: Changes) -> tuple[int, tuple[Refused, ...]]:
    """How many files differ from the last commit when a loop starts, and the refused work of earlier loops that is still there."""
    if start.tree is None:
        return 0, ()
    dirty = uncommitted(loop.settings.workspace, shadow, start.tree)
    earlier = [loop_id for loop_id in reversed(store.ids()) if loop_id < loop.loop_id][:MOST_LOOPS]
    folder = os.path.realpath(loop.settings.workspace)
    loops = [each.loop for each in store.survey(earlier) if each.loop is not None and _is_in(folder, each.loop)]
    refused = (_refused(each, shadow, start, dirty) for each in loops if _is_refused(each))
    with_refused_files = [each for each in refused if each is not None]
    return len(dirty or ()), (*with_refused_files, *_unknown(loops, dirty or frozenset()))


def _is_in(folder: str, each: Loop) -> bool:
    """Whether a loop worked in a folder, given by its real path."""
    return each.settings.workspace == folder or os.path.realpath(each.settings.workspace) == folder


def _unknown(loops: list[Loop], dirty: frozenset[str]) -> Iterator[Refused]:
    """Uncommitted judge files, if the last loop here has no valid seal: an agent that deletes our state must not launder its work."""
    judges = tuple(path for path in sorted(dirty) if looks_like_judge(path))
    if loops and loops[0].not_ours and judges:
        yield Refused(loops[0].loop_id, judges[:MOST_PATHS], unknown=True)


def _is_refused(each: Loop) -> bool:
    """Whether a gate refused the work of a loop: the reviewer, or because judge files were changed."""
    if each.outcome is Outcome.VERIFIED or each.not_ours:
        return False
    return any(result.gate == REVIEW or result.tampered for result in each.failed_gates)


def _refused(each: Loop, shadow: Shadow, start: Changes, dirty: frozenset[str] | None) -> Refused | None:
    try:
        paths = tuple(_still_there(each, shadow, start, dirty))
    except NoSnapshot:
        return None
    return Refused(each.loop_id, paths[:MOST_PATHS]) if paths else None


def _still_there(each: Loop, shadow: Shadow, start: Changes, dirty: frozenset[str] | None) -> Iterator[str]:
    """The refused paths whose content is still that of the loop's end, and that were neither approved nor committed since."""
    now = shadow.files(start.tree or "")
    for change in _refused_changes(each, shadow):
        if now.get(change.path) != change.after or change.path in each.approved:
            continue
        committed_since = each.changes.head == each.start.head != start.head
        if dirty is None or change.path in dirty or not committed_since:
            yield change.path


def _refused_changes(each: Loop, shadow: Shadow) -> tuple[Change, ...]:
    """What the loop changed: everything if a reviewer refused it, else the judge files that a check refused."""
    every = shadow.changed(each.start.tree or "", each.changes.tree or "")
    if any(result.gate == REVIEW for result in each.failed_gates):
        return every
    judges = {path for result in each.failed_gates for path in result.tampered}
    return tuple(change for change in every if change.path in judges)
