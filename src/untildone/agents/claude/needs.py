"""What Claude Code needs in a box."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.agents._needs import AWS, AZURE, GOOGLE_CLOUD, files, folders, hosts_in, in_home
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
    "CLAUDE_CODE_USE_BEDROCK": ((".aws",), ("*.amazonaws.com",), AWS),
    "CLAUDE_CODE_USE_VERTEX": ((".config/gcloud",), ("*.googleapis.com",), GOOGLE_CLOUD),
    "CLAUDE_CODE_USE_FOUNDRY": ((".azure",), ("*.azure.com", "login.microsoftonline.com"), AZURE),
}
"""Variables that choose a cloud, the credentials for it in the home folder, its hosts, and its variables."""
_VARIABLES = (
    "ANTHROPIC_*", "CLAUDE_*", "CLAUDECODE", "DISABLE_*", "ENABLE_*", "MCP_*", "OTEL_*", "BASH_*", "IS_SANDBOX", "IS_DEMO",
    "API_TIMEOUT_MS", "MAX_THINKING_TOKENS", "MAX_MCP_OUTPUT_TOKENS", "MAX_STRUCTURED_OUTPUT_RETRIES", "FALLBACK_FOR_ALL_PRIMARY_MODELS",
    "SLASH_COMMAND_TOOL_CHAR_BUDGET", "USE_BUILTIN_RIPGREP", "FORCE_AUTOUPDATE_PLUGINS", "CLOUD_ML_REGION", "VERTEX_REGION_*",
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_FOUNDRY_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_REFRESH_TOKEN", "CLAUDE_CODE_OAUTH_SCOPES", "CLAUDE_CODE_SESSION_ACCESS_TOKEN", "CLAUDE_CODE_CLIENT_CERT",
    "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "OTEL_EXPORTER_OTLP_HEADERS",
)  # fmt: skip


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
            # Workers that its service starts.
            *files(folder, "daemon.json", content="{}\n"),
            *files(folder, "scheduled_tasks.json", content='{"tasks": []}\n'),
            *folders(folder, *_STEERING),
        ),
        kept_absent=(f"{folder}/launch.json", f"{folder}/loop.md"),
        of_projects=(f"{folder}/projects/*/memory",),
        fresh=tuple(f"{folder}/{name}" for name in ("shell-snapshots", "session-env", *_KEPT_BY_PROGRAM)),
        # The program itself, in an older way to install it; programs that browsers and systemd start for it.
        installed=tuple(f"{folder}/{name}" for name in ("local", "chrome", "systemd")),
        readable=tuple(path for names, _, _ in clouds for path in in_home(environment, *names)),
        hosts=(*_HOSTS, *(host for _, hosts, _ in clouds for host in hosts), *hosts_in(environment, *_ADDRESSES)),
        variables=(*_VARIABLES, *(variable for _, _, variables in clouds for variable in variables)),
    )
