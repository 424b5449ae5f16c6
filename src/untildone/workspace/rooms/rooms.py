"""The rooms of one loop: what is written down at its start, and a room for each tree that is judged."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from untildone.core.errors import UsageError
from untildone.core.model import RoomKind
from untildone.core.values.hints import assert_never
from untildone.system import locks, state_folder
from untildone.system.box import sandbox
from untildone.system.box.sandbox import Mount, Network
from untildone.workspace.beside import Beside
from untildone.workspace.rooms import sealed
from untildone.workspace.rooms.around import Around
from untildone.workspace.rooms.claimed import Claimed
from untildone.workspace.rooms.contents import copy, links, repository, shared
from untildone.workspace.rooms.ignored import beside, recording
from untildone.workspace.rooms.ignored.beside import Start
from untildone.workspace.rooms.ignored.comparing import Surroundings
from untildone.workspace.rooms.ignored.recording import Earlier
from untildone.workspace.rooms.refusal import RoomNotMade, RoomRefused, hint_for
from untildone.workspace.rooms.restored import Restorer
from untildone.workspace.rooms.room import File, InPlace, Room, Site, Trees
from untildone.workspace.rooms.sealed import Sealed
from untildone.workspace.rooms.toolchain import outside
from untildone.workspace.rooms.toolchain.library_folders import libraries
from untildone.workspace.rooms.watching import Watch
from untildone.workspace.shadow import NoSnapshot


def best(wanted: RoomKind | None = None) -> RoomKind:
    """The room that is wanted, or the best that this machine has. Raises UsageError if it lacks the wanted one."""
    if wanted is not None and wanted is not RoomKind.SEALED:
        return wanted
    problem = sandbox.problem()
    if not problem:
        return RoomKind.SEALED
    if wanted is RoomKind.SEALED:
        raise UsageError(
            f"There are no sealed rooms on this machine. {problem.sentence}", f"{problem.hint}; or use --room restored"
        )
    return RoomKind.RESTORED


class Rooms:
    """The rooms of one loop."""

    def __init__(
        self,
        trees: Trees,
        loop_id: str,
        workspace: str,
        root: str,
        *,
        environment: Mapping[str, str] = os.environ,
        hidden: tuple[str, ...] = (),
        network: Network = Network.NONE,
        watches_libraries: bool = True,
        shows_repository: bool = True,
        concealed: tuple[Mount, ...] = (),
        named: tuple[str, ...] = (),
    ) -> None:
        """`root` is the folder whose files are in the trees; `hidden` are files and folders of untildone beside its state folder,
        `concealed` is what agents must not read, `named` are words of the checks that may name scripts outside of the workspace.
        `watches_libraries`: whether commands may load libraries; `shows_repository`: whether they find the person's repository."""
        state = Path(os.path.realpath(state_folder.folder(environment)))
        folder = state / "rooms" / loop_id
        real_workspace, real_root = os.path.realpath(workspace), os.path.realpath(root)
        self.trees = trees
        self._watches_libraries = watches_libraries
        self.site = Site(
            folder,
            real_root,
            real_workspace,
            (str(state), *hidden),
            network,
            environment,
            shows_repository,
            concealed,
            named,
        )

    def begin(self, start_tree: str) -> str:
        """Write down what lies beside the tree, before the first turn. Returns a hash of it, for `claim`."""
        try:
            self.site.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            site, files = self.site, self.trees.files(start_tree)
            settings = repository.keep_settings(site.root, site.settings)
            listed = outside.listed(site.root, site.environment, site.scripts)
            found = libraries(site.environment, site.root, files) if self._watches_libraries else {}
            around = recording.Around(listed, found, self.trees.rules_digest(), settings)
            return recording.Recorder(site.start, site.root, Earlier(site.copy, site.environment)).record(files, around)
        except OSError as error:
            raise RoomRefused(f"The rooms of the loop cannot be made: {error}.", hint_for(error)) from error

    @contextmanager
    def claim(self, claim: Claimed) -> Iterator[Claim]:
        """Hold the rooms of the loop while a claim is judged, and look for changes in libraries from now on: nothing of the agent may run
        any more. Raises RoomRefused if another process holds the rooms."""
        try:
            self.site.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = locks.try_lock(self.site.folder / "lock")
        except OSError as error:
            raise RoomRefused(f"The rooms of the loop cannot be used: {error}.", hint_for(error)) from error
        if lock is None:
            raise RoomRefused("Another process judges a claim of this loop.", "wait until it has ended")
        try:
            self.recover()
            with shared.held(self.site) as folder:
                judged = Claim(self.trees, self.site, claim, folder)
                with judged.searching() if self._watches_libraries else nullcontext(), judged.lanes():
                    yield judged
        finally:
            os.close(lock)

    def recover(self) -> tuple[str, ...]:
        """Put back the agent's files if a process ended while a restored room was open. Returns sentences about what was done."""
        return Restorer(self.trees, self.site).recover()

    def discard_restoring(self) -> None:
        """Forget a restored room that a process left open: the files of the workspace have been put back from elsewhere."""
        Restorer(self.trees, self.site).discard()

    def shrink(self) -> None:
        """Remove what rooms left, and keep what was written down at the start: `verify` judges with it again."""
        shared.tidy(self.site)
        kept = {self.site.start.name, self.site.settings.name}
        sealed.remove_layers(self.site)
        copy.remove(self.site.start / beside.OUTPUTS)
        for entry in os.scandir(self.site.folder) if self.site.folder.is_dir() else ():
            if entry.name not in kept:
                copy.remove(Path(entry.path))

    def remove(self) -> None:
        """Remove everything that is kept for the rooms of the loop."""
        sealed.remove_layers(self.site)
        copy.remove(self.site.folder)


