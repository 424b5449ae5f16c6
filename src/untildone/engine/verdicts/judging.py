"""Judges a claim: in which trees the commands of its gates run, and in which room.

The claimed tree is the snapshot of the workspace that gates are to judge. With judge files that the agent changed or added, a command runs
twice: with the originals, and as the agent left them. `core.judging` says which files these are, `workspace.rooms` makes the rooms.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, partial

from untildone.core.actions import RunCommand, RunTrials
from untildone.core.answers import unreachable
from untildone.core.errors import UntilDoneError
from untildone.core.judging.checks.nothing_ran import nothing_ran
from untildone.core.judging.kinds.classify import is_test_source, looks_like_judge
from untildone.core.judging.signs import tampering
from untildone.core.judging.trees import Edit, Remove, Restore, Write
from untildone.core.loop import Loop
from untildone.core.model import GateResult, RoomKind, TestsRule
from untildone.core.plugins.gate import NOT_COMPARED, CommandEnd, CommandRan, Gate
from untildone.core.protection import passing
from untildone.core.receipts.proving import Base, Trial, TrialsRan
from untildone.core.values.hints import Protocol, assert_never
from untildone.core.values.value import dataclass, replace
from untildone.engine.verdicts import comparing, gating, loop_rooms, report_files
from untildone.engine.verdicts.meanwhile import Meanwhile
from untildone.system.box.sandbox import Box, Mount, Network, in_network
from untildone.workspace import programs, rooms
from untildone.workspace.look import Workspace
from untildone.workspace.rooms import Claimed, InPlace, Room, RoomRefused
from untildone.workspace.rooms.refusal import RoomNotMade, RoomVoid, again_if_void, named
from untildone.workspace.shadow import PLAIN, Content, File, NoSnapshot, Shadow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.engine.boxes import Plan

Findings = Mapping[str, CommandRan]
"""The results of commands, by command."""
BWRAP_FAILED = 1
"""The exit code of bubblewrap that could not make what it was asked for."""
MOST_COPIED = 20_000
"""Files of a workspace that is copied more than once, so that trials run at once."""


class Enter(Protocol):
    def __call__(self, tree: str, lane: int = 0, /) -> AbstractContextManager[Room]:
        """Make a room that shows a tree."""


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

    def __init__(
        self,
        loop: Loop,
        workspace: Workspace,
        hidden: tuple[str, ...],
        base: gating.Room,
        carried: Callable[[str], str | None] = lambda _name: None,
    ) -> None:
        """`hidden` are files of untildone outside of its state folder; `base` says how commands are run and ended; `carried` returns what
        the store carries for a loop in a cluster, by name."""
        self._carried = carried
        self._shadow = workspace.shadow
        self._whole = loop
        self._loop = _judged(loop, self._shadow)
        self._base = base
        self._place = workspace.path
        self._hidden = hidden
        self._problem = workspace.problem
        self._compared: comparing.Compared | None = None
        self._signs: tuple[str, ...] = ()
        """What rooms found around the claimed tree."""
        self._meanwhile = Meanwhile(tuple)
        self._report: Callable[[], tuple[str, ...]] = self._signs_of_tree
        """Returns the tampering report about the tree; waits for it if it is made while commands run."""

    def findings(
        self, needs: Sequence[RunCommand], begin: Callable[[str], None], stopped: Callable[[], bool]
    ) -> Findings | None:
        """Run the commands, all of them in one pass after the other. `begin` is called before each; None: `stopped` returned True."""
        try:
            kind = self._kind()
            commands = tuple(need.command for need in needs)
            with self._rooms(kind, commands) as enter:
                passes = self._passes(kind, commands)
                self._look_around(kind, self._signs_of_tree if kind is RoomKind.SEALED else tuple)
                self._report = self._meanwhile.signs if kind is RoomKind.SEALED else self._signs_of_tree
                first = self._pass(needs, enter, passes.first, begin, stopped)
                alone = [need for need in needs if first and _had_nothing(first[need.command], passes)]
                joined = self._pass(alone, enter, passes.wanted, begin, stopped) if first and alone else {}
                rest = [need for need in needs if need not in alone or passes.wanted != passes.second]
                again = bool(passes.second and first and joined is not None and rest)
                second = self._pass(rest, enter, passes.second, begin, stopped) if again else {}
                doubtful = self._doubtful(needs, {**(first or {}), **(joined or {})}, second, passes, kind)
                began = self._pass(doubtful, enter, self._loop.start.tree or "", begin, stopped) if doubtful else {}
                notes = self._meanwhile.programs()
                self._meanwhile.signs()
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
        self, gate: Gate, need: RunTrials, begin: Callable[[int, int, str], None], stopped: Callable[[], bool]
    ) -> TrialsRan | None:
        """Run the trials of a proof. `begin` is called with their progress. None: `stopped` returned True."""
        from untildone.engine.verdicts import authoring, keeping_back, proving

        try:
            kind = self._kind()
            passes = self._passes(kind, self._loop.settings.checks)
            if kind is RoomKind.PLAIN or not passes.first:
                raise RoomRefused(
                    "A proof needs snapshots and a room of its own.", "use --room sealed or --room restored"
                )
            found = self._comparison(self._loop.settings.checks)
            unseen = proving.Unseen(
                keeping_back.contents(self._whole, self._shadow),
                authoring.contents(self._loop, self._shadow, self._carried),
                self._carried,
                self._below,
            )
            planned = gate.trials(proving.work_of(self._loop, found.before, found.after, found.survey, unseen))
            self._look_around(kind)
            with self._rooms(kind, self._loop.settings.checks) as enter:
                ran = proving.run(
                    planned,
                    need,
                    lambda trial, lane: enter(self._trial_tree(trial, found, passes), lane),
                    self._run,
                    begin,
                    lambda: stopped() or self._meanwhile.is_refused,
                    self._most_at_once(kind, found),
                )
                self._meanwhile.programs()
                return ran
        except (UntilDoneError, NoSnapshot) as problem:
            return proving.refused(_refused(problem).problem.removeprefix("could not be judged: "))

    def _most_at_once(self, kind: RoomKind, found: comparing.Compared) -> int:
        """How many trials may run at once. Rooms that are the workspace itself or share the network get into each other's way."""
        alone = kind is not RoomKind.SEALED or self._loop.settings.room_net or len(found.after.files) > MOST_COPIED
        return 1 if alone else len(os.sched_getaffinity(0))

    def _trial_tree(self, trial: Trial, found: comparing.Compared, passes: Passes) -> str:
        start, claimed = self._loop.start.tree or "", self._loop.changes.tree or ""
        match trial.base:
            case Base.START:
                base = start
            case Base.CLAIMED:
                base = self._tree(claimed, start, found.survey.as_changed)
            case Base.JUDGED:
                joined = passes.wanted and passes.wanted in (result.tree for result in self._results(trial.command))
                base = passes.wanted if joined else passes.first
            case _:
                assert_never(trial.base)
        return self._tree(base, start, trial.edits)

    def _results(self, command: str) -> Iterator[GateResult]:
        """What the check of this command said of the claim."""
        return (result for result in self._loop.gates if result.gate == "check" and result.command == command)

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
        from untildone.core.judging.project_tests import hidden_tests
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
        return comparing.below(self._shadow, self._place)

    @cached_property
    def _approved(self) -> frozenset[str]:
        return comparing.approved(self._loop, self._shadow, self._place)

    @cached_property
    def _box(self) -> Box | None:
        """The box for commands that run in place: they run code of the agent, which must not get out of its box this way."""
        from untildone.engine import boxes

        settings = self._loop.settings
        if not boxes.containment(settings).boxed:
            return None
        box = boxes.box_of(self._plan("checks"))
        return in_network(box, Network.HOST) if settings.room_net else box

    def _concealed(self) -> tuple[Mount, ...]:
        """What the box of the loop's agents hides: code of theirs must not read it in a sealed room either."""
        from untildone.engine import boxes

        return boxes.concealed(self._plan("rooms")) if boxes.containment(self._loop.settings).boxed else ()

    def _plan(self, name: str) -> Plan:
        """The plan of a box for commands, with a folder of this name for its own files."""
        from untildone.engine.boxes import planning

        loop, start = self._loop, self._shadow.start
        root, own = start.root if start else "", os.path.join(loop.loop_id, name)
        return planning.plan_for(loop.settings, self._place, None, self._base.environment, own, root=root)

    def _look_around(self, kind: RoomKind, signs: Callable[[], tuple[str, ...]] = tuple) -> None:
        """Compare programs before a command runs where it could change them, else while it runs; then make the tampering report too."""
        self._meanwhile = Meanwhile(lambda: self._check_programs(kind), signs)
        if kind is not RoomKind.SEALED:
            self._meanwhile.programs()

    def _check_programs(self, kind: RoomKind) -> tuple[str, ...]:
        """Raise RoomRefused if a program on PATH is not the one of the start. Returns sentences about new ones."""
        loop = self._loop
        if kind is RoomKind.PLAIN:
            return ()
        found = programs.differences(
            loop_rooms.with_named_programs(self._base.environment, loop, self._place),
            self._place,
            loop_rooms.programs_file(loop_rooms.kept_as(loop, self._place)),
            loop.start_programs,
            self._approved,
        )
        if found is None:
            raise RoomRefused(
                "There is no record of the programs that were on PATH when the loop began.", "use --room plain"
            )
        if found.replaced:
            raise RoomRefused(
                f"Programs are not those that were there when the loop began: {named(found.replaced)}.",
                f"accept them with `untildone approve {loop.loop_id} {shlex.join(found.replaced[:5])}`",
                found.replaced,
            )
        return (f"New programs on PATH: {named(found.new)}.",) if found.new else ()

    def _kind(self) -> RoomKind:
        """The kind of room. Without snapshots from the start on there is only the plain one, unless a person wants another. If only the
        last one fails, there is none: the agent may have seen to that."""
        settings, start = self._loop.settings, self._loop.start
        has_start = bool(start.tree) and not self._loop.start_problem
        if has_start and not self._loop.changes.tree:
            raise RoomRefused(
                f"There is no snapshot of the work. {self._problem}".rstrip(), "look at the disk, then resume"
            )
        if not has_start and settings.room is None:
            return RoomKind.PLAIN
        if not has_start and settings.room is not RoomKind.PLAIN:
            why = self._loop.start_problem or self._problem or "There is no snapshot of the loop's start."
            raise RoomRefused(f"A {settings.room} room needs snapshots. {why}", "use --room plain")
        return rooms.best(settings.room)

    @property
    def _has_trees(self) -> bool:
        """Whether start and claim can be compared."""
        loop = self._loop
        return bool(loop.start.tree and loop.changes.tree) and not loop.start_problem

    def _passes(self, kind: RoomKind, commands: tuple[str, ...]) -> Passes:
        if not self._has_trees:
            return Passes("", notes=tuple(filter(None, (NOT_COMPARED, self._loop.start_problem))))
        start, claimed = self._loop.start.tree or "", self._loop.changes.tree or ""
        comparison = self._comparison(commands)
        found = comparison.survey
        skips = tampering.skipping(comparison.before, comparison.after, found)
        skipping = tuple(path for path in skips if path not in self._approved)
        changed = tuple(file.path for file in found.changed)
        added = tuple(file.path for file in found.added)
        free = self._loop.settings.tests is TestsRule.FREE or kind is RoomKind.PLAIN
        as_changed = self._tree(claimed, start, found.as_changed)
        product = () if free else comparing.product(comparison)
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

    def _comparison(self, commands: tuple[str, ...]) -> comparing.Compared:
        """The claimed tree beside that of the start. Compared once for a claim."""
        # The tampering report may be made in another thread at the same time.
        found = self._compared
        if found is None or found.commands != commands:
            self._compared = found = comparing.compared(self._loop, self._shadow, self._place, commands)
        return found

    def signs(self) -> tuple[str, ...]:
        """The tampering report about the claimed tree, one sentence a sign."""
        return (*self._report(), *self._signs)

    def _signs_of_tree(self) -> tuple[str, ...]:
        return comparing.signs_of(self._loop, self._shadow, lambda: self._comparison(self._loop.settings.checks))

    @contextmanager
    def _rooms(self, kind: RoomKind, commands: tuple[str, ...]) -> Iterator[Enter]:
        """Rooms for the commands. It is entered before the trees are compared: what rooms look at meanwhile takes longer."""
        from untildone.engine.verdicts import keeping_back

        environment = self._base.environment
        if not self._has_trees:
            yield lambda _tree, _lane=0: nullcontext(InPlace(RoomKind.PLAIN, self._place, environment))
            return
        loop = self._loop
        claimed = Claimed(
            loop.start.tree or "",
            loop.changes.tree or "",
            loop.start_record,
            looks_like_judge,
            lambda paths: self._watched(paths, commands),
            self._approved,
        )
        hidden = (*self._hidden, *keeping_back.telling(self._whole, self._shadow))
        concealed = self._concealed() if kind is RoomKind.SEALED else ()
        with loop_rooms.rooms_of(loop, self._shadow, self._place, hidden, concealed).claim(claimed) as claim:
            try:
                # Only the lane that is there at once need not wait for the search of libraries.
                yield lambda tree, lane=0: claim.lane(lane).room(kind, tree, environment, early=not lane)
            finally:
                self._signs = claim.signs

    def _watched(self, paths: Iterable[str], commands: tuple[str, ...]) -> Iterator[str]:
        """The files of a tree to which no command may write while it judges."""
        named = self._comparison(commands).survey.named
        return (path for path in paths if path in named or is_test_source(path))

    def _pass(
        self,
        needs: Sequence[RunCommand],
        enter: Enter,
        tree: str,
        begin: Callable[[str], None],
        stopped: Callable[[], bool],
    ) -> dict[str, CommandRan] | None:
        """Run the commands in a room that shows a tree. None: `stopped` returned True."""
        return again_if_void(lambda: self._pass_once(needs, enter(tree), begin, stopped))

    def _pass_once(
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
                ran[need.command] = report_files.watched(need, self._inside(room), partial(self._run, need, room))
                if stopped():
                    return None
        return ran

    def _run(self, need: RunCommand, room: Room, interrupted: Callable[[], bool] | None = None) -> CommandRan:
        base = self._inside(room)
        stops = interrupted or base.interrupted
        self._meanwhile.begin()
        needless = replace(base, interrupted=lambda: stops() or room.is_void() or self._meanwhile.is_refused)
        ran = self._undisturbed(need, needless, room)
        if not room.holds():
            raise RoomVoid
        if reason := _why_not_made(ran, room.kind):
            raise RoomNotMade(reason)
        failed = ran.end is not CommandEnd.EXITED or bool(ran.exit_code)
        return replace(
            ran, room=room.kind, notes=(*room.notes, *(self._reasons(need.command, ran, room) if failed else ()))
        )

    def _inside(self, room: Room) -> gating.Room:
        """How commands are run in a room."""
        box = None if room.kind is RoomKind.SEALED else self._box
        argv = room.argv if box is None else lambda command: box.argv(room.argv(command))
        environment = room.environment if box is None else box.environment(room.environment)
        return replace(self._base, folder=room.folder, environment=environment, argv=argv)

    def _undisturbed(self, need: RunCommand, base: gating.Room, room: Room) -> CommandRan:
        """Run a command. If it wrote judge files again with the same meaning, as formatters do, once more: then it must not."""
        room.touched()
        ran = gating.run_command(need, base)
        touched = room.touched()
        if touched.same and not touched.changed and ran.end is CommandEnd.EXITED and not ran.exit_code:
            ran = gating.run_command(need, base)
            touched = room.touched()
        return replace(ran, rewrote=(*touched.changed, *touched.same))

    def _reasons(self, command: str, ran: CommandRan, room: Room) -> tuple[str, ...]:
        """Sentences about why a command may fail here only: in this room, with this environment."""
        missed = unreachable.why(ran.tail, room.kind, has_network=self._loop.settings.room_net)
        unset = passing.why(command, ran.tail, self._base.left_out)
        return (*filter(None, (missed, unset)), *room.absent())


def _why_not_made(ran: CommandRan, kind: RoomKind) -> str:
    """Why bubblewrap could not make a sealed room: then one line that it begins with its name is all that was printed. Empty: it could."""
    failed = kind is RoomKind.SEALED and ran.end is CommandEnd.EXITED and ran.exit_code == BWRAP_FAILED
    said = re.fullmatch(r"bwrap: ([^\n]+)", ran.tail.strip()) if failed else None
    return said[1] if said else ""


def _judged(loop: Loop, shadow: Shadow) -> Loop:
    """The loop without tests that are kept back. If nobody can tell which, there is no snapshot to judge."""
    from untildone.engine.verdicts import keeping_back

    try:
        return keeping_back.without(loop, shadow)
    except NoSnapshot:
        return replace(loop, changes=replace(loop.changes, tree=None))


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
