"""Compares the claimed tree with that of the start: what became of the judge files, and the signs of tampering."""

from __future__ import annotations

import os
from collections.abc import Callable

from untildone.core.judging.checks.commands import files_by_path, in_tree, with_words
from untildone.core.judging.signs import tampering
from untildone.core.judging.signs.tampering import Outside
from untildone.core.judging.survey import Rules, Survey, survey
from untildone.core.judging.trees import Tree
from untildone.core.loop import Loop
from untildone.core.model import RoomKind, TestsRule
from untildone.core.values.value import dataclass
from untildone.workspace import approvals
from untildone.workspace.rooms.toolchain import named_scripts
from untildone.workspace.shadow import NoSnapshot, Shadow


@dataclass(frozen=True, slots=True)
class Compared:
    """What became of the judge files between the start and the claim."""

    commands: tuple[str, ...]
    before: Tree
    after: Tree
    survey: Survey


def compared(loop: Loop, shadow: Shadow, place: str, commands: tuple[str, ...]) -> Compared:
    """Compare the claimed tree with that of the start. Raises NoSnapshot."""
    before, after = (Tree(shadow.files(tree or ""), shadow.read) for tree in (loop.start.tree, loop.changes.tree))
    folder, root = below(shadow, place), shadow.start.root if shadow.start else place
    names = _names_of(root, place, folder)
    named = tuple(in_tree(_by_own_name(command, root, place), names, folder) for command in commands)
    rules = Rules(named, loop.settings.protect, tuple(approved(loop, shadow, place)), folder)
    return Compared(commands, before, after, survey(before, after, rules))


def _by_own_name(command: str, root: str, place: str) -> str:
    """The command with the path of the root in words that lead there by a link."""
    root = os.path.realpath(root)
    below = {word: named_scripts.below(root, word, place, os.environ) for word in files_by_path(command)}
    return with_words(command, {word: os.path.join(root, path) for word, path in below.items() if path is not None})


def _names_of(root: str, place: str, folder: str) -> frozenset[str]:
    """The absolute paths by which a check may name the root of the trees."""
    typed = place.removesuffix(f"/{folder}") if folder else place
    return frozenset((root, os.path.realpath(root), typed))


def below(shadow: Shadow, place: str) -> str:
    """The folder in which checks run, relative to the root of the trees."""
    folder = os.path.relpath(place, shadow.start.root if shadow.start else place)
    return "" if folder == os.curdir else folder


MOST_PRODUCT = 20
"""Changed files of the product that are named."""


def product(comparison: Compared) -> tuple[str, ...]:
    """Sources of the product, in languages whose tests are counted, that differ from the start: no judge files."""
    from untildone.core.judging.project_tests.counting import is_counted_source

    found = comparison.survey
    judged = {file.path for file in (*found.changed, *found.added, *found.approved)}
    before, after = comparison.before.files, comparison.after.files
    differing = (path for path in sorted({**before, **after}) if before.get(path) != after.get(path))
    return tuple(path for path in differing if is_counted_source(path) and path not in judged)[:MOST_PRODUCT]


def approved(loop: Loop, shadow: Shadow, place: str) -> frozenset[str]:
    """The paths whose change a person accepted, and that are as they were then."""
    root = shadow.start.root if shadow.start else place
    if not loop.approved or not loop.changes.tree:
        return approvals.still_hold(loop.approved, loop.approved_contents, root)
    return approvals.hold_in(loop.changes.tree, shadow, loop.approved, loop.approved_contents, root)


def signs(loop: Loop, shadow: Shadow, place: str) -> tuple[str, ...]:
    """The tampering report about the claimed tree, one sentence a sign."""
    return signs_of(loop, shadow, lambda: compared(loop, shadow, place, loop.settings.checks))


def signs_of(loop: Loop, shadow: Shadow, comparison: Callable[[], Compared]) -> tuple[str, ...]:
    if not loop.start.tree or loop.start_problem:
        return ()
    if not loop.changes.tree:
        return ("No snapshot of the work could be taken, so that nobody knows what changed.",)
    try:
        found = comparison()
        report = tampering.report(found.before, found.after, found.survey, _outside(shadow))
        return tuple(sign.sentence for sign in report if sign.path not in _judged_twice(loop, found.survey))
    except NoSnapshot as problem:
        return (f"The work cannot be looked at for signs of tampering: {problem}",)


def _judged_twice(loop: Loop, found: Survey) -> frozenset[str]:
    """Judge files that deceive nobody: the check holds with the originals as well."""
    if loop.settings.tests is TestsRule.FREE or loop.settings.room is RoomKind.PLAIN or not loop.settings.checks:
        return frozenset()
    return frozenset(file.path for file in (*found.changed, *found.added))


def _outside(shadow: Shadow) -> Outside:
    git = tuple((".git", change.sentence.rstrip(".")) for change in shadow.git_changes() if not change.usual)
    ignored = shadow.ignored_changes()
    return Outside(git, (*ignored.new, *ignored.changed))
