"""Boxes: programs that see only a part of the machine, by bubblewrap. A `Box` says what they see; `problem` whether boxes hold here."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

SYSTEM_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
"""Looked in before PATH: an agent may write to other folders on it."""
SELF_TEST_SECONDS = 20.0
_ROOT_POWERS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETUID")
"""Capabilities that root keeps in a box. None of them undoes a mount, makes a device or reaches a process outside. Without this
choice bubblewrap leaves all of them to root, who could then make everything writable again."""


_OF_KERNEL = tuple(
    f"/proc/{name}"
    for name in (
        *("acpi", "dynamic_debug", "kcore", "keys", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "mtrr"),
        *("sched_debug", "scsi", "slabinfo", "timer_list"),
    )
)
NEW_CONTROL_GROUPS = 0x02000000
"""The flag of the kernel for a new namespace of control groups."""
_FILTER = "9"
"""The descriptor from which bubblewrap reads a filter of system calls."""


class Access(StrEnum):
    """What a program in a box finds at a path."""

    READ = "read"
    """The source, read-only, with everything that is mounted below it."""
    READ_IF_THERE = "read if there"
    """As `READ`; nothing, if there is no source any more."""
    WRITE = "write"
    """The source, writable."""
    LINK = "link"
    """A symbolic link to the source, which is resolved inside."""
    DEVICE = "device"
    """The device file that is the source."""
    LAYER = "layer"
    """What `make_layer` put below the source; every write goes into the source instead."""
    EMPTY = "empty"
    """A new empty folder in memory, which ends with the box."""
    HIDDEN = "hidden"
    """An empty folder that cannot be written, or a file that cannot be opened. A path that does not exist stays so."""
    DEVICES = "devices"
    """The few device files that every program needs."""
    PROCESSES = "processes"
    """The processes of the box (`/proc`)."""


class Network(StrEnum):
    """The network of a box."""

    NONE = "none"
    """Its own loopback interface only."""
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Mount:
    """What lies at one path of a box."""

    access: Access
    path: str
    source: str = ""
    """The folder or file outside that is shown there; empty: `path` itself."""


@dataclass(frozen=True, slots=True)
class Box:
    """What programs in a box see. Of two mounts the one with the longer path lies on top, in whatever order they are given.

    The environment is that of the process that starts the box, which must apply `environment`: on a command line it would be visible to
    everybody. A box has its own processes, and the kernel ends all of them when the process that started the box ends.
    """

    folder: str
    """The working folder, as seen inside."""
    mounts: tuple[Mount, ...]
    network: Network = Network.NONE
    new_session: bool = True
    """Whether the program is cut off from the terminal of its parent."""
    launcher: tuple[str, ...] = ()
    """A program in the box, with its arguments, that starts every command: it connects the box to a proxy, for example."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables that programs in the box have, whatever the environment outside says."""
    without: frozenset[str] = frozenset()
    """Variables of the environment outside that programs in the box do not have: what they name is not there."""
    loading: Mapping[str, str] = field(default_factory=dict)
    """Variables for programs in the box that bubblewrap itself must not have: see `loading.named`."""
    outlived: bool = False
    """Whether what the program leaves running may go on in the box after its end. Then the kernel does not end it together with the
    process that started the box: another process must do that."""

    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links outside, with where they lead, that programs in the box could replace and must not: the kernel protects no link. An
    empty text stands for a file that does not exist, and must not."""
    parts: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """JSON files outside of which programs in the box may not change some fields: the text at the start, and the fields."""
    filter: str = ""
    """A file with a filter of system calls; empty: there is none."""

    def argv(self, command: Sequence[str]) -> tuple[str, ...]:
        """The command line that runs a command in this box."""
        return (
            *_mounting_apart([mount.source for mount in self.mounts if mount.access is Access.LAYER]),
            # If the filter cannot be opened, nothing runs.
            *(("/bin/sh", "-c", f'exec {_FILTER}<"$0" && exec "$@"', self.filter) if self.filter else ()),
            program(),
            *(("--seccomp", _FILTER) if self.filter else ()),
            *_namespaces(self),
            *(word for name, value in self.loading.items() for word in ("--setenv", name, value)),
            *(option for mount in _ordered(self.mounts) for option in _options(mount)),
            # Last, because other mounts may lie below a hidden folder.
            *(option for mount in self.mounts if _is_hidden_folder(mount) for option in ("--remount-ro", mount.path)),
            *("--chdir", self.folder, "--", *self.launcher, *command),
        )

    def environment(self, outside: Mapping[str, str]) -> dict[str, str]:
        """The environment of programs in this box, as far as the program that starts it may have it too."""
        gone = self.without | self.loading.keys()
        return {**{name: value for name, value in outside.items() if name not in gone}, **self.variables}


def in_network(box: Box, network: Network) -> Box:
    """The same box with another network."""
    return replace(box, network=network)


def system_read_only() -> tuple[Mount, ...]:
    """The whole file system, read-only, with `/dev` and `/proc` of the box's own."""
    # Root may write kernel settings, and read about its memory, even without capabilities; for others a covered `/proc` would forbid
    # boxes inside the box.
    memory = (Mount(Access.HIDDEN, path) for path in _OF_KERNEL)
    kernel = (Mount(Access.READ, "/proc/sys"), *memory) if os.geteuid() == 0 else ()
    return (Mount(Access.READ, "/"), Mount(Access.DEVICES, "/dev"), Mount(Access.PROCESSES, "/proc"), *kernel)


