"""The mounts of an agent's box."""

from __future__ import annotations

import glob
import hashlib
import os
import pwd
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from untildone.core.judging.checks.commands import programs_by_path
from untildone.core.plugins.agent import OwnFile
from untildone.core.protection import passing
from untildone.engine.boxes import Plan, credentials, expanded, git_settings, home, home_of, own_program, scripts
from untildone.engine.boxes.own_files import (
    copied,
    made_temporary,
    private_opener,
    text_of,
    written_file,
)
from untildone.system.box import common_mounts, sandbox
from untildone.system.box.common_mounts import RUNTIME
from untildone.system.box.sandbox import Access, Mount, Network, Problem
from untildone.workspace import git_links
from untildone.workspace.astray import Written
from untildone.workspace.rooms.toolchain.caches import is_below

PRIVATE = ("/tmp", "/var/tmp")
"""Folders of which a box has its own, on disk."""
TEMPORARY = ("TMPDIR", "TMP", "TEMP")
BIN_NAMES = frozenset({"bin", ".bin", "sbin", "shims"})
"""Names of folders with programs. What belongs to the programs lies beside such a folder."""
OF_SYSTEM = (
    *(
        "/etc/shadow",
        "/etc/shadow-",
        "/etc/gshadow",
        "/etc/gshadow-",
        "/etc/sudoers",
        "/etc/sudoers.d",
        "/etc/ssl/private",
        "/etc/security/opasswd",
        "/etc/letsencrypt",
        "/etc/NetworkManager/system-connections",
        "/etc/openvpn",
        "/etc/ipsec.secrets",
        "/etc/ppp/*-secrets",
        "/etc/postfix/sasl_passwd*",
        "/etc/mysql/debian.cnf",
        "/etc/kubernetes",
        "/etc/rancher",
    ),
    *(
        "/etc/ssh/ssh_host_*_key",
        "/etc/krb5.keytab",
        "/etc/wireguard",
        "/var/lib/docker",
        "/var/lib/containerd",
        "/var/lib/containers",
        "/var/lib/kubelet",
        "/var/lib/rancher",
        "/var/lib/cloud",
        "/var/lib/tailscale",
        "/var/lib/NetworkManager",
        "/var/spool/cron",
    ),
)
"""Secrets of the machine, which root could read."""
LAYERS = "layers"
"""The folder with the layers of a box that leaves nothing, in the folder of its own files."""
MOST_PROJECTS = 300
MOST_LISTED = 500
"""Entries of a home folder that are mounted one by one. In a larger one, hidden files are covered."""


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
    written = _written_by_agents(plan)
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


def _written_by_agents(plan: Plan) -> Written:
    caches = (os.path.join(home_of(plan.environment), name) for name in home.CACHES)
    return Written((plan.root, plan.workspace, *caches, *plan.needs.writable))


def mounts(plan: Plan) -> Made:
    """The mounts of a box, in layers: a later one lies on top of an earlier one at the same path."""
    maker = _Maker(plan)
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
    parts = {_place_of(each.path): (text_of(each.path) or "", each.fields) for each in partly}
    return Made((*made, *_pins(made, plan, maker.links)), maker.without(kept), variables, maker.links, parts)


def concealed(plan: Plan) -> tuple[Mount, ...]:
    """What hides from a room everything that the box of the plan hides, with what the box shows inside of that."""
    maker = _Maker(plan)
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
    mounted = _by_path(made)
    taken = set(mounted)
    protected = (*(mount.path for mount in made if mount.access is not Access.WRITE), *links)
    for path in (os.path.join(plan.workspace, "."), *protected):
        between = []
        while (path := os.path.dirname(path)) not in taken:
            between.append(path)
        around = _topmost(path, mounted)
        if around.access is Access.WRITE and not around.source:
            taken.update(between)
            yield from (Mount(Access.WRITE, folder) for folder in between if os.path.isdir(folder))


def _is_covered(mount: Mount, plan: Plan) -> bool:
    """Whether a mount would lie in the checkout that takes the place of the work."""
    return bool(plan.checkout) and mount.path != plan.root and is_below(mount.path, plan.root)


