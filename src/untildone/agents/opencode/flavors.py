"""opencode and its forks: where they differ are names of folders, files and variables, and the hosts of their own services."""

from __future__ import annotations

from untildone.core.values.value import dataclass


@dataclass(frozen=True, slots=True)
class Flavor:
    name: str
    """The name of the program and of its folders in the home folder. In capitals, it begins the names of its variables."""
    settings: tuple[str, ...]
    """The names of its settings files in its folder of settings."""
    steering_files: tuple[str, ...]
    hosts: tuple[str, ...]
    migrated: tuple[str, ...] = ()
    """Files in its settings folder that mark which settings it has migrated. Without them it would try to migrate the settings, which are
    read-only in a box, and exit."""

    def variable(self, name: str) -> str:
        """The variable of the program that means `name`."""
        return f"{self.name.upper()}_{name}"


_SETTINGS = ("opencode.json", "opencode.jsonc", "config.json")
_STEERING = ("opencode.json", "opencode.jsonc", ".opencode/")
OWN = Flavor("opencode", _SETTINGS, _STEERING, ("opencode.ai",))
KILO = Flavor(
    "kilo",
    ("kilo.json", "kilo.jsonc", *_SETTINGS),
    ("kilo.json", "kilo.jsonc", ".kilo/", ".kilocode/", *_STEERING),
    ("kilo.ai", "app.kilo.ai", "api.kilo.ai", "ingest.kilosessions.ai"),
    (".bash-permission-migrated",),
)