def make_layer(folder: str, below: str) -> Mount:
    """Make `folder` a layer over the folder `below`: its content stays as it is, and writes go to `folder/above`.

    A layer that exists keeps what was written to it."""
    for name in ("above", "work", "shown"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    link = os.path.join(folder, "below")
    if not os.path.lexists(link):
        # The options of a mount separate paths by commas and colons. A link has a name without them.
        os.symlink(below, link)
    return Mount(Access.LAYER, below, folder)


# Takes the number of layers, their folders, and the command to run with them mounted.
_MOUNT_LAYERS = """
layers=$1; shift
while [ "$layers" -gt 0 ]; do
    cd "$1" && mount -t overlay -o "$0lowerdir=below,upperdir=above,workdir=work" overlay shown || exit 125
    layers=$((layers - 1)); shift
done
unset OLDPWD
exec "$@"
"""


def _mounting_apart(layers: Sequence[str]) -> tuple[str, ...]:
    """The beginning of a command line that mounts layers, in a mount namespace of its own. bubblewrap 0.8 cannot do that itself, nor can
    it keep out what is mounted outside later, which would be writable in the box."""
    if not layers:
        return _apart() if gets_later_mounts() else ()
    options = "" if os.geteuid() == 0 else "userxattr,"
    return (*_apart(), "/bin/sh", "-c", _MOUNT_LAYERS, options, str(len(layers)), *layers)


def _apart() -> tuple[str, ...]:
    as_root = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    unshare = shutil.which("unshare", path=_search_path()) or "unshare"
    return (unshare, "--mount", "--propagation", "private", *as_root, "--")


@cache
def gets_later_mounts() -> bool:
    """Whether a box would show what is mounted outside after its start, and can be kept from that. Some systems let bubblewrap alone make
    namespaces of users."""
    mounts = _content("/proc/self/mountinfo").splitlines()
    if not any(" shared:" in line or " master:" in line for line in mounts):
        return False
    try:
        return subprocess.run((*_apart(), "true"), capture_output=True, timeout=SELF_TEST_SECONDS).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def _namespaces(box: Box) -> Iterator[str]:
    if not box.outlived:
        yield "--die-with-parent"
    yield from ("--unshare-pid", "--unshare-ipc", "--unshare-uts")
    if not _is_in_filter():
        yield "--unshare-cgroup-try"
    yield from ("--cap-drop", "ALL")
    if box.network is Network.NONE:
        yield "--unshare-net"
    if box.new_session:
        yield "--new-session"
    if os.geteuid() == 0:
        yield from (option for name in _ROOT_POWERS for option in ("--cap-add", f"CAP_{name}"))
    elif gets_later_mounts() or any(mount.access is Access.LAYER for mount in box.mounts):
        # What was mounted before was so as root of a user namespace; inside, the person is themselves again.
        yield from ("--unshare-user", "--uid", str(os.geteuid()), "--gid", str(os.getegid()))


@cache
def _is_in_filter() -> bool:
    """Whether this process is in a box that refuses new namespaces of control groups: a box inside it needs none, and cannot have one."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    # The kernel refuses these flags as invalid, so nothing is made; a filter refuses them before.
    return libc.unshare(NEW_CONTROL_GROUPS | 1) != 0 and ctypes.get_errno() == errno.EPERM


def _ordered(mounts: Sequence[Mount]) -> list[Mount]:
    return sorted(mounts, key=lambda mount: len(Path(mount.path).parts))


def _options(mount: Mount) -> tuple[str, ...]:
    source = mount.source or mount.path
    match mount.access:
        case Access.READ:
            return ("--ro-bind", source, mount.path)
        case Access.READ_IF_THERE:
            return ("--ro-bind-try", source, mount.path)
        case Access.WRITE:
            return ("--bind", source, mount.path)
        case Access.LINK:
            return ("--symlink", source, mount.path)
        case Access.DEVICE:
            return ("--dev-bind", source, mount.path)
        case Access.LAYER:
            return ("--bind", os.path.join(source, "shown"), mount.path)
        case Access.EMPTY:
            return ("--tmpfs", mount.path)
        case Access.HIDDEN if os.path.isdir(mount.path):
            return ("--tmpfs", mount.path)
        case Access.HIDDEN:
            return ("--ro-bind", os.devnull, mount.path) if os.path.lexists(mount.path) else ()
        case Access.DEVICES:
            return ("--dev", mount.path)
        case Access.PROCESSES:
            return ("--proc", mount.path)


def _is_hidden_folder(mount: Mount) -> bool:
    return mount.access is Access.HIDDEN and os.path.isdir(mount.path)


@cache
def program() -> str:
    """The absolute path of bubblewrap; empty if it is not installed."""
    return shutil.which("bwrap", path=_search_path()) or ""


def _search_path() -> str:
    return os.pathsep.join((*SYSTEM_FOLDERS, os.environ.get("PATH", "")))


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there are no boxes on this machine, and what helps. Both are empty if there are."""

    sentence: str = ""
    hint: str = ""

    def __bool__(self) -> bool:
        return bool(self.sentence)

    def __str__(self) -> str:
        return f"{self.sentence} {self.hint}".strip()


@cache
def problem() -> Problem:
    """Start one box and look whether it hides and protects what it should. The answer is kept for the life of the process."""
    if not sys.platform.startswith("linux"):
        return Problem("Boxes need Linux.", "run untildone on Linux, or in a Linux container")
    if not program():
        return Problem("bubblewrap is not installed.", "install the package `bubblewrap` (apt-get, dnf, pacman, apk)")
    try:
        return _tried()
    except (OSError, subprocess.SubprocessError) as error:
        return Problem(f"bubblewrap cannot be tried: {error}.", "free some disk space, memory or processes")


def _tried() -> Problem:
    with tempfile.TemporaryDirectory(prefix="box-") as place:
        folder = os.path.realpath(place)
        for name in ("hidden", "shown"):
            os.mkdir(os.path.join(folder, name))
            Path(folder, name, "file").touch()
        said, complaint = _said(
            Box(folder, (*system_read_only(), Mount(Access.HIDDEN, os.path.join(folder, "hidden"))))
        )
    return Problem() if said else Problem(f"bubblewrap does not work here: {complaint}.", _hint())


# Prints the word, which is $0, if the hidden file is not there, no file can be written and the processes outside are out of sight.
_SELF_TEST = """
[ -e shown/file ] || exit 1
[ ! -e hidden/file ] || { echo 'a hidden folder is visible' >&2; exit 1; }
(: > shown/file) 2>/dev/null && { echo 'a read-only file can be written' >&2; exit 1; }
(: > hidden/new) 2>/dev/null && { echo 'a hidden folder can be written' >&2; exit 1; }
set -- /proc/[0-9]*
[ "$#" -lt 9 ] || { echo 'processes outside are visible' >&2; exit 1; }
echo "$0"
"""


def _said(box: Box, script: str = _SELF_TEST) -> tuple[bool, str]:
    """Whether the script in the box printed the word that it was given; if not, the last line of its errors."""
    word = secrets.token_hex(8)
    command, environment = box.argv(("/bin/sh", "-c", script, word)), {"PATH": _search_path()}
    ended = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SELF_TEST_SECONDS
    )
    lines = [line.strip() for line in ended.stderr.decode(errors="replace").splitlines() if line.strip()]
    return ended.stdout.decode(errors="replace").strip() == word, lines[-1] if lines else "a box says nothing"


