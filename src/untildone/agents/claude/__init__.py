"""Claude Code: `claude -p` with its stream of JSON lines."""

from __future__ import annotations

from untildone.core.plugins.agent import Capabilities, Login, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.plugins.agent import Needs, SettingsFile
    from untildone.core.plugins.agent_io import Invocation, Reader, Request
    from untildone.core.plugins.hook import HookSide
    from untildone.core.plugins.mcp_setup import McpSetup
    from untildone.core.plugins.transcript import SessionRecord

VERSIONS = Versions("2.1.197", flags={"--system-prompt-snapshot": "2.1.257"}, forks_elsewhere="2.1.223")


class Claude:
    name = "claude"
    program = "claude"
    install = "npm install -g @anthropic-ai/claude-code@latest"
    versions = VERSIONS
    login = Login(
        "claude",
        (
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ),
        (".claude/.credentials.json",),
    )
    capabilities = Capabilities(
        resume=True,
        fork=True,
        cost=True,
        tokens=True,
        system_prompt=True,
        read_only=True,
        native_goal=True,
        interrupt=True,
        warm=True,
    )
    steering_files = ("CLAUDE.md", "CLAUDE.local.md", ".claude/", ".claude.json", ".mcp.json")

    @property
    def hook(self) -> HookSide:
        from untildone.agents.claude.hook import HOOK

        return HOOK

    @property
    def mcp(self) -> McpSetup:
        from untildone.core.plugins.mcp_setup import McpSetup

        return McpSetup(
            "CLAUDE_CONFIG_DIR",
            (".claude.json",),
            ".claude.json",
            (".mcp.json",),
            extra={"type": "stdio"},
            remote={"type": "http", "url": "URL", "headers": {"Authorization": "Bearer ${UNTILDONE_TOKEN}"}},
        )

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.claude.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.claude.conversation import ClaudeConversation
        from untildone.agents.claude.stream import ClaudeReader

        return ClaudeConversation(request) if request.stays else ClaudeReader(request)

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> SessionRecord:
        from untildone.agents._setups import own_folder, session_files
        from untildone.agents.claude.transcript import ClaudeTranscript
        from untildone.core.plugins.transcript import SessionRecord

        home = own_folder(environment, "CLAUDE_CONFIG_DIR", ".claude")
        return SessionRecord(session_files(home, "projects/*", f"{session_id}.jsonl"), ClaudeTranscript())

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        from untildone.agents._setups import own_folder
        from untildone.core.plugins.agent import SettingsFile

        path = f"{own_folder(environment, 'CLAUDE_CONFIG_DIR', '.claude')}/settings.json"
        return (SettingsFile(path, ("skipDangerousModePermissionPrompt", "theme", "autoUpdatesChannel")),)

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        from untildone.agents.claude.needs import needs

        return needs(environment)

    def hand_back(self, session_id: str) -> tuple[str, ...]:
        return (self.program, "--resume", session_id)


AGENT = Claude()
