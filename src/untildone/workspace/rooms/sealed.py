"""Sealed rooms: a copy of a tree, mounted in the place of the workspace, in a box that shows nothing else of the loop.

- At the workspace's own path lies the copy, so that absolute paths and editable installs mean the copy.
- The rest of the file system is read-only; `/tmp`, `/var/tmp`, `/run` and `/dev/shm` are the room's own; the state of untildone is hidden.
- What agents must not read is hidden: a command runs their code, and prompts contain its output.
- Packages and caches are layers: what a command writes there stays in the room.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from untildone.core.model import RoomKind
from untildone.core.values.digest import sha256
from untildone.system import loading
from untildone.system.box import common_mounts, sandbox, scoping, seccomp
from untildone.system.box.common_mounts import RUNTIME
from untildone.system.box.sandbox import Access, Box, Mount
from untildone.system.keeper import without_ours
from untildone.workspace.astray import Written
from untildone.workspace.rooms import stamps
from untildone.workspace.rooms.contents import copy, home, repository
from untildone.workspace.rooms.ignored import recording
from untildone.workspace.rooms.ignored.beside import Start
from untildone.workspace.rooms.ignored.comparing import Shown, Surroundings
from untildone.workspace.rooms.refusal import RoomRefused, named
from untildone.workspace.rooms.room import SHELL, Site, Touched
from untildone.workspace.rooms.toolchain import caches
from untildone.workspace.rooms.toolchain.caches import is_below
from untildone.workspace.rooms.toolchain.libraries import Hidden
from untildone.workspace.rooms.watching import Watch

PRIVATE = ("/tmp", "/var/tmp")
"""Folders of which a room has its own, on disk."""
OUTPUT = "output-"
"""The beginning of the names of layers over outputs of builds."""
HOME = "/home"
"""The name of the room's own home folder, beside its private folders."""
NEEDED_BY = ("HOME", "PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "NODE_PATH", "JAVA_HOME", "GOROOT", "RUSTUP_HOME",
             "PYENV_ROOT", "NVM_DIR", "LD_LIBRARY_PATH", *caches.NAMED_BY)  # fmt: skip
"""Variables that name folders which a command needs, also if they lie in a folder that is the room's own."""
TEMPORARY = ("TMPDIR", "TMP", "TEMP")
MOST_CHANGED = 5000
"""With more files of a cache changed since the loop began, all of it is left out."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What one command finds in a sealed room."""

    box: Box
    environment: Mapping[str, str]
    watch: Watch


@dataclass(slots=True)
class Sealed:
    """A sealed room."""

    inside: Inside
    notes: tuple[str, ...]
    start: Start
    again: Callable[[], Inside] = field(repr=False)
    """Makes everything anew for another command, but for the outputs of builds."""
    settled: Callable[[], tuple[str, ...] | None] = field(repr=False)
    """Waits until everything is compared that the room shows, and returns `notes`; None: it shows what must be hidden."""
    is_compared: Callable[[], bool] = field(repr=False)
    """Whether `settled` need not wait."""
    folder: str = "/"
    kind: RoomKind = RoomKind.SEALED

    @property
    def environment(self) -> Mapping[str, str]:
        return self.inside.environment

    def argv(self, command: str) -> tuple[str, ...]:
        return self.inside.box.argv((SHELL, "-c", command))

    def next_command(self) -> None:
        self.inside = self.again()

    def touched(self) -> Touched:
        return self.inside.watch.touched()

    def holds(self) -> bool:
        notes = self.settled()
        self.notes = self.notes if notes is None else notes
        return notes is not None

    def is_void(self) -> bool:
        try:
            return self.is_compared() and not self.holds()
        except RoomRefused:
            return True

    def absent(self) -> tuple[str, ...]:
        changed = recording.changes_of_kept(self.start)
        found = [f"{named(self.start.left)} is ignored and is not in the room."] if self.start.left else []
        if changed:
            found.append(f"{named(changed)} is ignored, and is in the room as it was when the loop began.")
        return tuple(found)


