"""How the hook gets into an agent's settings, and into a single run of an agent under `untildone wrap`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from untildone.core.values.value import dataclass, field

RUN_VARIABLE = "UNTILDONE_WRAP"
"""Holds the folder of a wrapped run, for an agent whose hook command must be the same text in every run."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where the hook of an agent is installed."""

    file: Path
    commands: Path | None = None
    """The folder for slash commands, if the agent has such a folder."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value in the agent's settings that the hook needs beside its own entries. A value that the person has set stays."""

    path: tuple[str, ...]
    value: str
    warning: str
    """The consequence of another value, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an agent at the person's terminal, with the hook."""

    arguments: tuple[str, ...]
    folder: Path
    """The run's own folder, which is deleted at its end."""
    status: str
    """What the agent shows while the hook works, if it can."""
    environment: Mapping[str, str]
    hooks: Callable[[str], dict[str, Any]]
    """The hook entries by event. The argument is passed on to the hook: the run's folder, or `$` and RUN_VARIABLE."""
    read_settings: Callable[[str], dict[str, Any]]
    """Reads settings of the person: JSON, or the path of a file with it. Raises UsageError."""


@dataclass(frozen=True, slots=True)
class Injected:
    """What the agent is started with, so that it calls the hook."""

    arguments: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Texts to be written into the run's folder, by file name."""


class HookSetup(Protocol):
    """Pure: it names files and makes their content; the host reads and writes them."""

    settings: tuple[Setting, ...]
    hint: str
    """A note for the person after the installation; may be empty."""
    reads_comments: bool
    """Whether the agent reads settings with comments. One that does not would ignore the whole file, with the hook."""

    def location(self, folder: Path, home: Path, environment: Mapping[str, str], *, for_person: bool) -> Location:
        """The settings of the project in `folder`, or those of the person."""
        ...

    def entry(self, kind: str, command: str, seconds: int) -> dict[str, Any]:
        """The entry for one event in the settings. The hook may take `seconds`."""
        ...

    def inject(self, run: Run) -> Injected:
        """Add the hook to one run, so that nothing has to be installed. Raises UsageError if an argument forbids hooks."""
        ...

    def folder_of_runs(self, environment: Mapping[str, str]) -> Path | None:
        """The folder in which the run's folder must be created; None: any."""
        ...
