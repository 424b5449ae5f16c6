"""What Claude Code needs in a box."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.agents._needs import files, folders, hosts_in, in_home
from untildone.agents._setups import own_folder
from untildone.core.plugins.agent import Needs, OwnFile

_HOSTS = ("api.anthropic.com", "claude.ai", "console.anthropic.com", "platform.claude.com")
_ADDRESSES = (
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_FOUNDRY_BASE_URL",
)
_STEERING = (
    *("agents", "commands", "hooks", "output-styles", "plugins", "routines", "rules", "skills", "workflows"),
    *("agent-memory", "cowork_plugins", "dev-mods", "seed-admin"),
    # What a daemon of the person runs.
    *("daemon", "jobs"),
)
_KEPT_BY_PROGRAM = ("backups", "mcp-discovery-cache", "mcp-skill-archives", "shares", "state")
"""What the program writes and believes later: settings that it puts back, answers of servers, what a person agreed to."""
_CLOUDS = {
    "CLAUDE_CODE_USE_BEDROCK": ((".aws",), ("*.amazonaws.com",)),
    "CLAUDE_CODE_USE_VERTEX": ((".config/gcloud",), ("*.googleapis.com",)),
    "CLAUDE_CODE_USE_FOUNDRY": ((".azure",), ("*.azure.com", "login.microsoftonline.com")),
}
"""Variables that choose a cloud, the credentials for it in the home folder, and its hosts."""


def needs(environment: Mapping[str, str]) -> Needs:
    folder = own_folder(environment, "CLAUDE_CONFIG_DIR", ".claude")
    state = (
        f"{folder}/.claude.json"
        if environment.get("CLAUDE_CONFIG_DIR")
        else own_folder(environment, "", ".claude.json")
    )
    clouds = [cloud for name, cloud in _CLOUDS.items() if environment.get(name)]
    return Needs(
        writable=(folder, *in_home(environment, ".cache/claude-cli-nodejs")),
        # It holds servers of the person that are started with every session.
        copied=(OwnFile(state, "{}\n"),),
        read_only=(
            *files(folder, "settings.json", "settings.local.json", "remote-settings.json", content="{}\n"),
            *files(folder, "CLAUDE.md"),
            *files(folder, "scheduled_tasks.json", content='{"tasks": []}\n'),
            *folders(folder, *_STEERING),
        ),
        of_projects=(f"{folder}/projects/*/memory",),
        fresh=tuple(f"{folder}/{name}" for name in ("shell-snapshots", "session-env", *_KEPT_BY_PROGRAM)),
        # The program itself, in an older way to install it.
        installed=(f"{folder}/local",),
        readable=tuple(path for names, _ in clouds for path in in_home(environment, *names)),
        hosts=(*_HOSTS, *(host for _, hosts in clouds for host in hosts), *hosts_in(environment, *_ADDRESSES)),
        variables=("CLAUDE_CONFIG_DIR", *_ADDRESSES),
    )