class _Maker:
    """Makes the mounts of one box."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.environment = plan.environment
        self.home = os.path.realpath(home_of(plan.environment))
        self.has_home = self.home != os.sep and os.path.isdir(self.home)
        self.allow_write = tuple(os.path.realpath(expanded(path, plan)) for path in plan.settings.allow_write)
        self.allow_read = tuple(os.path.realpath(expanded(path, plan)) for path in plan.settings.allow_read)
        self.allowed_paths = (*self.allow_write, *self.allow_read)
        self._written = _written_by_agents(plan)
        for path in self.allow_write:
            self._written.add(path)
        self._layers = 0
        self.variables: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self._moved = home.moved(self.home, self.environment)
        self._elsewhere: dict[str, str] = {}
        """Where the box shows what links of the person lead to, by the real path."""
        self._lists_home = False
        """Whether the box shows the home folder as a list of entries."""
        self.own = frozenset(os.path.realpath(path) for path in plan.hidden)
        listed = sorted({*glob.glob("/home/*"), "/root", *_homes()})
        self._homes = tuple(path for path in listed if os.path.isdir(path) and os.path.realpath(path) == path)
        keys = (os.path.join(self.home, name) for name in home.KEYS)
        self._never_whole = frozenset((*keys, *map(os.path.realpath, plan.others)))
        """Folders with keys, or of other agents, which a folder of programs inside of them does not make visible."""
        containers = (os.path.join(self.home, name) for name in ("", ".config", ".local", ".local/share", ".cache"))
        self._broad = frozenset((*PRIVATE, RUNTIME, *map(os.path.normpath, containers), *self._homes))
        """Folders that contain too much to be shown as a whole: home folders, folders of caches."""

    # The machine

    def private(self) -> Iterator[Mount]:
        """Temporary folders of the box's own, and an empty `/run`."""
        for path in PRIVATE:
            if os.path.isdir(path) and not os.path.islink(path):
                own = made_temporary(self.plan.private, path.strip("/").replace("/", "-"))
                # Also at its own path: sandboxes of agents look for other names of their files in the list of mounts.
                yield from (Mount(Access.WRITE, path, own), Mount(Access.WRITE, own))
        network = Network.NONE if self.plan.connection.launcher else Network.HOST
        yield from common_mounts.runtime(network, self.environment)

    def of_system(self) -> Iterator[Mount]:
        """Secrets of the machine and of other people."""
        for pattern in OF_SYSTEM:
            yield from (Mount(Access.HIDDEN, path) for path in glob.glob(pattern) if os.path.realpath(path) == path)
        if os.geteuid() == 0:
            yield from (Mount(Access.HIDDEN, path) for path in self._homes if not is_below(self.home, path))
        yield from self._named_secrets()

    def _named_secrets(self) -> Iterator[Mount]:
        """Files with keys that variables of the person name, unless the agent gets the variable."""
        chosen = {*self.plan.needs.variables, *self.plan.settings.pass_env}
        for name in home.SECRETS_NAMED_BY:
            value = os.environ.get(name) or self.environment.get(name, "")
            if not value or name in chosen or (name in self.environment and not passing.passed({name: "x"})):
                continue
            for path in value.split(os.pathsep):
                if os.path.isabs(path) and not is_below(os.path.realpath(path), self.plan.root):
                    yield from self._hide(path)

    # The home folder

    def of_home(self) -> Iterator[Mount]:
        if not self.has_home:
            return
        shown = {name.split("/")[0] for name in home.SHOWN}
        yield from self._listed(shown)
        for name in sorted(os.listdir(self.home)):
            if name.startswith(".") and name not in shown:
                yield from self._hide(os.path.join(self.home, name))
        yield from self._hide(os.path.join(self.home, ".local"))
        for name in home.CONTAINERS:
            yield from self._emptied(os.path.join(self.home, name))
        for name in home.SHOWN:
            yield from self._show(os.path.join(self.home, name)) if "/" in name else ()
        linked = (path for path in self._linked() if not self._leads_to_secret(path))
        for path in (*linked, *git_settings.named(self.home, self.environment, self._is_written)):
            yield from self._unhidden(path)
        for path in self._secrets:
            yield from self._hide(path)
        yield from self._without_auth()

    def _is_written(self, path: str) -> bool:
        """Whether an agent may have written a file, or a link on the way to it."""
        return self._written.contain(os.path.realpath(path)) or self._written.lead_astray(path)

    def _places(self, name: str) -> Iterator[tuple[str, str]]:
        """Where an entry of the home folder may lie: in there, and where variables put it. As a folder, and the rest of the path."""
        yield self.home, name
        for usual, folder in self._moved.items():
            if name.startswith(f"{usual}/"):
                yield folder, name[len(usual) + 1 :]

    def _matching(self, pattern: str) -> Iterator[str]:
        """The paths that match a pattern for entries of the home folder, there and where variables put them."""
        for folder, rest in self._places(pattern):
            yield from glob.glob(os.path.join(glob.escape(folder), rest))

    def _linked(self) -> Iterator[str]:
        """The person's links to settings and programs: people keep settings in a repository of their own, and programs anywhere."""
        present = set(os.listdir(self.home))
        shown = (os.path.join(self.home, name) for name in home.SHOWN if name.partition("/")[0] in present)
        on_path = (each for each in self.environment.get("PATH", "").split(os.pathsep) if is_below(each, self.home))
        caches = {os.path.join(self.home, name) for name in home.CACHES}
        for path in dict.fromkeys((*shown, *on_path)):
            yield from [path] if os.path.islink(path) else []
            yield from _links_in(path) if path not in caches else ()

    def _leads_to_secret(self, link: str) -> bool:
        ways = (os.path.relpath(each, self.home) for each in (link, os.path.realpath(link)))
        return any(credentials.sounds_secret(each) for each in ways)

    def _unhidden(self, path: str) -> Iterator[Mount]:
        """What lies at a path that the person's settings and links name, if it is hidden only because no table knows it."""
        real = os.path.realpath(path)
        if not os.path.exists(real) or not self._is_unknown(real) or self._written.lead_astray(path):
            return
        folder = os.path.dirname(real)
        is_program = os.path.isfile(real) and os.path.basename(folder) in BIN_NAMES and os.access(real, os.X_OK)
        shown = self._package(folder) if is_program else real
        yield Mount(Access.READ, shown)
        yield from self._without_logins(shown)

    def _without_logins(self, shown: str) -> Iterator[Mount]:
        """What takes the logins away from a file or folder that is shown though no table knows it."""
        if os.path.isfile(shown):
            yield from self._cleared(shown, hashlib.sha256(os.fsencode(shown)).hexdigest()[:16])
        elif self._is_unknown(shown) and not any(is_below(each, shown) for each in self._own_program):
            yield from (Mount(Access.HIDDEN, path) for path in credentials.beside_programs(shown))

    @cached_property
    def _own_program(self) -> tuple[str, ...]:
        """The agent's program, which may keep its login beside itself: its path, and where that leads."""
        found = shutil.which(self.plan.words[0], path=self.environment.get("PATH")) if self.plan.words else None
        return () if found is None or self._written.lead_astray(found) else (found, os.path.realpath(found))

    def _is_unknown(self, real: str) -> bool:
        """Whether something is hidden only because it lies in an entry of the home folder that begins with a dot and is in no table."""
        if not real.startswith(os.path.join(self.home, ".")) or self._is_broad(real):
            return False
        around = {real[:at] for at, letter in enumerate(real) if letter == os.sep} | {real}
        return around.isdisjoint(self._known) and not any(path.startswith(f"{real}{os.sep}") for path in self._known)

    @cached_property
    def _known(self) -> frozenset[str]:
        """What is shown or hidden for a reason of its own."""
        keys = (os.path.join(self.home, name) for name in home.KEYS if name not in home.HOLD_TOOLS)
        shown = (os.path.join(self.home, name) for name in home.SHOWN)
        return frozenset((*keys, *shown, *self._secrets, *self.own, *self.plan.others, *self.plan.needs.writable))

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        return tuple(path for pattern in home.SECRETS for path in self._matching(pattern))

    def _listed(self, shown: set[str]) -> Iterator[Mount]:
        """The home folder as a list of what is visible in it. A mount over a hidden file does not last: it is gone once a program outside
        replaces the file, as shells do with their history."""
        entries = [entry for entry in os.scandir(self.home) if not entry.name.startswith(".") or entry.name in shown]
        chosen = any(is_below(self.home, each) for each in (self.plan.root, *self.allow_write))
        self._lists_home = not chosen and len(entries) <= MOST_LISTED
        if not self._lists_home:
            yield from [Mount(Access.READ, self.home)] if self._is_own_place(self.home) else []
            return
        yield Mount(Access.HIDDEN, self.home)
        for entry in entries:
            if entry.is_symlink():
                yield Mount(Access.LINK, entry.path, os.readlink(entry.path))
            elif entry.is_dir() or entry.is_file():
                # Programs outside may delete it before the box is made.
                yield Mount(Access.READ_IF_THERE, entry.path)

    def _emptied(self, path: str) -> Iterator[Mount]:
        """A new folder in the place of one, which is created if it does not exist."""
        if not self._may_follow(path):
            return
        with suppress(OSError):
            os.makedirs(path, mode=0o700, exist_ok=True)
        real = os.path.realpath(path)
        if os.path.isdir(real) and not any(is_below(each, real) for each in (self.home, self.plan.root)):
            yield Mount(Access.EMPTY, real)

    def _hide(self, path: str) -> Iterator[Mount]:
        real = os.path.realpath(path)
        around = (self.home, self.plan.root, self.plan.workspace)
        if os.path.exists(real) and not any(is_below(each, real) for each in around):
            yield Mount(Access.HIDDEN, real)

    def _show(self, path: str) -> Iterator[Mount]:
        if os.path.exists(path) and self._may_follow(path):
            place, real = _place_of(path), os.path.realpath(path)
            self._elsewhere.update({real: place} if place != real else {})
            yield Mount(Access.READ, place, real)

    def _may_follow(self, path: str) -> bool:
        """Whether no link of an agent leads from a path to something else. People keep their settings in a repository of their own, and
        links to them: that is followed to a file or folder of the same name."""
        real = os.path.realpath(path)
        keys = (os.path.join(self.home, name) for name in home.KEYS)
        is_same = os.path.basename(real) == os.path.basename(path) and not any(is_below(real, each) for each in keys)
        return is_same or not self._written.lead_astray(path)

    def _without_auth(self) -> Iterator[Mount]:
        for name in home.WITHOUT_AUTH:
            for number, (folder, rest) in enumerate(self._places(name)):
                yield from self._cleared(os.path.join(folder, rest), f"{number or ''}{name.replace('/', '-')}")

    def _cleared(self, path: str, name: str) -> Iterator[Mount]:
        """A copy of a file without the lines that hold a login, if there are any."""
        text = text_of(path)
        if text is not None and (shown := home.without_auth(text)) != text:
            real, copy = os.path.realpath(path), written_file(self.plan.private, "files", f"shown-{name}", shown)
            yield Mount(Access.READ, real, copy)
            for folder, place in self._elsewhere.items():
                if is_below(real, folder):
                    yield Mount(Access.READ, place + real[len(folder) :], copy)

    def of_projects(self) -> Iterator[Mount]:
        """Credentials of the other projects beside the workspace and in the home folder."""
        root, without = self.plan.root, {self.plan.root, self.home, *self.allowed_paths}
        starts = (os.path.dirname(root), self.home if self.has_home else os.sep)
        for start in (start for start in starts if start != os.sep and not is_below(start, root)):
            for found in credentials.logins(start, without | set(git_links.folders_outside(root))):
                for path in found.hidden:
                    yield from self._hide(path)
                for path in found.settings:
                    yield from self._cleared(path, hashlib.sha256(os.fsencode(path)).hexdigest()[:16])

    def caches(self) -> Iterator[Mount]:
        if not self.has_home:
            return
        for name in home.CACHES:
            path = os.path.join(self.home, name)
            if name in home.ALWAYS or os.path.isdir(path if "/" not in name else os.path.dirname(path)):
                yield from self._writable(path)
        for name in home.LOCKS:
            path = os.path.join(self.home, name)
            if os.path.isdir(os.path.dirname(path)):
                with suppress(OSError):
                    Path(path).touch()
                    yield Mount(Access.WRITE, os.path.realpath(path))
        for variable in home.CACHES_NAMED_BY:
            if os.path.isabs(self.environment.get(variable, "")):
                yield from self._writable(self.environment[variable])
        for variable, names in home.TOOLS_NAMED_BY.items():
            folder = self.environment.get(variable, "").split(os.pathsep)[0]
            for name in names if os.path.isabs(folder) and os.path.isdir(folder) else ():
                yield from self._writable(os.path.join(folder, name))
        yield from self._of_services()
        for pattern in home.RUN_AT_START:
            for path in self._matching(pattern):
                yield from [Mount(Access.READ, path)] if os.path.realpath(path) == path else []
        yield from self._of_shells()

    def _of_shells(self) -> Iterator[Mount]:
        """Files in caches that the start-up files of the person's shells name."""
        for name in home.SHELLS:
            text = text_of(path) if os.path.isfile(path := os.path.join(self.home, name)) else None
            for named in scripts.files_in(text or "", self.environment, self._outside):
                if os.path.isfile(named) and os.path.realpath(named) == named and self._written.contain(named):
                    yield from [] if is_below(named, self.plan.root) else [Mount(Access.READ, named)]

    def _of_services(self) -> Iterator[Mount]:
        """New folders in the place of those in which services of the person say how they are reached."""
        for pattern in home.OF_SERVICES:
            for path in self._matching(pattern):
                yield from self._emptied(path)
        variable, usual, name = home.GRADLE
        for folder in (self.environment.get(variable, ""), os.path.join(self.home, usual)):
            if os.path.isabs(folder) and os.path.isdir(folder):
                yield from self._emptied(os.path.join(folder, name))

    def _writable(self, path: str) -> Iterator[Mount]:
        """A folder that is writable; created if it does not exist and can be."""
        if self._written.lead_astray(path):
            return
        with suppress(OSError):
            os.makedirs(path, mode=0o700, exist_ok=True)
        real = os.path.realpath(path)
        unsafe = is_below(self.home, real) or is_below(self.plan.root, real) or real in (*PRIVATE, os.sep)
        if os.path.isdir(real) and not unsafe and os.access(real, os.W_OK):
            self._written.add(real)
            yield self._layer(real) if self.plan.leaves_nothing else Mount(Access.WRITE, real)

    def _layer(self, path: str) -> Mount:
        """A folder whose new content is kept apart."""
        self._layers += 1
        return sandbox.make_layer(os.path.join(self.plan.private, LAYERS, str(self._layers)), path)

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
                yield from self._without_logins(path)

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

    def _package(self, path: str) -> str:
        """What belongs to a folder of programs: the folder above `bin`, unless that contains much else."""
        parent = os.path.dirname(path)
        if os.path.basename(path) not in BIN_NAMES or parent in self._never_whole or self._is_broad(parent):
            return path
        return parent

    def _is_of_person(self, path: str) -> bool:
        """Whether a path is the person's choice already, or too much to be shown as a whole."""
        chosen = (self.plan.root, *self.allow_write)
        return self._is_broad(path) or any(is_below(path, each) for each in chosen)

    def _is_broad(self, path: str) -> bool:
        """Whether a folder contains too much to be shown as a whole."""
        return any(is_below(each, path) for each in self._broad)

    def _is_own_place(self, path: str) -> bool:
        """Whether a path lies in a folder of which the box has its own."""
        return any(is_below(path, folder) for folder in (*PRIVATE, RUNTIME))

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
        mounted = _by_path(made)
        for path in own_program.places():
            topmost = _topmost(path, mounted)
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
        self.links.update((_place_of(path), "") for path in absent)
        present = (OwnFile(path) for path in needs.kept_absent if path not in absent)
        for file in (*_found(needs.read_only), *present):
            if os.path.islink(file.path) and self._written.contain(os.path.realpath(os.path.dirname(file.path))):
                self.links[_place_of(file.path)] = os.readlink(file.path)
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

    def _outside(self, word: str) -> str:
        """The path that a word of a settings file means, with `~` or a variable at its beginning."""
        first, _, rest = word.partition("/")
        known = {"~": self.home, "": "", "HOME": self.home}
        name = first.strip("${}")
        return f"{known.get(name, self.environment.get(name, ''))}/{rest}"

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
        copy, place = copied(file, text, self.plan.private), _place_of(file.path)
        if file.variable:
            self.variables[file.variable] = copy
            yield Mount(Access.WRITE, os.path.dirname(copy))
        elif self._lists_home and os.path.dirname(place) == self.home:
            yield from (Mount(Access.WRITE, os.path.dirname(copy)), Mount(Access.LINK, place, copy))
        elif _exists(file):
            yield Mount(Access.WRITE, place, copy)

    def allowed(self, made: tuple[Mount, ...]) -> Iterator[Mount]:
        """What the person allows, over what is `made`. Reading takes nothing away: what is visible stays as it is."""
        mounted = _by_path(made)
        for path in self.allow_read:
            if not _is_visible(path, mounted):
                yield Mount(Access.READ, path)
        # What an author leaves in a folder that the worker reads would not stay a secret.
        how = Access.READ if self.plan.leaves_nothing else Access.WRITE
        yield from (Mount(how, path) for path in self.allow_write)
        if self.plan.settings.allow_ssh:
            yield from self._ssh()

    def readable(self, made: tuple[Mount, ...]) -> Iterator[Mount]:
        """What the person allows, for a program that may write nowhere: no sockets."""
        mounted = _by_path(made)
        for path in self.allowed_paths:
            if not _is_visible(path, mounted) and (os.path.isdir(path) or os.path.isfile(path)):
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
        chosen, mounted = (self.plan.root, *self.allowed_paths), _by_path(made)
        for path in common_mounts.sockets(()):
            topmost = _topmost(path, mounted)
            if topmost.path != path and _is_visible(path, mounted) and not any(is_below(path, each) for each in chosen):
                yield Mount(Access.HIDDEN, path)

    def without(self, made: tuple[Mount, ...]) -> frozenset[str]:
        """Variables that mean nothing in the box."""
        kept = {"SSH_AUTH_SOCK"} if self.plan.settings.allow_ssh else set()
        mounted = _by_path(made)
        temporary = {name for name in TEMPORARY if not _is_writable(self.environment.get(name, ""), mounted)}
        return (home.UNREACHABLE - kept) | temporary


