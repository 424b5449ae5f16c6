"""What GitHub Copilot CLI needs in a box."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.agents._needs import files, folders, hosts_in, in_home, named
from untildone.agents._setups import own_folder
from untildone.core.plugins.agent import Needs, PartOwn

_HOSTS = ("github.com", "api.github.com", "*.githubcopilot.com")
_VARIABLES = (
    "COPILOT_*", "GH_*", "GITHUB_COPILOT_*", "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "GITHUB_COPILOT_API_TOKEN",
    "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_AGENT_PROMPT", "USE_BUILTIN_RIPGREP",
)  # fmt: skip
_STEERING = ("installedPlugins", "installed_plugins", "trustedFolders", "trusted_folders")
_ADDRESSES = ("COPILOT_PROVIDER_BASE_URL", "COPILOT_API_URL", "GH_HOST")


def needs(environment: Mapping[str, str]) -> Needs:
    home = own_folder(environment, "COPILOT_HOME", ".copilot")
    return Needs(
        writable=(home, *in_home(environment, ".cache/copilot"), *named(environment, "COPILOT_PKG_CACHE_HOME")),
        # Beside the login and what it has shown, it lists plugins with the folders from which they run.
        partly=(PartOwn(f"{home}/config.json", _STEERING),),
        read_only=(
            *files(home, "settings.json", content="{}\n"),
            *files(home, "mcp-config.json", content='{"mcpServers": {}}\n'),
            *files(home, "lsp-config.json", content='{"lspServers": {}}\n'),
            *files(home, "copilot-instructions.md"),
            *folders(home, "agents", "hooks", "skills", "instructions", "installed-plugins"),
        ),
        installed=(f"{home}/pkg", *in_home(environment, ".cache/copilot/pkg")),
        hosts=(*_HOSTS, *hosts_in(environment, *_ADDRESSES)),
        variables=_VARIABLES,
    )
