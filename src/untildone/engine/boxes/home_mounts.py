"""What the box of an agent shows of the machine, of the home folder and of caches."""

from __future__ import annotations

import glob
import hashlib
import os
import pwd
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from untildone.core.protection import passing
from untildone.engine.boxes import Plan, credentials, expanded, git_settings, home, home_of, scripts
from untildone.engine.boxes.mounted import PRIVATE, place_of
from untildone.engine.boxes.own_files import made_temporary, text_of, written_file
from untildone.system.box import common_mounts, sandbox
from untildone.system.box.common_mounts import RUNTIME
from untildone.system.box.sandbox import Access, Mount, Network
from untildone.workspace import git_links
from untildone.workspace.astray import Written
from untildone.workspace.rooms.toolchain.caches import is_below

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
MOST_LISTED = 500
"""Entries of a home folder that are mounted one by one. In a larger one, hidden files are covered."""


def written_by_agents(plan: Plan) -> Written:
    caches = (os.path.join(home_of(plan.environment), name) for name in home.CACHES)
    return Written((plan.root, plan.workspace, *caches, *plan.needs.writable))


class HomeMounts:
    """Makes the mounts of one box, as far as they are the same for every workspace and agent."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.environment = plan.environment
        self.home = os.path.realpath(home_of(plan.environment))
        self.has_home = self.home != os.sep and os.path.isdir(self.home)
        self.allow_write = tuple(os.path.realpath(expanded(path, plan)) for path in plan.settings.allow_write)
        self.allow_read = tuple(os.path.realpath(expanded(path, plan)) for path in plan.settings.allow_read)
        self.allowed_paths = (*self.allow_write, *self.allow_read)
        self._written = written_by_agents(plan)
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
            place, real = place_of(path), os.path.realpath(path)
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

    # Paths

    def _is_broad(self, path: str) -> bool:
        """Whether a folder contains too much to be shown as a whole."""
        return any(is_below(each, path) for each in self._broad)

    def _outside(self, word: str) -> str:
        """The path that a word of a settings file means, with `~` or a variable at its beginning."""
        first, _, rest = word.partition("/")
        known = {"~": self.home, "": "", "HOME": self.home}
        name = first.strip("${}")
        return f"{known.get(name, self.environment.get(name, ''))}/{rest}"

    def _package(self, path: str) -> str:
        """What belongs to a folder of programs: the folder above `bin`, unless that contains much else."""
        parent = os.path.dirname(path)
        if os.path.basename(path) not in BIN_NAMES or parent in self._never_whole or self._is_broad(parent):
            return path
        return parent

    def _is_own_place(self, path: str) -> bool:
        """Whether a path lies in a folder of which the box has its own."""
        return any(is_below(path, folder) for folder in (*PRIVATE, RUNTIME))


def _links_in(folder: str) -> list[str]:
    """The links in a folder; none if it is no folder."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.is_symlink())
    except OSError:
        return []


def _homes() -> Iterator[str]:
    """The home folders of people with an account."""
    for entry in pwd.getpwall():
        if entry.pw_uid >= 1000 and entry.pw_dir.startswith("/home/"):
            yield entry.pw_dir
