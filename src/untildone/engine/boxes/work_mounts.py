"""What the box of an agent shows of programs, of the work, and of the agent itself."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from untildone.core.judging.checks.commands import programs_by_path
from untildone.core.plugins.agent import OwnFile
from untildone.engine.boxes import git_settings, home, own_program, scripts
from untildone.engine.boxes.home_mounts import BIN_NAMES, HomeMounts
from untildone.engine.boxes.mounted import PRIVATE, by_path, is_visible, is_writable, place_of, topmost_at
from untildone.engine.boxes.own_files import copied, private_opener, text_of, written_file
from untildone.system.box import common_mounts
from untildone.system.box.common_mounts import RUNTIME
from untildone.system.box.sandbox import Access, Mount
from untildone.workspace import git_links
from untildone.workspace.rooms.toolchain.caches import is_below

TEMPORARY = ("TMPDIR", "TMP", "TEMP")
MOST_PROJECTS = 300


class WorkMounts(HomeMounts):
    """Makes the mounts of one box."""

    # Programs

    def needed(self, covered: tuple[Mount, ...]) -> Iterator[Mount]:
        """What lies around the workspace, programs, toolchains and files of the command line: readable, though the folders above them
        are `covered`, and never writable."""
        changed = [mount.path for mount in covered if mount.path not in ("/", "/dev", "/proc")]
        named = (path for path in (*self._programs(), *self._named()) if not self._written.lead_astray(path))
        wanted = {os.path.realpath(path) for path in named if os.path.exists(path)}
        packages = {self._package(path) for path in wanted}
        for path in (*self._around(), *sorted(packages)):
            if any(is_below(path, each) for each in changed) and not self._is_of_person(path):
                yield Mount(Access.READ, path)
                # A file that the person names is shown as it is.
                yield from self._without_logins(path) if os.path.isdir(path) else ()

    def _around(self) -> Iterator[str]:
        """The first folder above the workspace that lies in a folder of which the box has its own."""
        for folder in (*PRIVATE, RUNTIME):
            if is_below(self.plan.root, folder):
                first = os.path.join(folder, os.path.relpath(self.plan.root, folder).split(os.sep)[0])
                yield from [first] if first != self.plan.root else []

    def _named(self) -> Iterator[str]:
        """Absolute paths in the command line."""
        for word in self.plan.words:
            path = word.partition("=")[2] if word.startswith("-") and "=" in word else word
            yield from [path] if os.path.isabs(path) else []

    def _programs(self) -> Iterator[str]:
        """Folders on PATH, toolchains that variables name, programs that checks name by their path, the agent's program, and the
        interpreter and package of untildone."""
        yield from self._programs_of_checks()
        for name in ("PATH", *home.TOOLCHAINS_NAMED_BY):
            yield from (part for part in self.environment.get(name, "").split(os.pathsep) if os.path.isabs(part))
        program = shutil.which(self.plan.words[0], path=self.environment.get("PATH")) if self.plan.words else None
        for file in filter(None, (program, sys.executable)):
            yield os.path.dirname(file)
            if not self._written.lead_astray(file):
                yield os.path.dirname(os.path.realpath(file))
        yield from (sys.prefix, sys.base_prefix, str(Path(__file__).parents[3]))

    def _programs_of_checks(self) -> Iterator[str]:
        """Folders of programs that checks name by their path. An agent finds toolchains only: a script beside tests that it should not
        read is a program too."""
        named = (path for command in self.plan.settings.checks for path in programs_by_path(command))
        for folder in (os.path.dirname(os.path.expanduser(path)) for path in named if path.startswith(("/", "~/"))):
            if not self.plan.words or os.path.basename(folder) in BIN_NAMES:
                yield folder

    def _is_of_person(self, path: str) -> bool:
        """Whether a path is the person's choice already, or too much to be shown as a whole."""
        chosen = (self.plan.root, *self.allow_write)
        return self._is_broad(path) or any(is_below(path, each) for each in chosen)

    # The work

    def work(self) -> Iterator[Mount]:
        plan = self.plan
        if plan.checkout:
            yield Mount(Access.WRITE if plan.leaves_nothing else Access.READ, plan.root, plan.checkout)
            return
        yield Mount(Access.WRITE, plan.root)
        # The repository contains what is kept back.
        repository = Access.HIDDEN if plan.kept_back else Access.WRITE
        for folder in git_links.folders_outside(plan.root):
            if plan.kept_back or not self._written.contain(folder):
                yield Mount(repository, folder)
        yield from self._kept_back() if plan.kept_back else ()
        yield from (
            Mount(Access.READ, path) for path in plan.protected if os.path.isfile(path) and not os.path.islink(path)
        )

    def own_program(self, made: tuple[Mount, ...]) -> Iterator[Mount]:
        """What untildone itself is made of, where the box could write to it: the runner loads its own modules later, outside of boxes."""
        mounted = by_path(made)
        for path in own_program.places():
            topmost = topmost_at(path, mounted)
            if topmost.access is Access.WRITE and not topmost.source and path not in mounted:
                yield Mount(Access.READ, path)

    def unsigned(self) -> Mapping[str, str]:
        """Variables by which git signs nothing, where the person has it sign: the keys are hidden."""
        keys = [os.path.join(self.home, name) for name in (".ssh", ".gnupg")]
        if self.plan.settings.allow_ssh or any(is_below(key, each) for key in keys for each in self.allowed_paths):
            return {}
        return git_settings.overriding(
            git_settings.signs(self.home, self.plan.root, self.environment), self.environment
        )

    def _kept_back(self) -> Iterator[Mount]:
        """Something else in the place of files that are kept back, and nothing in the place of what contains them."""
        root = self.plan.root
        git = os.path.join(root, ".git")
        yield from [Mount(Access.HIDDEN, git)] if os.path.lexists(git) else []
        for number, (path, text) in enumerate(sorted(self.plan.kept_back.items())):
            full = os.path.join(root, path)
            if os.path.isfile(full) and os.path.realpath(full) == full:
                yield Mount(Access.READ, full, written_file(self.plan.private, "kept-back", str(number), text))
            cache, stem = os.path.join(os.path.dirname(full), "__pycache__"), Path(path).stem
            for made in glob.glob(os.path.join(glob.escape(cache), f"{glob.escape(stem)}.*")):
                yield Mount(Access.HIDDEN, made)

    def others(self) -> Iterator[Mount]:
        """State of other agents: their logins."""
        for path in self.plan.others:
            yield from self._hide(path)

    def of_agent(self) -> Iterator[Mount]:
        needs = self.plan.needs
        for path in needs.writable:
            yield from self._writable(path)
        for path in needs.readable:
            yield from self._show(path)
        for file in needs.copied:
            yield from self._copy(file)
        absent = [path for path in needs.kept_absent if not os.path.lexists(path)]
        self.links.update((place_of(path), "") for path in absent)
        present = (OwnFile(path) for path in needs.kept_absent if path not in absent)
        for file in (*_found(needs.read_only), *present):
            if os.path.islink(file.path) and self._written.contain(os.path.realpath(os.path.dirname(file.path))):
                self.links[place_of(file.path)] = os.readlink(file.path)
            if os.path.isdir(os.path.dirname(file.path)) and self._may_follow(file.path) and _exists(file):
                yield Mount(Access.READ, os.path.realpath(file.path))
        yield from self._scripts_of_settings()
        for pattern in needs.of_projects:
            yield from self._of_other_projects(pattern)
        for path in needs.fresh:
            yield from self._emptied(path)
        for path in needs.installed:
            yield from self._show(path) if _is_filled(path) else self._emptied(path)

    def _scripts_of_settings(self) -> Iterator[Mount]:
        """Scripts in the agent's folders that its settings name, such as that of a status line: they run outside of boxes too."""
        needs = self.plan.needs
        found = scripts.named(
            (*_found(needs.read_only), *needs.copied), needs.writable, self.environment, self._outside
        )
        yield from (Mount(Access.READ, path) for path in sorted(found.paths))
        self.links.update(found.links)

    def _of_other_projects(self, pattern: str) -> Iterator[Mount]:
        """What steers the agent in other projects than that of the workspace."""
        folder, name = os.path.split(pattern)
        base = os.path.realpath(os.path.dirname(folder))
        around = (self.plan.workspace, self.plan.root, *map(os.path.dirname, git_links.folders_outside(self.plan.root)))
        own = {re.sub(r"[^A-Za-z0-9]", "-", path) for path in around}
        for project in sorted(glob.glob(os.path.join(glob.escape(base), "*/")))[:MOST_PROJECTS]:
            path = os.path.join(project, name)
            # A link that leads elsewhere may be the agent's.
            if os.path.basename(project.rstrip(os.sep)) not in own and os.path.realpath(path) == path:
                yield from [Mount(Access.HIDDEN, path)] if _exists(OwnFile(path, None)) else []

    def _copy(self, file: OwnFile) -> Iterator[Mount]:
        """A copy in the place of a file. Programs replace their files by renaming, which the kernel forbids for a mount; so it is a
        link into a folder of its own, wherever the box makes the entries of the folder around the file."""
        text = text_of(file.path) if self._may_follow(file.path) else None
        copy, place = copied(file, text, self.plan.private), place_of(file.path)
        if file.variable:
            self.variables[file.variable] = copy
            yield Mount(Access.WRITE, os.path.dirname(copy))
        elif self._lists_home and os.path.dirname(place) == self.home:
            yield from (Mount(Access.WRITE, os.path.dirname(copy)), Mount(Access.LINK, place, copy))
        elif _exists(file):
            yield Mount(Access.WRITE, place, copy)

    def allowed(self, made: tuple[Mount, ...]) -> Iterator[Mount]:
        """What the person allows, over what is `made`. Reading takes nothing away: what is visible stays as it is."""
        mounted = by_path(made)
        for path in self.allow_read:
            if not is_visible(path, mounted):
                yield Mount(Access.READ, path)
        # What an author leaves in a folder that the worker reads would not stay a secret.
        how = Access.READ if self.plan.leaves_nothing else Access.WRITE
        yield from (Mount(how, path) for path in self.allow_write)
        if self.plan.settings.allow_ssh:
            yield from self._ssh()

    def readable(self, made: tuple[Mount, ...]) -> Iterator[Mount]:
        """What the person allows, for a program that may write nowhere: no sockets."""
        mounted = by_path(made)
        for path in self.allowed_paths:
            if not is_visible(path, mounted) and (os.path.isdir(path) or os.path.isfile(path)):
                yield Mount(Access.READ, path)

    def _ssh(self) -> Iterator[Mount]:
        """The socket of the person's SSH agent, and what ssh must know about hosts. The keys stay hidden."""
        socket = self.environment.get("SSH_AUTH_SOCK", "")
        if os.path.isabs(socket) and os.path.exists(socket):
            yield Mount(Access.READ, os.path.realpath(socket))
        for name in ("config", "known_hosts", "known_hosts2", "*.pub"):
            for path in glob.glob(os.path.join(glob.escape(self.home), ".ssh", name)):
                yield Mount(Access.READ, os.path.realpath(path))

    def ours(self) -> Iterator[Mount]:
        """The state of untildone."""
        yield from (Mount(Access.HIDDEN, path) for path in sorted(self.own) if os.path.exists(path))
        yield from (Mount(Access.READ, path) for path in self.plan.documents)

    def sockets(self, made: tuple[Mount, ...]) -> Iterator[Mount]:
        """Sockets of programs outside that the box would show. Those in the workspace are the project's."""
        chosen, mounted = (self.plan.root, *self.allowed_paths), by_path(made)
        for path in common_mounts.sockets(()):
            topmost = topmost_at(path, mounted)
            if topmost.path != path and is_visible(path, mounted) and not any(is_below(path, each) for each in chosen):
                yield Mount(Access.HIDDEN, path)

    def without(self, made: tuple[Mount, ...]) -> frozenset[str]:
        """Variables that mean nothing in the box."""
        kept = {"SSH_AUTH_SOCK"} if self.plan.settings.allow_ssh else set()
        mounted = by_path(made)
        temporary = {name for name in TEMPORARY if not is_writable(self.environment.get(name, ""), mounted)}
        return (home.UNREACHABLE - kept) | temporary


def _found(files: Iterable[OwnFile]) -> Iterator[OwnFile]:
    """The files, with those that exist in the place of a pattern."""
    for file in files:
        folder, name = os.path.split(file.path)
        yield from [] if "*" in name else [file]
        yield from (OwnFile(path) for path in glob.glob(os.path.join(glob.escape(folder), name)) if "*" in name)


def _is_filled(folder: str) -> bool:
    """Whether a folder contains anything."""
    try:
        return bool(os.listdir(folder))
    except OSError:
        return False


def _exists(file: OwnFile) -> bool:
    """Whether a file or folder exists, created if need be. A link to nowhere does not."""
    with suppress(OSError):
        if file.content is None:
            os.makedirs(file.path, mode=0o700, exist_ok=True)
        elif not os.path.lexists(file.path):
            with open(file.path, "x", encoding="utf-8", opener=private_opener) as created:
                created.write(file.content)
    return os.path.exists(file.path)
