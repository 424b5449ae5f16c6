"""The `Agent` protocol: how a program that works on a prompt is called, and how its output is read. Pure: it starts no process.

The stop hook imports this file, so it imports nothing that takes time.
"""

from __future__ import annotations

from untildone.core.values.hints import Protocol
from untildone.core.values.value import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from untildone.core.plugins.agent_io import Invocation, Reader, Request
    from untildone.core.plugins.hook import HookSide
    from untildone.core.plugins.mcp_setup import McpSetup
    from untildone.core.plugins.transcript import SessionRecord


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an agent program can do. Modes and the engine decide by these, never by the agent's name."""

    resume: bool = False
    fork: bool = False
    cost: bool = False
    """Its output says how many dollars a run cost."""
    tokens: bool = False
    """Its output says how many tokens a run used."""
    system_prompt: bool = False
    read_only: bool = False
    """It has a read-only mode, so that a supervisor cannot change what it judges."""
    native_goal: bool = False
    """It has a goal loop of its own, which can run inside of a turn: `Request.goal`."""
    interrupt: bool = False
    """On SIGINT it ends its turn in an orderly way and notes that in its session. A turn at its limit is asked so before it is ended."""
    warm: bool = False
    """One process can serve several turns of a session: its reader is a `Conversation` that has a `next_turn`."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file of the person that steers an agent program, whether it exists or not."""

    path: str
    ignored: tuple[str, ...] = ()
    """Top-level fields of the JSON or TOML in it that the program writes by itself and that steer nothing."""


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of an agent program that work. An unknown version counts as new."""

    oldest: str = ""
    """The oldest version that was tested; empty: none was."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Options of the program that not every version from `oldest` on has, each with the first version that has it."""

    forks_elsewhere: str = ""
    """The first version that can fork a session in another folder than the session's own; empty: all versions can."""

    def is_too_old(self, version: str) -> bool:
        return bool(self.oldest) and is_older(version, self.oldest)

    def has(self, flag: str, version: str) -> bool:
        """Whether a version knows an option."""
        return not is_older(version, self.flags.get(flag, ""))

    def can_fork_elsewhere(self, version: str) -> bool:
        """Whether a version can fork a session in another folder than the session's own."""
        return not is_older(version, self.forks_elsewhere)

    def is_in_question(self, argv: Iterable[str]) -> bool:
        """Whether the version decides about an option of this command line."""
        return any(word.partition("=")[0] in self.flags for word in argv)


@dataclass(frozen=True, slots=True)
class Login:
    """Where a program keeps its login. Only the existence of these places is checked; their content is not read."""

    command: str = ""
    """What a person runs to log in; empty: the program needs no login."""
    variables: tuple[str, ...] = ()
    """Environment variables that each log the program in."""
    files: tuple[str, ...] = ()
    """Files, relative to the home folder: if one of them exists, the program is logged in."""


def is_older(version: str, than: str) -> bool:
    """Whether a version is older than another. False if one of them is unknown."""
    return bool(version) and bool(than) and _numbers(version) < _numbers(than)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.partition("-")[0].partition("+")[0].split(".") if part.isdigit()]


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file or folder of the person that an agent program reads."""

    path: str
    content: str | None = ""
    """What a new one contains, if the person has none; None: it is a folder."""
    variable: str = ""
    """For a copy: the environment variable by which the program finds it; empty: it lies in the place of the file."""


@dataclass(frozen=True, slots=True)
class PartOwn:
    """A JSON file that an agent program must write, because it replaces it by renaming, of which some fields steer it."""

    path: str
    fields: tuple[str, ...]
    """The fields at the top that steer it. After a turn in a box they are as they were before."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a program needs of the machine to work in a box, beside its workspace. All paths are absolute; none need exist."""

    writable: tuple[str, ...] = ()
    """Folders in which it keeps its sessions, caches and login. They are created if they do not exist."""
    copied: tuple[OwnFile, ...] = ()
    """Files that the program writes and that also configure it. In a box it gets a copy, which is deleted afterwards."""
    read_only: tuple[OwnFile, ...] = ()
    """Files and folders that steer it, mostly inside the writable ones. They are created if they do not exist: else a program in
    the box could create them, and steer the program outside of it. A `*` in the name of a file stands for all that exist."""
    kept_absent: tuple[str, ...] = ()
    """Files that steer it too, and that must not be created empty: read-only where they exist. If a program in a box makes one, it is
    moved aside afterwards."""
    partly: tuple[PartOwn, ...] = ()
    """Files of which only some fields steer it."""
    of_projects: tuple[str, ...] = ()
    """Folders that steer it in one project, such as its memory. `*` stands for the path of the project, with a dash for each character
    that is not a letter or digit. Those of other projects are read-only; where one lacks it, it is created."""
    fresh: tuple[str, ...] = ()
    """Folders inside the writable ones with scripts that every running session executes: in a box it gets new ones, which are thrown
    away. Else a program in the box could change those of a session outside."""
    installed: tuple[str, ...] = ()
    """Folders inside the writable ones into which it downloads programs that it runs: read-only in a box; an empty one is treated as
    one of `fresh`."""
    readable: tuple[str, ...] = ()
    """What it reads although a box usually hides it, such as credentials of the cloud in which its model runs."""
    hosts: tuple[str, ...] = ()
    """The hosts of its API and login: `name`, `name:port` or `*.domain`."""
    variables: tuple[str, ...] = ()
    """Environment variables for this program alone, beside its login: its folders, the address of its API, its keys. `NAME_*` stands for
    all that begin so, but for secrets: these are named in full."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set in a box."""


class Agent(Protocol):
    """A program that works on a prompt."""

    name: str
    program: str
    """The executable that is looked up on PATH; empty if the request names it."""
    install: str
    """How to install its newest version, in one line."""
    versions: Versions
    login: Login
    capabilities: Capabilities
    steering_files: tuple[str, ...]
    """Files of a workspace that steer the program: settings, hooks, memory files. By name, or by the last parts of the path; a folder
    ends in `/`. A worker can write them, so they are hidden from reviewers."""

    @property
    def hook(self) -> HookSide | None:
        """How the program calls a stop hook; None: it has no such hook, so it cannot be wrapped either."""
        ...

    @property
    def mcp(self) -> McpSetup | None:
        """Where the program lists the MCP servers that it starts; None: nowhere."""
        ...

    def invocation(self, request: Request) -> Invocation:
        """The command line for a request."""
        ...

    def reader(self, request: Request) -> Reader:
        """A reader for the output of one run."""
        ...

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> SessionRecord | None:
        """The append-only file of lines that records a session; None: there is none, or its place is unknown."""
        ...

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        """The person's own files that steer the program as a reviewer: settings and memory files."""
        ...

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        """What the program needs in a box, with these variables and arguments of the person."""
        ...

    def hand_back(self, session_id: str) -> tuple[str, ...] | None:
        """The command that opens a session for a person at a terminal; None: there is none."""
        ...