class Maker:
    """Makes the box of one sealed room."""

    def __init__(self, site: Site, start: Start, environment: Mapping[str, str]) -> None:
        self._site = site
        self._start = start
        self._environment = without_ours(environment)
        self.has_layers = sandbox.has_layers(str(site.folder))
        self._numbers = iter(range(10_000))
        self._variables: dict[str, str] = {}
        self.notes: list[str] = []

    def make(
        self, files: Path, surroundings: Surroundings, *, keeps_outputs: bool = False
    ) -> tuple[Box, Mapping[str, str]]:
        """The box that shows `files` in the place of the workspace, and the environment for commands in it.

        With `keeps_outputs`, a command finds the outputs of builds as the command before it left them."""
        remove_layers(self._site, keeps_outputs=keeps_outputs)
        needed = tuple(self._needed())
        mounts = (
            *sandbox.system_read_only(),
            *common_mounts.devices(),
            *self._private(),
            *needed,
            *(own_home := self._home()),
            *(mount for mount in self._site.concealed if mount.access is not Access.HIDDEN),
            *(layers := tuple(self._caches(has_home=bool(own_home)))),
            *self._concealed({mount.path for mount in layers}),
            *(Mount(Access.HIDDEN, path) for path in self._hidden()),
            *(Mount(Access.HIDDEN, path) for path in self._sockets([mount.path for mount in needed])),
            Mount(Access.WRITE, self._site.root, str(files)),
            *self._repository(files),
            *(mount for shown in surroundings.shown for mount in self._packages(files, shown)),
            *(mount for hidden in surroundings.hidden for mount in self._libraries(hidden)),
            *self._hidden_inside(files, surroundings),
        )
        box = Box(
            self._site.workspace,
            _topmost(mounts),
            self._site.network,
            loading=loading.named(self._environment),
            filter=seccomp.file(self._site.environment),
        )
        return scoping.scoped(box), {**loading.without(self._environment), **self._variables}

    def _private(self) -> Iterator[Mount]:
        """Folders for temporary files, and what every system keeps in `/run`."""
        empty_temporary(self._site)
        for path in PRIVATE:
            if os.path.isdir(path) and not os.path.islink(path):
                yield Mount(Access.WRITE, path, str(_own(self._site, path)))
        elsewhere = (name for name in TEMPORARY if self._environment.get(name, PRIVATE[0]) not in PRIVATE)
        self._variables.update(dict.fromkeys(elsewhere, PRIVATE[0]))
        yield from common_mounts.runtime(self._site.network, self._environment)

    def _needed(self) -> Iterator[Mount]:
        """Folders around the workspace, and those that the environment names, which would be hidden by the room's own."""
        for folder in (*PRIVATE, RUNTIME):
            if is_below(self._site.root, folder):
                first = os.path.join(folder, os.path.relpath(self._site.root, folder).split(os.sep)[0])
                yield from [Mount(Access.READ, first)] if first != self._site.root else []
        values = (*(self._environment.get(name, "") for name in NEEDED_BY), self._site.environment.get("PATH", ""))
        parts = {part for value in values for part in value.split(os.pathsep) if os.path.isabs(part)}
        work = Written((self._site.root,))
        for path in sorted({os.path.realpath(part) for part in parts if not work.lead_astray(part)}):
            above = next((folder for folder in (*PRIVATE, RUNTIME) if path != folder and is_below(path, folder)), None)
            if above is None or is_below(path, self._site.root) or not os.path.isdir(path):
                continue
            # Programs need what lies beside their folder, such as a library.
            parent = os.path.dirname(path)
            yield Mount(Access.READ, parent if os.path.basename(path) == "bin" and parent != above else path)

    def _home(self) -> tuple[Mount, ...]:
        return home.mounts(_home_of(self._environment), _own(self._site, HOME), self._site.away)

    def _caches(self, *, has_home: bool) -> Iterator[Mount]:
        if not has_home:
            self._variables.update(caches.variables(self._environment, PRIVATE[0]))
        for path in caches.folders(self._environment):
            if any(
                is_below(other, path) or is_below(path, other) for other in (self._site.root, str(self._site.folder))
            ):
                continue
            yield from self._cache(path)

    def _concealed(self, caches: Collection[str]) -> Iterator[Mount]:
        """What is hidden. In the place of a cache lies an empty one, which can be written."""
        for mount in self._site.concealed:
            if mount.access is Access.HIDDEN:
                yield replace(mount, access=Access.EMPTY) if mount.path in caches else mount

    def _cache(self, path: str) -> Iterator[Mount]:
        if not self.has_layers:
            return
        layer = self._layer(path)
        yield layer
        for below in caches.results(self._environment, path):
            changed = self._changed(path, below)
            if len(changed) > MOST_CHANGED or not caches.leave_out(layer.source, changed):
                yield Mount(Access.EMPTY, os.path.normpath(os.path.join(path, below)))

    def _changed(self, path: str, below: str) -> list[bytes]:
        """Files of a cache that changed since the loop began, as paths below the folder of its layer."""
        top = os.fsencode(path)
        found = stamps.changed_since(os.path.join(top, os.fsencode(below)), self._start.began)
        return [os.path.relpath(os.path.normpath(name), top) for name in islice(found, MOST_CHANGED + 1)]

    def _layer(self, below: str, path: str | None = None, name: str = "") -> Mount:
        layer = sandbox.make_layer(str(self._site.layers / (name or str(next(self._numbers)))), below)
        return Mount(Access.LAYER, path or below, layer.source)

    def _hidden(self) -> list[str]:
        """What belongs to untildone: its state, and the folders of loops above the workspace."""
        above = (str(folder / ".loop") for folder in Path(self._site.root).parents)
        paths = {os.path.realpath(path) for path in (*self._site.hidden, str(self._site.folder), *above)}
        return [path for path in sorted(paths) if not any(path != other and is_below(path, other) for other in paths)]

    def _hidden_inside(self, files: Path, surroundings: Surroundings) -> Iterator[Mount]:
        """What must not be seen of the workspace itself, where the room shows it."""
        for path in self._site.hidden:
            name = os.path.relpath(path, self._site.root)
            shown = os.path.lexists(files / name) or any(is_below(name, each.path) for each in surroundings.shown)
            if is_below(path, self._site.root) and shown:
                yield Mount(Access.HIDDEN, path)

    def _sockets(self, shown: list[str]) -> Iterator[str]:
        """Sockets of programs outside, through which a command could reach them. Most lie in folders that the room does not show.

        `shown` are folders that it shows all the same."""
        yield from common_mounts.sockets((*PRIVATE, RUNTIME, self._site.root), shown)

    def _repository(self, files: Path) -> Iterator[Mount]:
        if not self._site.shows_repository:
            return
        own = self._site.own / "git"
        objects = repository.make(self._site.root, self._site.settings, own)
        if objects is None:
            return
        (files / ".git").mkdir(exist_ok=True)
        git = os.path.join(self._site.root, ".git")
        yield Mount(Access.WRITE, git, str(own))
        yield Mount(Access.READ, os.path.join(git, repository.OBJECTS), str(objects))

    def _packages(self, files: Path, shown: Shown) -> Iterator[Mount]:
        path = os.path.join(self._site.root, shown.path)
        if (shown.is_output and not self.has_layers) or not _make_folder(files, shown.path, shown.link):
            return
        target = shown.source if shown.link else path
        inside = [Mount(Access.EMPTY, os.path.join(target, os.fsdecode(name))) for name in shown.caches]
        if shown.link and is_below(shown.source, self._site.root):
            return
        if not self.has_layers:
            _refuse_to_show(shown)
            yield from (Mount(Access.READ, target, shown.source), *inside)
            self._without_bytecode(shown)
            return
        name = f"{OUTPUT}{sha256(os.fsencode(shown.path)).hexdigest()[:16]}" if shown.is_output else ""
        layer = self._layer(shown.source, target, name)
        if not caches.leave_out(layer.source, (*shown.bytecode, *shown.hidden)):
            _refuse_to_show(shown)
            self._without_bytecode(shown)
        yield from (layer, *inside)

    def _libraries(self, hidden: Hidden) -> Iterator[Mount]:
        """A library without what must not be seen of it."""
        layer = self._layer(hidden.path) if self.has_layers else None
        if layer is None or not caches.leave_out(layer.source, (*hidden.hidden, *hidden.bytecode)):
            _refuse_to_show(hidden)
            self._without_bytecode(hidden)
        else:
            yield layer

    def _without_bytecode(self, shown: Shown | Hidden) -> None:
        """Make Python compile its modules again, in a folder of the room's own."""
        if shown.bytecode:
            self._variables["PYTHONPYCACHEPREFIX"] = "/tmp/.pycache"