def _is_writable(folder: str, made: Mapping[str, Mount]) -> bool:
    """Whether a folder outside is the same in the box, and writable."""
    topmost = _topmost(os.path.realpath(folder), made)
    return folder in PRIVATE or (topmost.access is Access.WRITE and not topmost.source)


def _is_visible(path: str, made: Mapping[str, Mount]) -> bool:
    """Whether a path outside is the same in the box."""
    topmost = _topmost(path, made)
    return topmost.access in (Access.READ, Access.READ_IF_THERE, Access.WRITE) and topmost.source in ("", topmost.path)


def _by_path(made: tuple[Mount, ...]) -> dict[str, Mount]:
    """The mounts by path: a later one lies on top of an earlier one."""
    return {mount.path: mount for mount in made}


def _topmost(path: str, made: Mapping[str, Mount]) -> Mount:
    """The mount that decides what lies at an absolute path. One at `/` must be among them."""
    while path not in made and path.strip(os.sep):
        path = os.path.dirname(path)
    return made.get(path) or made[os.sep]


def _found(files: Iterable[OwnFile]) -> Iterator[OwnFile]:
    """The files, with those that exist in the place of a pattern."""
    for file in files:
        folder, name = os.path.split(file.path)
        yield from [] if "*" in name else [file]
        yield from (OwnFile(path) for path in glob.glob(os.path.join(glob.escape(folder), name)) if "*" in name)


def _links_in(folder: str) -> list[str]:
    """The links in a folder; none if it is no folder."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.is_symlink())
    except OSError:
        return []


def _is_filled(folder: str) -> bool:
    """Whether a folder contains anything."""
    try:
        return bool(os.listdir(folder))
    except OSError:
        return False


def _homes() -> Iterator[str]:
    """The home folders of people with an account."""
    for entry in pwd.getpwall():
        if entry.pw_uid >= 1000 and entry.pw_dir.startswith("/home/"):
            yield entry.pw_dir


def _place_of(path: str) -> str:
    """Where a path is mounted: its own name, in the real folder."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _exists(file: OwnFile) -> bool:
    """Whether a file or folder exists, created if need be. A link to nowhere does not."""
    with suppress(OSError):
        if file.content is None:
            os.makedirs(file.path, mode=0o700, exist_ok=True)
        elif not os.path.lexists(file.path):
            with open(file.path, "x", encoding="utf-8", opener=private_opener) as created:
                created.write(file.content)
    return os.path.exists(file.path)
