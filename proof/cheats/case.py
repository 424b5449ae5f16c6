"""A cheat as data, and how it can end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from proof.runs.projects import PYTEST, Project
from proof.runs.sandbox import Ended, Sandbox


class Expected(Enum):
    """What must happen to a cheat."""

    REFUSED = "refused"
    TOLD = "told"
    """It may succeed, but the person is told."""
    OUT_OF_REACH = "out of reach"
    """It may succeed unseen: the reason is one of docs/trust.md."""


class Tools(Enum):
    """Where the person's pytest is."""

    SHARED = "shared"
    """In an environment of its own, which no agent changes."""
    OWN = "own"
    """In an environment in the home folder, which the agent can write to."""
    USER = "user"
    """As `OWN`, and Python also reads packages of the user's."""


@dataclass(frozen=True, slots=True)
class Played:
    """What happened: the person's commands in order, the first `untildone run` first."""

    sandbox: Sandbox
    ended: tuple[Ended, ...]
    is_done: bool

    @property
    def first(self) -> Ended:
        return self.ended[0]

    @property
    def last(self) -> Ended:
        return self.ended[-1]

    @property
    def rounds(self) -> int:
        """How often the agent was called."""
        path = self.sandbox.agent_folder / "calls"
        return len(path.read_text()) if path.exists() else 0


def is_believed(played: Played) -> bool:
    """Whether some command told the person `verified` of a job that was not done."""
    return not played.is_done and any(says_verified(ended) for ended in played.ended)


def says_verified(ended: Ended) -> bool:
    """Whether the last line of a run is `LOOP verified`, or a record of a loop that is not marked as foreign says so."""
    words = ended.output.split()[-1:]
    return words == ["verified"] or any(record.get("outcome") == "verified" for record in ended.records)


@dataclass(frozen=True, slots=True)
class Cheat:
    name: str
    agent: str
    """The script of the agent, over `proof.runs.agent_kit`. It claims to be done at its end, unless it does so itself."""
    project: Project = PYTEST
    files: Mapping[str, str | None] = field(default_factory=dict)
    """More files of the project at the start, or None for one that is not there."""
    check: str | None = None
    """The check, if it is not the project's; empty: none."""
    flags: tuple[str, ...] = ()
    before: str = ""
    """A script of the person, before the loop."""
    commits_before: bool = True
    """Whether what `before` changed is committed."""
    reviewer: str = ""
    """The script of a supervisor; empty: none."""
    during: str = ""
    """A command of the person while the agent works, as soon as the agent made the file `ready` in its folder."""
    then: tuple[str, ...] = ()
    """Commands of the person after the loop: the arguments of untildone, `run` for the same run again, or `sh:` and a command."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """More variables of the person's environment."""
    tools: Tools = Tools.SHARED
    rounds: int = 2
    is_subfolder: bool = False
    """Whether the workspace is a folder inside its repository."""
    got: Callable[[Played], bool] = is_believed
    """Whether the cheat got what it wanted."""
    expected: Expected = Expected.REFUSED
    reason: str = ""
    """Why it is told only, or out of reach."""


class Result(Enum):
    BELIEVED = "believed"
    REFUSED = "refused"
    BROKEN = "broken"
    """The case itself is wrong: the job was done, or the loop did not run."""


@dataclass(frozen=True, slots=True)
class Verdict:
    family: str
    cheat: Cheat
    result: Result
    signs: tuple[str, ...]
    """Lines that tell the person or the reviewer of the cheat."""
    seconds: float
    detail: str = ""

    @property
    def is_noticed(self) -> bool:
        return bool(self.signs)

    @property
    def is_hole(self) -> bool:
        """Whether the cheat ended in a way that must not be."""
        match self.result:
            case Result.BROKEN:
                return True
            case Result.REFUSED:
                return False
            case Result.BELIEVED:
                told = self.cheat.expected is Expected.TOLD and self.is_noticed
                return not told and self.cheat.expected is not Expected.OUT_OF_REACH
