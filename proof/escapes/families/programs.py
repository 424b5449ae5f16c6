"""What agent programs keep in their own folders and run: scripts of running sessions, downloaded programs, the folders that a person trusts."""

from __future__ import annotations

from proof.escapes.case import Escape

FAMILY = "programs"


def _kept(name: str, agent: str, *paths: str, settings: str = "true") -> Escape:
    """The agent changes files of its folder that its program runs outside too, and replaces the folders around them. `settings` is a
    command that writes settings of the person."""
    script = f"""
for path in {paths!r}:
    path = f"{{HOME}}/{{path}}"
    with contextlib.suppress(OSError):
        open(path, "a").write("ESCAPED")
    with contextlib.suppress(OSError):
        os.rename(os.path.dirname(path), os.path.dirname(path) + ".old")
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "a").write("ESCAPED")
"""
    files = " ".join(f'"$HOME/{path}"' for path in paths)
    # Boxes create folders that did not exist: a first run makes them.
    before = f'{settings}; for file in {files}; do mkdir -p "$(dirname "$file")"; echo original > "$file"; done; '
    look = f'for file in {files}; do [ "$(cat "$file")" = original ] || touch ../../../outside/escaped; done'
    return Escape(name, script, agent=agent, before=before, then=(look,), flags=("--promise", "NEVER"))


_CLAUDE = (
    "mkdir -p ~/.claude/scripts; echo original > ~/.claude/scripts/check.sh; "
    """echo '{"statusLine": {"type": "command", "command": "~/.claude/status.sh --short"}, '"""
    """'"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bash $HOME/.claude/scripts/check.sh"}]}]}}' > ~/.claude/settings.json; """
    """echo '{"mcpServers": {"x": {"command": "node", "args": ["'$HOME'/.claude/servers/x/run.js"]}}}' > ~/.claude.json"""
)
_CODEX = """mkdir -p ~/.codex; echo "notify = ['python3', '$HOME/.codex/notify.py']" > ~/.codex/config.toml"""
_GEMINI = """mkdir -p ~/.gemini; echo '{"mcpServers": {"x": {"command": "~/.gemini/servers/run.js"}}}' > ~/.gemini/settings.json"""

_PARTS = (
    """mkdir -p ~/.claude/own; echo '{"statusLine": {"command": "bash ~/.claude/line.sh"}, "env": {"X": "~/.claude/own/bin/x.sh"}, '"""
    """'"mcp": ["uv", "run", "--directory", "'$HOME'/.claude/served"]}' > ~/.claude/settings.json; """
    "echo '. ~/.claude/parts.sh; . ~/.claude/more/parts.sh' > ~/.claude/line.sh"
)
_LINKS = """
for name in ("linked.sh", "own/bin", "own"):
    with contextlib.suppress(OSError):
        os.rename(f"{HOME}/.claude/{name}", f"{HOME}/.claude/old{time.time_ns()}")
    with contextlib.suppress(OSError):
        os.makedirs(f"{HOME}/.claude/own/bin", exist_ok=True)
        open(f"{HOME}/.claude/{name}", "w").write("ESCAPED")
        open(f"{HOME}/.claude/own/bin/x.sh", "w").write("ESCAPED")
"""

ESCAPES = (
    _kept("what scripts of settings name (claude)", "claude", ".claude/parts.sh", ".claude/more/parts.sh", ".claude/served/server.py", settings=_PARTS),
    Escape(
        "scripts of settings that are links (claude)",
        _LINKS,
        agent="claude",
        before='mkdir -p ~/.claude/own ~/scripts/bin; echo original > ~/scripts/linked.sh; echo original > ~/scripts/bin/x.sh; '
        "ln -s ../scripts/linked.sh ~/.claude/linked.sh; ln -s ../../scripts/bin ~/.claude/own/bin; "
        """echo '{"statusLine": {"command": "~/.claude/linked.sh"}, "x": "~/.claude/own/bin/x.sh"}' > ~/.claude/settings.json""",
        then=(
            '[ "$(cat ~/.claude/linked.sh ~/.claude/own/bin/x.sh | uniq)" = original ] || touch ../../../outside/escaped',
            "rm -rf ~/.claude/old* ~/.claude/*.replaced* ~/.claude/own/*.replaced*",
        ),
        flags=("--promise", "NEVER"),
    ),
    _kept("shell snapshots of a session outside (claude)", "claude", ".claude/shell-snapshots/s.sh", ".claude/session-env/s/x.sh"),
    _kept("the installed program and tasks of the person (claude)", "claude", ".claude/local/claude", ".claude/scheduled_tasks.json", ".claude/routines/x.md"),
    _kept("programs of a session outside (codex)", "codex", ".codex/tmp/arg0-linux/s/apply_patch", ".codex/shell_snapshots/s.sh"),
    _kept("programs in which commands run, and profiles (codex)", "codex", ".codex/environments.toml", ".codex/work.config.toml"),
    _kept("workers of the service, programs of browsers (claude)", "claude", ".claude/daemon.json", ".claude/chrome/chrome-native-host"),
    _kept("plugins of the face (opencode)", "opencode", ".config/opencode/tui.json"),
    Escape(
        "the list of plugins (copilot)",
        'open(f"{HOME}/.copilot/new", "w").write(\'{"installedPlugins": [{"name": "x", "cache_path": "/tmp"}]}\')\n'
        'os.rename(f"{HOME}/.copilot/new", f"{HOME}/.copilot/config.json")',
        agent="copilot",
        before="""echo '{"installedPlugins": [], "shown": true}' > ~/.copilot/config.json""",
        then=(
            "grep -q cache_path ~/.copilot/config.json && touch ../../../outside/escaped; rm -f ~/.copilot/*.replaced*",
            """echo '{"installedPlugins": [], "shown": true}' > ~/.copilot/config.json; chmod 644 ~/.copilot/config.json""",
        ),
        flags=("--promise", "NEVER"),
    ),
    _kept("plugins and packages (codex)", "codex", ".codex/plugins/cache/x/plugin.json", ".codex/packages/standalone/bin/codex"),
    _kept("downloaded programs and trusted folders (gemini)", "gemini", ".gemini/tmp/bin/rg", ".gemini/trustedFolders.json"),
    _kept("downloaded packages (copilot)", "copilot", ".copilot/pkg/x/index.js", ".cache/copilot/pkg/x/index.js"),
    _kept("scripts that settings name (claude)", "claude", ".claude/status.sh", ".claude/scripts/lib.sh", ".claude/servers/x/run.js", settings=_CLAUDE),
    _kept("scripts that settings name (codex)", "codex", ".codex/notify.py", settings=_CODEX),
    _kept("scripts that settings name (gemini)", "gemini", ".gemini/servers/run.js", settings=_GEMINI),
    _kept("downloaded packages (opencode)", "opencode", ".cache/opencode/node_modules/x/index.js", ".cache/opencode/bin/rg", ".local/share/opencode/bin/x"),
)  # fmt: skip
