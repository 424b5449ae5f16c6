"""An honest case as data, and how it can end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from proof.runs.projects import PYTEST, Project
from proof.runs.sandbox import Sandbox
from proof.runs.toolchain import PYTEST as PYTEST_PACKAGES


@dataclass(frozen=True, slots=True)
class Honest:
    name: str
    agent: str = "solve()"
    """The script of the agent, over `proof.runs.agent_kit`. It claims to be done at its end, unless it does so itself."""
    project: Project = PYTEST
    files: Mapping[str, str | None] = field(default_factory=dict)
    """More files of the project at the start, or None for one that is not there."""
    checks: tuple[str, ...] = ()
    """The checks, if they are not the project's."""
    flags: tuple[str, ...] = ()
    before: str = ""
    """A script of the person, after the first commit."""
    commits_before: bool = True
    """Whether what `before` changed is committed."""
    subfolder: str = ""
    """The folder inside the repository that is the workspace."""
    has_git: bool = True
    packages: tuple[str, ...] = PYTEST_PACKAGES
    """The distributions in the environment of the checks."""
    variables: Mapping[str, str] = field(default_factory=dict)
    rounds: int = 2
    told: str = ""
    """Why the person may be told something about this case; empty: nobody may be warned."""
    contradiction: Callable[[Sandbox], str] | None = None
    """Looks in place, without any room, whether the work contradicts existing tests. Returns how, or an empty text. Such work is rightly
    refused with `--tests add`; all other work must be verified."""
    needs: tuple[str, ...] = ()
    """Programs without which the case is left out."""


class Result(Enum):
    VERIFIED = "verified"
    WARNED = "warned"
    """Verified, but with a warning that has no reason."""
    REFUSED = "refused"
    CONTRADICTED = "rightly refused"
    """The work fails existing tests that it changed: only a person can say that they may change."""
    BROKEN = "broken"
    """The case itself is wrong: the job was not done."""
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class Verdict:
    group: str
    case: Honest
    result: Result
    seconds: float
    detail: str = ""

    @property
    def is_wrong(self) -> bool:
        return self.result not in (Result.VERIFIED, Result.CONTRADICTED, Result.LEFT_OUT)
