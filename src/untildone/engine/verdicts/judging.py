"""Judges a claim: in which trees the commands of its gates run, and in which room.

The claimed tree is the snapshot of the workspace that gates are to judge. With judge files that the agent changed or added, a command runs
twice: with the originals, and as the agent left them. `core.judging` says which files these are, `workspace.rooms` makes the rooms.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path

from untildone.core.actions import RunCommand, RunTrials
from untildone.core.answers import unreachable
from untildone.core.errors import StoreError, UntilDoneError
from untildone.core.events import WorkspaceSeen
from untildone.core.judging import tampering
from untildone.core.judging.classify import is_test_source, looks_like_judge
from untildone.core.judging.commands import loads_libraries
from untildone.core.judging.nothing_ran import nothing_ran
from untildone.core.judging.survey import Rules, Survey, survey
from untildone.core.judging.tampering import Outside
from untildone.core.judging.trees import Edit, Remove, Restore, Tree, Write
from untildone.core.loop import Loop
from untildone.core.model import RoomKind, TestsRule
from untildone.core.plugins.gate import NOT_COMPARED, CommandEnd, CommandRan, Gate
from untildone.core.receipts.proving import HELD_OUT, Base, Trial, TrialsRan
from untildone.core.values.hints import assert_never
from untildone.core.values.value import dataclass, replace
from untildone.engine.verdicts import gating
from untildone.system import state_folder
from untildone.system.box.sandbox import Box, Network, in_network
from untildone.workspace import approvals, programs, rooms
from untildone.workspace.look import Workspace
from untildone.workspace.rooms import Claimed, InPlace, Room, RoomRefused, Rooms
from untildone.workspace.rooms.refusal import named
from untildone.workspace.shadow import PLAIN, Content, File, NoSnapshot, Shadow

Findings = Mapping[str, CommandRan]
"""The results of commands, by command."""
Enter = Callable[[str], AbstractContextManager[Room]]
"""Makes a room that shows a tree."""


@dataclass(frozen=True, slots=True)
class Passes:
    """The trees in which the commands of one claim run."""

    first: str
    second: str = ""
    """With the judge files as the agent left them; empty: one run is enough."""
    changed: tuple[str, ...] = ()
    """Existing judge files that the agent changed, and that no person approved."""
    added: tuple[str, ...] = ()
    skipping: tuple[str, ...] = ()
    """Files of the product that skip the tests which call them."""
    notes: tuple[str, ...] = ()
    wanted: str = ""
    """As the first, with new judge files that count if nothing runs without them; empty: there are none."""
    modules: frozenset[str] = frozenset()
    """New modules that judge files of the start import, and that are not in the first tree."""
    product: tuple[str, ...] = ()
    """Files of the product that the agent changed; empty if tests may change."""


class Judge:
    """Runs the commands of gates for one claim of a loop."""

    def __init__(self, loop: Loop, workspace: Workspace, hidden: tuple[str, ...], base: gating.Room) -> None:
        """`hidden` are files of untildone outside of its state folder; `base` says how commands are run and ended."""
        self._loop = loop
        self._shadow = workspace.shadow
        self._base = base
        self._place = workspace.path
        self._hidden = hidden
        self._problem = workspace.problem
        self._compared: Compared | None = None

    def findings(
        self, needs: Sequence[RunCommand], begin: Callable[[str], None], stopped: Callable[[], bool]
    ) -> Findings | None:
        """Run the commands, all of them in one pass after the other. `begin` is called before each; None: `stopped` returned True."""
        try:
            kind = self._kind()
            commands = tuple(need.command for need in needs)
            with self._rooms(kind, commands) as enter:
                passes = self._passes(kind, commands)
                notes = self._check_programs(kind)
                first = self._pass(needs, enter(passes.first), begin, stopped)
                alone = [need for need in needs if first and _had_nothing(first[need.command], passes)]
                joined = self._pass(alone, enter(passes.wanted), begin, stopped) if first and alone else {}
                rest = [need for need in needs if need not in alone or passes.wanted != passes.second]
                again = bool(passes.second and first and joined is not None and rest)
                second = self._pass(rest, enter(passes.second), begin, stopped) if again else {}
                doubtful = self._doubtful(needs, {**(first or {}), **(joined or {})}, second, passes, kind)
                began = self._pass(doubtful, enter(self._loop.start.tree or ""), begin, stopped) if doubtful else {}
        except (UntilDoneError, NoSnapshot) as problem:
            return dict.fromkeys((need.command for need in needs), _refused(problem))
        if first is None or second is None or joined is None or began is None:
            return None
        passes = replace(passes, notes=(*passes.notes, *notes))
        results = {command: replace(ran, tree=passes.first) for command, ran in first.items()}
        results |= {command: replace(ran, tree=passes.wanted) for command, ran in joined.items()}
        results |= {
            command: replace(results[command], at_start=ran.report, may_hide=passes.product)
            for command, ran in began.items()
        }
        return {command: _joined(ran, second.get(command), passes, kind) for command, ran in results.items()}

    def prove(
        self, gate: Gate, need: RunTrials, begin: Callable[[str], None], stopped: Callable[[], bool]
    ) -> TrialsRan | None:
        """Run the trials of a proof. None: `stopped` returned True."""
        from untildone.engine.verdicts import proving

        try:
            kind = self._kind()
            passes = self._passes(kind, self._loop.settings.checks)
            if kind is RoomKind.PLAIN or not passes.first:
                raise RoomRefused(
                    "A proof needs snapshots and a room of its own.", "use --room sealed or --room restored"
                )
            found = self._comparison(self._loop.settings.checks)
            planned = gate.trials(proving.work_of(self._loop, found.before, found.after, found.survey))
            self._check_programs(kind)
            with self._rooms(kind, self._loop.settings.checks) as enter:
                return proving.run(
                    planned, need, lambda trial: enter(self._trial_tree(trial, found)), self._run, begin, stopped
                )
        except (UntilDoneError, NoSnapshot) as problem:
            return proving.refused(_refused(problem).problem.removeprefix("could not be judged: "))

    def _trial_tree(self, trial: Trial, found: Compared) -> str:
        start, claimed = self._loop.start.tree or "", self._loop.changes.tree or ""
        if trial.base is Base.START:
            return self._tree(start, start, trial.edits)
        return self._tree(self._tree(claimed, start, found.survey.as_changed), start, trial.edits)

    def _doubtful(
        self,
        needs: Sequence[RunCommand],
        ran: Findings,
        again: Findings | None,
        passes: Passes,
        kind: RoomKind,
    ) -> list[RunCommand]:
        """The commands that pass, with tests of which the product may have hidden some. They run on the tree of the start as well."""
        if (
            kind is not RoomKind.SEALED
            or again is None
            or not passes.product
            or self._approved.intersection(passes.product)
        ):
            return []
        from untildone.core.judging import hidden_tests
        from untildone.gates.check import ignored, why_failed

        before, folder = self._comparison(tuple(need.command for need in needs)).before, self._below

        def is_doubtful(need: RunCommand) -> bool:
            found = [each[need.command] for each in (ran, again) if need.command in each]
            report = found[0].report if found else None
            known = ignored.known(self._loop, need.command)
            if report is None or any(why_failed(ignored.of_claim(each, known), need.timeout) for each in found):
                return False
            return hidden_tests.may_hide(before, need.command, report, folder)

        return [need for need in needs if is_doubtful(need)]

    @property
    def _below(self) -> str:
        return below(self._shadow, self._place)

    @cached_property
    def _approved(self) -> frozenset[str]:
        return approved(self._loop, self._shadow, self._place)

    @cached_property
    def _box(self) -> Box | None:
        """The box for commands that run in place: they run code of the agent, which must not get out of its box this way."""
        from untildone.engine import boxes
        from untildone.engine.boxes import planning

        settings, start = self._loop.settings, self._shadow.start
        if not boxes.containment(settings).boxed:
            return None
        name = os.path.join(self._loop.loop_id, "checks")
        root = start.root if start else ""
        box = boxes.box_of(planning.plan_for(settings, self._place, None, self._base.environment, name, root=root))
        return in_network(box, Network.HOST) if settings.room_net else box

    def _check_programs(self, kind: RoomKind) -> tuple[str, ...]:
        """Raise RoomRefused if a program on PATH is not the one of the start. Returns sentences about new ones."""
        loop = self._loop
        if kind is RoomKind.PLAIN:
            return ()
        found = programs.differences(
            self._base.environment, self._place, _programs_file(loop), loop.start_programs, self._approved
        )
        if found is None:
            raise RoomRefused(
                "There is no record of the programs that were on PATH when the loop began.", "use --room plain"
            )
        if found.replaced:
            raise RoomRefused(
                f"Programs on PATH are not those that were there when the loop began: {named(found.replaced)}.",
                f"accept them with `untildone approve {loop.loop_id} {shlex.join(found.replaced[:5])}`",
                found.replaced,
            )
        return (f"New programs on PATH: {named(found.new)}.",) if found.new else ()

    def _kind(self) -> RoomKind:
        """The kind of room. Without snapshots from the start on there is only the plain one, unless a person wants another. If only the
        last one fails, there is none: the agent may have seen to that."""
        settings, start = self._loop.settings, self._loop.start
        has_start = bool(start.tree) and settings.remote is None
        if has_start and not self._loop.changes.tree:
            raise RoomRefused(
                f"There is no snapshot of the work. {self._problem}".rstrip(), "look at the disk, then resume"
            )
        if not has_start and settings.room is None:
            return RoomKind.PLAIN
        if not has_start and settings.room is not RoomKind.PLAIN:
            why = self._problem or "There is no snapshot of the loop's start on this machine."
            raise RoomRefused(f"A {settings.room} room needs snapshots. {why}", "use --room plain")
        return rooms.best(settings.room)

    @property
    def _has_trees(self) -> bool:
        """Whether start and claim can be compared."""
        loop = self._loop
        return bool(loop.start.tree and loop.changes.tree) and loop.settings.remote is None

    def _passes(self, kind: RoomKind, commands: tuple[str, ...]) -> Passes:
        if not self._has_trees:
            return Passes("", notes=(NOT_COMPARED,))
        start, claimed = self._loop.start.tree or "", self._loop.changes.tree or ""
        comparison = self._comparison(commands)
        found = comparison.survey
        skips = tampering.skipping(comparison.before, comparison.after, found)
        skipping = tuple(path for path in skips if path not in self._approved)
        changed = tuple(file.path for file in found.changed)
        added = tuple(file.path for file in found.added)
        free = self._loop.settings.tests is TestsRule.FREE or kind is RoomKind.PLAIN
        as_changed = self._tree(claimed, start, found.as_changed)
        product = () if free else _product(comparison)
        if free or not found.needs_originals:
            return Passes(as_changed, changed=changed, added=added, skipping=skipping, product=product)
        originals = self._tree(claimed, start, found.originals)
        wanted = self._tree(claimed, start, found.with_wanted) if found.wanted else ""
        return Passes(
            originals,
            as_changed,
            changed,
            added,
            skipping,
            (),
            wanted=wanted,
            modules=found.modules,
            product=product,
        )

    def _tree(self, claimed: str, start: str, edits: Sequence[Edit]) -> str:
        if not edits:
            return claimed
        kept = self._shadow.files(start)
        return self._shadow.write_tree(claimed, {edit.path: _content(edit, kept) for edit in edits})

    def _comparison(self, commands: tuple[str, ...]) -> Compared:
        """The claimed tree beside that of the start. Compared once for a claim."""
        if self._compared is None or self._compared.commands != commands:
            self._compared = compared(self._loop, self._shadow, self._place, commands)
        return self._compared

    def signs(self) -> tuple[str, ...]:
        """The tampering report about the claimed tree, one sentence a sign."""
        return _signs(self._loop, self._shadow, lambda: self._comparison(self._loop.settings.checks))

    @contextmanager
    def _rooms(self, kind: RoomKind, commands: tuple[str, ...]) -> Iterator[Enter]:
        """Rooms for the commands. It is entered before the trees are compared: what rooms look at meanwhile takes longer."""
        environment = self._base.environment
        if not self._has_trees:
            yield lambda _tree: nullcontext(InPlace(RoomKind.PLAIN, self._place, environment))
            return
        loop = self._loop
        claimed = Claimed(
            loop.start.tree or "",
            loop.changes.tree or "",
            loop.start_record,
            looks_like_judge,
            lambda path: is_test_source(path) or path in self._comparison(commands).survey.named,
            self._approved,
        )
        with rooms_of(loop, self._shadow, self._place, self._hidden).claim(claimed) as claim:
            yield lambda tree: claim.room(kind, tree, environment)

    def _pass(
        self,
        needs: Sequence[RunCommand],
        entered: AbstractContextManager[Room],
        begin: Callable[[str], None],
        stopped: Callable[[], bool],
    ) -> dict[str, CommandRan] | None:
        ran: dict[str, CommandRan] = {}
        with entered as room:
            for need in needs:
                if ran:
                    room.next_command()
                begin(need.command)
                ran[need.command] = self._run(need, room)
                if stopped():
                    return None
        return ran

    def _run(self, need: RunCommand, room: Room) -> CommandRan:
        box = None if room.kind is RoomKind.SEALED else self._box
        argv = room.argv if box is None else lambda command: box.argv(room.argv(command))
        environment = room.environment if box is None else box.environment(room.environment)
        base = replace(self._base, folder=room.folder, environment=environment, argv=argv)
        ran = self._undisturbed(need, base, room)
        failed = ran.end is not CommandEnd.EXITED or bool(ran.exit_code)
        return replace(ran, room=room.kind, notes=(*room.notes, *(self._reasons(ran, room) if failed else ())))

    def _undisturbed(self, need: RunCommand, base: gating.Room, room: Room) -> CommandRan:
        """Run a command. If it wrote judge files again with the same meaning, as formatters do, once more: then it must not."""
        room.touched()
        ran = gating.run_command(need, base)
        touched = room.touched()
        if touched.same and not touched.changed and ran.end is CommandEnd.EXITED and not ran.exit_code:
            ran = gating.run_command(need, base)
            touched = room.touched()
        return replace(ran, rewrote=(*touched.changed, *touched.same))

    def _reasons(self, ran: CommandRan, room: Room) -> tuple[str, ...]:
        """Sentences about why a command may fail in this room only."""
        missed = unreachable.why(ran.tail, room.kind, has_network=self._loop.settings.room_net)
        return (*((missed,) if missed else ()), *room.absent())


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
    rules = Rules(commands, loop.settings.protect, tuple(approved(loop, shadow, place)), below(shadow, place))
    return Compared(commands, before, after, survey(before, after, rules))


def below(shadow: Shadow, place: str) -> str:
    """The folder in which checks run, relative to the root of the trees."""
    folder = os.path.relpath(place, shadow.start.root if shadow.start else place)
    return "" if folder == os.curdir else folder


MOST_PRODUCT = 20
"""Changed files of the product that are named."""


def _product(comparison: Compared) -> tuple[str, ...]:
    """Sources of the product, in languages whose tests are counted, that differ from the start: no judge files."""
    from untildone.core.judging.counting import is_counted_source

    found = comparison.survey
    judged = {file.path for file in (*found.changed, *found.added, *found.approved)}
    before, after = comparison.before.files, comparison.after.files
    differing = (path for path in sorted({**before, **after}) if before.get(path) != after.get(path))
    return tuple(path for path in differing if is_counted_source(path) and path not in judged)[:MOST_PRODUCT]


def approved(loop: Loop, shadow: Shadow, place: str) -> frozenset[str]:
    """The paths whose change a person accepted, and that are as they were then."""
    root = shadow.start.root if shadow.start else place
    tree = loop.changes.tree if loop.settings.remote is None else None
    if not loop.approved or not tree:
        return approvals.still_hold(loop.approved, loop.approved_contents, root)
    return approvals.hold_in(tree, shadow, loop.approved, loop.approved_contents, root)


def signs(loop: Loop, shadow: Shadow, place: str) -> tuple[str, ...]:
    """The tampering report about the claimed tree, one sentence a sign."""
    return _signs(loop, shadow, lambda: compared(loop, shadow, place, loop.settings.checks))


def _signs(loop: Loop, shadow: Shadow, comparison: Callable[[], Compared]) -> tuple[str, ...]:
    if not loop.start.tree or loop.settings.remote is not None:
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


def rooms_of(loop: Loop, shadow: Shadow, place: str, hidden: tuple[str, ...]) -> Rooms:
    """The rooms of a loop. Code under test must not read held-out tests there: it could print them for the agent."""
    held_out = loop.settings.options.get(HELD_OUT)
    hidden = (*hidden, str(held_out)) if held_out else hidden
    root = shadow.start.root if shadow.start else place
    network = Network.HOST if loop.settings.room_net else Network.NONE
    watches = loop.settings.room is not RoomKind.PLAIN and any(map(loads_libraries, loop.settings.checks))
    return Rooms(shadow, loop.loop_id, place, root, hidden=hidden, network=network, watches_libraries=watches)


def recorded(seen: WorkspaceSeen, loop: Loop, workspace: Workspace) -> WorkspaceSeen:
    """Write down what lies beside the first snapshot and which programs are on PATH. Returns the event with the hashes of both.

    A record that cannot be written is missing when a claim is judged, and the claim is refused."""
    settings = loop.settings
    if seen.changes.tree is None or settings.room is RoomKind.PLAIN or not (settings.checks or settings.gates):
        return seen
    try:
        beside = rooms_of(loop, workspace.shadow, workspace.path, ()).begin(seen.changes.tree)
        listed = programs.record(os.environ, workspace.path, _programs_file(loop))
    except (RoomRefused, NoSnapshot, OSError, StoreError):
        return seen
    return replace(seen, record=beside, programs=listed)


def recover(loop: Loop, workspace: Workspace) -> tuple[str, ...]:
    """Put back the agent's files if a runner died while a restored room was open. Returns sentences about what was done."""
    if not loop.settings.checks or not loop.start.tree or loop.settings.room is RoomKind.PLAIN:
        return ()
    return rooms_of(loop, workspace.shadow, workspace.path, ()).recover()


