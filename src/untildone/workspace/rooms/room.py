"""What every room offers to the gates that run in it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from untildone.core.model import RoomKind
from untildone.system.box.sandbox import Mount, Network
from untildone.workspace.rooms.toolchain import named_scripts

SHELL = "/bin/sh"


class File(Protocol):
    """A file of a tree."""

    @property
    def mode(self) -> str: ...

    @property
    def blob(self) -> str: ...


class Change(Protocol):
    """A path that differs between two trees."""

    @property
    def path(self) -> str: ...

    @property
    def before(self) -> File | None: ...

    @property
    def after(self) -> File | None: ...


class Trees(Protocol):
    """Where the trees of a workspace are kept: `workspace.shadow.Shadow`."""

    def files(self, tree: str) -> Mapping[str, File]: ...

    def read(self, blobs: Iterable[str]) -> Mapping[str, bytes]: ...

    def changed(self, before: str, after: str) -> Iterable[Change]: ...

    def rules_digest(self) -> str:
        """A hash of what was kept at the start of the loop to decide which files belong to trees."""

    def contents(self, blobs: Iterable[str]) -> Iterable[tuple[str, bytes]]:
        """As `read`, one after the other."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a loop works and what its rooms are made from."""

    folder: Path
    """The folder of the loop's rooms, in the state folder."""
    root: str
    """The folder whose files are in the tree, links resolved."""
    workspace: str
    """The working folder of commands, at `root` or below it."""
    hidden: tuple[str, ...] = ()
    """Folders and files of untildone."""
    network: Network = Network.NONE
    environment: Mapping[str, str] = field(default_factory=dict)
    """Names the home folder, and folders of tools in it."""
    shows_repository: bool = True
    """Whether commands find the person's repository, as it was when the loop began."""
    concealed: tuple[Mount, ...] = ()
    """What agents must not read: commands run code that they wrote, and print what it finds."""
    named: tuple[str, ...] = ()
    """Words of checks that may name scripts outside of the workspace."""
    lane: int = 0
    """The number of the room among those that are open at once. Each has a folder of its own for what commands write."""

    @property
    def scripts(self) -> list[str]:
        """The scripts outside of the workspace that checks name."""
        return named_scripts.found(self.named, self.workspace, self.environment) if self.named else []

    @property
    def own(self) -> Path:
        """The folder for what belongs to one open room."""
        return self.folder / f"lane-{self.lane}" if self.lane else self.folder

    @property
    def away(self) -> Path:
        """Where is what waits for being removed."""
        return self.own / "away"

    @property
    def copies(self) -> Path:
        """Where the copies of workspaces are kept from one loop to the next."""
        return self.folder.parents[1] / "copies"

    @property
    def copy(self) -> Path:
        """Where the copy of this workspace is kept."""
        return self.copies / hashlib.sha256(os.fsencode(self.root)).hexdigest()[:32]

    @property
    def start(self) -> Path:
        """Where the record of the start is."""
        return self.folder / "start"

    @property
    def settings(self) -> Path:
        """Where the settings of the person's repository are kept, as of the start."""
        return self.folder / "settings"

    @property
    def layers(self) -> Path:
        """Where the writes of commands to packages and caches go."""
        return self.own / "layers"


@dataclass(frozen=True, slots=True)
class Touched:
    """Judge files that a command wrote to while it judged."""

    changed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    """Written again with the same meaning, as formatters do."""


class Room(Protocol):
    """Where the commands of gates run."""

    @property
    def kind(self) -> RoomKind: ...

    @property
    def folder(self) -> str:
        """The working folder from which a command is started."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The whole environment of a command."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the person about what the room shows."""

    def argv(self, command: str) -> tuple[str, ...]:
        """The command line that runs a shell command in the room."""

    def next_command(self) -> None:
        """Make the room ready for another command: what the last one wrote is gone, but for the outputs of builds."""

    def touched(self) -> Touched:
        """The tests and settings of runners that commands wrote to since the last call, or since the room was made."""

    def holds(self) -> bool:
        """Whether the room shows nothing that must be hidden. Waits for what was not yet compared when it was made. False: what commands
        did in it does not count, and another room must be made. Raises RoomRefused if there can be none."""

    def is_void(self) -> bool:
        """Whether it is known that the room does not hold, so that no command need go on in it."""

    def absent(self) -> tuple[str, ...]:
        """Sentences about files that are not in the room, or not as in the workspace: a reason why a command may fail here only."""


@dataclass(frozen=True, slots=True)
class InPlace:
    """A room that is the workspace itself."""

    kind: RoomKind
    folder: str
    environment: Mapping[str, str]
    notes: tuple[str, ...] = ()
    touched: Callable[[], Touched] = Touched

    def argv(self, command: str) -> tuple[str, ...]:
        return (SHELL, "-c", command)

    def next_command(self) -> None:
        return

    def holds(self) -> bool:
        return True

    def is_void(self) -> bool:
        return False

    def absent(self) -> tuple[str, ...]:
        return ()
