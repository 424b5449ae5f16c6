"""Where an agent program lists the MCP servers that it starts, and how an entry looks there."""

from __future__ import annotations

from untildone.core.values.value import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from untildone.core.values.hints import Any

URL = "URL"
"""Stands for the address in the entry of a server at an address."""
NAME = "untildone"
"""The name of the entry."""


@dataclass(frozen=True, slots=True)
class McpSetup:
    """Pure: it names files and makes entries; the caller reads and writes them."""

    variable: str
    """The environment variable that names the folder of the person's settings; empty: there is none."""
    personal: tuple[str, ...]
    """The file with the person's settings: its path below the home folder."""
    below_variable: str
    """The name of that file in the folder that `variable` names."""
    shared: tuple[str, ...] = ()
    """The file with the settings of a project: its path below the project's folder; empty: the program reads none."""
    key: str = "mcpServers"
    """The object or table that holds the entries."""
    extra: Mapping[str, Any] | None = None
    """Fields of an entry beside its command."""
    one_list: bool = False
    """Whether `command` is one list of words; else it is the program, and `args` the rest."""
    remote: Mapping[str, Any] | None = None
    """The entry for a server at an address, with `URL` in the place of the address. The token comes from a variable. None: it has none."""

    @property
    def is_toml(self) -> bool:
        return self.personal[-1].endswith(".toml")

    def file(self, folder: Path, home: Path, environment: Mapping[str, str], *, for_project: bool) -> Path | None:
        """The file to edit; None: the program has no such file for a project."""
        if for_project:
            return folder.joinpath(*self.shared) if self.shared else None
        own = environment.get(self.variable) if self.variable else ""
        return type(home)(own) / self.below_variable if own else home.joinpath(*self.personal)

    def remote_entry(self, url: str) -> dict[str, Any] | None:
        """The entry for a server at an address; None: the program takes none."""
        if self.remote is None:
            return None
        return {name: url if value == URL else value for name, value in self.remote.items()}

    def entry(self, command: tuple[str, ...]) -> dict[str, Any]:
        """The entry for a server that is started with a command."""
        words = {"command": list(command)} if self.one_list else {"command": command[0], "args": list(command[1:])}
        return {**(self.extra or {}), **words}
