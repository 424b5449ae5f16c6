"""What Codex needs in a box."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.agents._needs import files, folders, hosts_in
from untildone.agents._setups import own_folder
from untildone.core.plugins.agent import Needs

_HOSTS = ("api.openai.com", "chatgpt.com", "auth.openai.com")
_VARIABLES = (
    "CODEX_*", "OPENAI_*", "OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_GITHUB_PERSONAL_ACCESS_TOKEN",
)  # fmt: skip
_ADDRESSES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def needs(environment: Mapping[str, str]) -> Needs:
    home = own_folder(environment, "CODEX_HOME", ".codex")
    return Needs(
        writable=(home,),
        read_only=(
            # It takes variables for itself and its commands from `.env`.
            *files(home, "AGENTS.md", "AGENTS.override.md", "config.toml", "*.config.toml", ".env"),
            # Programs in which its commands run.
            *files(home, "environments.toml"),
            *files(home, "hooks.json", content="{}\n"),
            *folders(home, "agents", "memories", "prompts", "rules", "skills"),
        ),
        fresh=(f"{home}/tmp", f"{home}/shell_snapshots"),
        installed=(f"{home}/plugins", f"{home}/packages"),
        hosts=(*_HOSTS, *hosts_in(environment, *_ADDRESSES)),
        variables=_VARIABLES,
    )
