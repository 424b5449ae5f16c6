"""What opencode needs in a box."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.agents._needs import files, folders, hosts_of
from untildone.agents._setups import own_folder
from untildone.agents.opencode.flavors import Flavor
from untildone.core.plugins.agent import Needs

_HOSTS = (
    *("models.dev", "api.anthropic.com", "api.openai.com", "openrouter.ai", "api.githubcopilot.com"),
    *("generativelanguage.googleapis.com", "github.com", "api.github.com"),
)
_STEERING = ("agent", "command", "plugin", "skill", "tool", "mode")
_INSTALLED = ("bin", "node_modules", "packages")
_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")


def needs(environment: Mapping[str, str], flavor: Flavor) -> Needs:
    config, content = flavor.variable("CONFIG"), flavor.variable("CONFIG_CONTENT")
    folder = f"{own_folder(environment, 'XDG_CONFIG_HOME', '.config')}/{flavor.name}"
    state = (("XDG_DATA_HOME", ".local/share"), ("XDG_STATE_HOME", ".local/state"), ("XDG_CACHE_HOME", ".cache"))
    data, _, cache = own = [f"{own_folder(environment, variable, name)}/{flavor.name}" for variable, name in state]
    return Needs(
        writable=(folder, *own),
        installed=(f"{data}/bin", *(f"{cache}/{name}" for name in _INSTALLED), f"{folder}/node_modules"),
        read_only=(
            *files(folder, *flavor.settings, content="{}\n"),
            *files(folder, "AGENTS.md", *flavor.migrated),
            *folders(folder, *_STEERING, *(f"{name}s" for name in _STEERING)),
        ),
        hosts=(*flavor.hosts, *_HOSTS, *hosts_of(environment.get(content, ""))),
        variables=(*_VARIABLES, config, content),
    )
