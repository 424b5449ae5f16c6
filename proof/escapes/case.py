"""A try to get out of a box as data, and how it can end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Network(Enum):
    """The network of the box."""

    ALL = "all"
    HOSTS = "hosts"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Escape:
    name: str
    script: str
    """Python, over `proof.escapes.kit`. It runs as the agent of a loop."""
    network: Network = Network.HOSTS
    agent: str = "command"
    flags: tuple[str, ...] = ()
    """More flags of `untildone run`."""
    before: str = ""
    """A shell script of the person in the workspace, before the loop."""
    then: tuple[str, ...] = ()
    """What the person does after the loop, in the workspace: shell scripts."""
    needs: tuple[str, ...] = ()
    """Programs without which the try means nothing."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """More variables of the person's environment; `{home}` and `{workspace}` are folders, `{path}` and `{modules}` the person's PATH and
    PYTHONPATH."""
    at_terminal: bool = False
    """Whether the person starts the loop at a terminal."""
    known: str = ""
    """Why it gets out, if that is known and documented; empty: it must not."""


class Result(Enum):
    HELD = "held"
    GOT_OUT = "got out"
    BROKEN = "broken"
    """The try itself is wrong: it did not run to its end."""
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    family: str
    escape: Escape
    result: Result
    evidence: str = ""
    seconds: float = 0.0

    @property
    def is_hole(self) -> bool:
        """Whether the try ended in a way that must not be."""
        return self.result is Result.BROKEN or (self.result is Result.GOT_OUT and not self.escape.known)