@contextmanager
def _refusing() -> Iterator[None]:
    """Refuse the room for an error that prevents it."""
    try:
        yield
    except (OSError, NoSnapshot) as error:
        raise RoomRefused(f"The sealed room cannot be made: {error}.", hint_for(error)) from error


class Claim:
    """Makes the rooms in which the trees of one claim are judged."""

    def __init__(self, trees: Trees, site: Site, claimed: Claimed, folder: Path, around: Around | None = None) -> None:
        """`folder` is where the copy of the workspace is; `around` is that of the claim if this is another lane of it."""
        self._trees = trees
        self._site = site
        self._copy = copy.Copy(trees, folder)
        self._is_first = True
        """Whether no room of the claim was made before."""
        self._claimed = claimed
        self._around = around or Around(trees, site, claimed, lambda: self._start)
        self._lanes: dict[int, Claim] = {}
        self._making = threading.Lock()
        self._tidying: Beside[None] | None = None

    @property
    def signs(self) -> tuple[str, ...]:
        """Sentences for the tampering report about what lies around the tree, as far as it was compared."""
        return self._around.signs

    def lane(self, number: int) -> Claim:
        """Makes rooms that can be open while those of other lanes are. Lane 0 is the claim itself. Only sealed rooms have lanes."""
        if not number:
            return self
        with self._making:
            if number not in self._lanes:
                site = replace(self._site, lane=number)
                site.own.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._lanes[number] = Claim(self._trees, site, self._claimed, site.own, self._around)
            return self._lanes[number]

    @contextmanager
    def lanes(self) -> Iterator[None]:
        """Remove at the end what the other lanes have left."""
        try:
            yield
        finally:
            self._tidied()
            for each in self._lanes.values():
                each.clear()

    def clear(self) -> None:
        """Remove everything that rooms of this lane have left."""
        self._tidied()
        sealed.remove_layers(self._site)
        with suppress(OSError):
            copy.remove(self._site.own)

    def _tidied(self) -> None:
        """Wait until what earlier rooms left is removed."""
        if self._tidying is not None:
            self._tidying.result()

    def _tidy(self) -> None:
        """Remove what earlier rooms left, while commands run."""
        self._tidied()
        self._tidying = Beside(lambda: copy.empty(self._site.away))

    def searching(self) -> AbstractContextManager[None]:
        """Look for changes in libraries, beside everything else."""
        return self._around.searching()

    @contextmanager
    def room(self, kind: RoomKind, tree: str, environment: Mapping[str, str], *, early: bool = False) -> Iterator[Room]:
        """A room that shows `tree`: the claimed tree, that tree with other judge files, or that of the start. `environment` is that of the
        gate.

        `early`: a sealed room may be made while libraries are still searched. What a command did there counts only if the room `holds`."""
        match kind:
            case RoomKind.SEALED:
                try:
                    yield self._sealed(tree, environment, early=early)
                except RoomNotMade:
                    # Code of the agent can print what bubblewrap would: the next room begins without the outputs of this one.
                    self._is_first = True
                    raise
            case RoomKind.RESTORED:
                surroundings = self._around.compared(can_hide=False)
                with Restorer(self._trees, self._site).restored(self._claimed.tree, tree) as notes:
                    self._refuse_links(tree, self._site.root)
                    yield self._in_place(environment, surroundings, notes, self._watch(tree, self._site.root))
            case RoomKind.PLAIN:
                yield InPlace(kind, self._site.workspace, environment)
            case _:
                assert_never(kind)

    def _sealed(self, tree: str, environment: Mapping[str, str], *, early: bool) -> Room:
        with _refusing():
            return self._made(tree, environment, early=early)

    def _made(self, tree: str, environment: Mapping[str, str], *, early: bool) -> Room:
        site, start, around = self._site, self._start, self._around
        sealed.refuse_places(site, environment)
        maker = sealed.Maker(site, start, environment)
        can_hide = maker.has_layers
        # No other room was made: nothing could be left by one that does not hold.
        is_early = early and self._is_first and not around.is_searched
        surroundings = around.so_far(can_hide=can_hide) if is_early else around.compared(can_hide=can_hide)
        files, copied = self._trees.files(tree), self._copy
        # The second room of a claim shows the agent's own tests, which could as well pass without being run. So what code of the agent
        # may have done to outputs in the first one gives it nothing; another claim begins without them.
        # The tree of the start has tests that must not be forged: nothing of the agent is in that room.
        first, self._is_first = self._is_first or tree == self._claimed.start_tree, False
        copied.become(tree, files.keys(), copy.nothing if first else copy.outputs(self._claimed.is_judge))
        if start.has_outputs:
            copied.renew(files.keys(), start.began)
        self._refuse_links(tree, str(copied.files))
        recording.put_back(site.start, start, str(copied.files), files.keys(), with_outputs=first)
        made = maker.make(copied.files, surroundings)
        self._tidy()

        def again() -> sealed.Inside:
            copied.become(tree, files.keys(), copy.outputs(self._claimed.is_judge))
            recording.put_back(site.start, start, str(copied.files), files.keys(), with_outputs=False)
            box, variables = sealed.Maker(site, start, environment).make(copied.files, surroundings, keeps_outputs=True)
            return sealed.Inside(box, variables, self._watch(tree, str(copied.files)))

        def settled() -> tuple[str, ...] | None:
            with _refusing():
                whole = around.compared(can_hide=can_hide)
            if whole.hidden == surroundings.hidden:
                return whole.notes
            # Code of the agent may have used what is hidden now to make outputs of a build: the next room begins without them.
            self._is_first = True
            return None

        inside = sealed.Inside(*made, self._watch(tree, str(copied.files)))
        return Sealed(inside, surroundings.notes, start, again, settled, lambda: around.is_searched)

    def _in_place(
        self, environment: Mapping[str, str], surroundings: Surroundings, notes: tuple[str, ...], watch: Watch
    ) -> Room:
        """The workspace itself. Python compiles everything again: bytecode may not belong to its sources."""
        private = self._site.folder / "bytecode"
        copy.remove(private)
        variables = {**environment, "PYTHONPYCACHEPREFIX": str(private)}
        all_notes = (*notes, *surroundings.notes)
        return InPlace(RoomKind.RESTORED, self._site.workspace, variables, all_notes, watch.touched)

    def _watch(self, tree: str, folder: str) -> Watch:
        files = self._trees.files(tree)
        return Watch(folder, self._claimed.watched(files), files, self._trees)

    def _refuse_links(self, tree: str, folder: str) -> None:
        files, site = self._trees.files(tree), self._site
        links.refuse(files, self._file_at_start, folder, site.root, self._start.began, self._claimed.is_judge)

    @cached_property
    def _start(self) -> Start:
        """What was written down at the start. Raises RoomRefused if an agent wrote to it since."""
        start = beside.load(self._site.start, self._claimed.record)
        now = (self._trees.rules_digest(), repository.settings_digest(self._site.settings))
        if now != (start.rules, start.settings):
            raise RoomRefused(
                "What untildone kept of the workspace at the start of the loop was changed.",
                "start a new loop; nothing but untildone may write to its state folder",
            )
        return start

    def _file_at_start(self, path: str) -> File | None:
        return self._trees.files(self._claimed.start_tree).get(path)
