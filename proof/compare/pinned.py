"""The compared tools with exact versions and their names in the registries."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    version: str
    registry: str
    """`pip` or `npm`: the client that installs it."""
    extra_requirements: tuple[str, ...] = ()
    """Additional requirements that the package does not declare."""

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"


RALPHIFY = Package("ralphify", "0.3.0", "pip")
RALPH_LOOP = Package("ralph-loop", "0.6.0", "pip")
RALPH_TUI = Package("ralph-tui", "0.11.0", "npm", extra_requirements=("bun@1.4.4",))
PACKAGES = (RALPHIFY, RALPH_LOOP, RALPH_TUI)