def _refuse_to_show(shown: Shown | Hidden) -> None:
    """Raise RoomRefused if a folder has files that must be hidden: here they cannot be."""
    if shown.hidden:
        names = [os.path.join(shown.path, os.fsdecode(name)) for name in shown.hidden]
        raise RoomRefused(f"New files that nothing explains cannot be hidden: {named(names)}.", "remove them", names)


def remove_layers(site: Site, *, keeps_outputs: bool = False) -> None:
    """Forget what commands wrote to packages, caches and, unless they are kept, outputs of builds."""
    for layer in list(os.scandir(site.layers)) if site.layers.is_dir() else []:
        if not (keeps_outputs and layer.name.startswith(OUTPUT)):
            sandbox.make_removable(layer.path)
            copy.set_aside(Path(layer.path), site.away)


def _home_of(environment: Mapping[str, str]) -> str:
    return os.path.realpath(caches.home_of(environment))


def empty_temporary(site: Site) -> None:
    """Make the room's own folders for temporary files empty."""
    for path in PRIVATE:
        own = _own(site, path)
        for entry in os.scandir(own) if own.is_dir() else ():
            copy.set_aside(Path(entry.path), site.away)
        own.mkdir(parents=True, exist_ok=True)
        own.chmod(0o1777)


def _own(site: Site, path: str) -> Path:
    return site.own / f"own{path.replace('/', '-')}"


def _topmost(mounts: Collection[Mount]) -> tuple[Mount, ...]:
    """The mounts, with the last one only of several at the same path."""
    return tuple({mount.path: mount for mount in mounts}.values())


def _make_folder(files: Path, path: str, link: str) -> bool:
    """Make the place where packages are mounted in the copy. False: a file or link of the tree is in its way."""
    for parent in reversed(Path(path).parents):
        full = files / parent
        if full.is_symlink() or (full.exists() and not full.is_dir()):
            return False
        full.mkdir(exist_ok=True)
    target = files / path
    if target.is_symlink() or target.is_file():
        return False
    if link:
        if target.is_dir():
            return False
        target.symlink_to(link)
    else:
        target.mkdir(exist_ok=True)
    return True


def refuse_places(site: Site, environment: Mapping[str, str]) -> None:
    """Raise RoomRefused if a copy cannot take the place of the root: programs and settings would vanish with it."""
    if site.root == "/" or is_below(_home_of(environment), site.root):
        raise RoomRefused(
            f"The folder {site.root} contains the home folder, so a sealed room cannot take its place.",
            "work in a folder below it, or use --room restored",
        )