@cache
def has_layers(folder: str) -> bool:
    """Whether layers can be kept in this folder. Some kernels and file systems do not allow it."""
    try:
        with tempfile.TemporaryDirectory(prefix="layer-", dir=folder) as place:
            below = os.path.join(place, "a,b:c")
            os.mkdir(below)
            Path(below, "file").write_text("below\n", encoding="ascii")
            layer = make_layer(os.path.join(place, "layer"), below)
            said, _ = _said(Box(below, (*system_read_only(), layer)), _LAYER_TEST)
            written = Path(below, "file").read_text(encoding="ascii") != "below\n"
            make_removable(layer.source)
    except (OSError, subprocess.SubprocessError):
        return False
    return said and not written


_LAYER_TEST = '[ "$(cat file)" = below ] && echo above > file && [ "$(cat file)" = above ] && echo "$0"'


def make_removable(layer: str) -> None:
    """Make the folder of a layer one that its owner may delete: the kernel keeps a folder without any permission in it."""
    inside = os.path.join(layer, "work", "work")
    if os.path.isdir(inside):
        os.chmod(inside, 0o700)


def _hint() -> str:
    """What most likely forbids boxes on this machine, and how to allow them."""
    kernel = "/proc/sys/kernel"
    if os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv"):
        return "this is a container: start it so that user namespaces are allowed, as with --security-opt seccomp=unconfined"
    if os.geteuid() == 0:
        return (
            "root lacks the right to make namespaces here: run untildone as another user, or outside of this container"
        )
    if _content(f"{kernel}/unprivileged_userns_clone") == "0":
        return "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1"
    if _content("/proc/sys/user/max_user_namespaces") == "0":
        return "allow user namespaces: sysctl user.max_user_namespaces=15000"
    if _content(f"{kernel}/apparmor_restrict_unprivileged_userns") == "1":
        return "AppArmor forbids user namespaces: give bwrap a profile, or sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    return "try it by hand: bwrap --ro-bind / / --unshare-pid true"


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