def shrink(loop: Loop, place: str) -> None:
    """Remove the copies of the workspace that rooms of an ended loop have left."""
    if not loop.settings.checks or not loop.start.tree:
        return
    with suppress(OSError, UntilDoneError, NoSnapshot):
        rooms_of(loop, Shadow(place, loop_id=loop.loop_id), place, ()).shrink()


def forget(loop: Loop) -> None:
    """Remove everything that was kept for the rooms of a deleted loop."""
    place = loop.settings.workspace
    with suppress(OSError, UntilDoneError, NoSnapshot):
        _programs_file(loop).unlink(missing_ok=True)
        rooms_of(loop, Shadow(place, loop_id=loop.loop_id), place, ()).remove()


def _programs_file(loop: Loop) -> Path:
    return Path(state_folder.folder(), "programs", f"{loop.loop_id}.json")


def _content(edit: Edit, start: Mapping[str, File]) -> File | Content | None:
    match edit:
        case Remove():
            return None
        case Restore(path=path):
            return start[path]
        case Write(path=path, content=content):
            return Content(start[path].mode if path in start else PLAIN, content)
        case _:
            assert_never(edit)


def _had_nothing(ran: CommandRan, passes: Passes) -> bool:
    """Whether the command had nothing to run without the new judge files."""
    return bool(passes.wanted) and nothing_ran(ran, passes.modules)


def _joined(ran: CommandRan, again: CommandRan | None, passes: Passes, kind: RoomKind) -> CommandRan:
    """The result of a command over both passes."""
    judged = replace(ran, judge_changed=passes.changed, judge_added=passes.added, skipping=passes.skipping)
    second = None if again is None else replace(again, tree=passes.second, skipping=passes.skipping)
    return replace(judged, room=kind, as_changed=second, notes=(*judged.notes, *passes.notes))


def _refused(problem: Exception) -> CommandRan:
    """The result of a command that could not be judged."""
    sentence, hint = (problem.sentence, problem.hint) if isinstance(problem, UntilDoneError) else (str(problem), "")
    paths = problem.paths if isinstance(problem, RoomRefused) else ()
    said = f"could not be judged: {sentence.rstrip('.')}"
    reason = f"{said} (hint: {hint})" if hint else said
    return CommandRan(CommandEnd.NOT_STARTED, problem=reason, judge_changed=paths)
