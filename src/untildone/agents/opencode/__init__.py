"""opencode: `opencode run --format json`. It prints no result: a run is over when its last step stopped."""

from __future__ import annotations

from untildone.core.plugins.agent import Capabilities, Login, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.plugins.agent import Needs, SettingsFile
    from untildone.core.plugins.agent_io import Invocation, Reader, Request
    from untildone.core.plugins.mcp_setup import McpSetup

VERSIONS = Versions("1.17.0", flags={"--auto": "1.18.0"})


class OpenCode:
    name = "opencode"
    program = "opencode"
    install = "npm install -g opencode-ai@latest"
    versions = VERSIONS
    login = Login(
        "opencode auth login",
        ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"),
        (".local/share/opencode/auth.json",),
    )
    capabilities = Capabilities(resume=True, fork=True, cost=True, tokens=True, read_only=True)
    steering_files = ("AGENTS.md", "CONTEXT.md", "opencode.json", "opencode.jsonc", ".opencode/")

    @property
    def hook(self) -> None:
        return None

    @property
    def mcp(self) -> McpSetup:
        from untildone.core.plugins.mcp_setup import McpSetup

        return McpSetup(
            "XDG_CONFIG_HOME",
            (".config", "opencode", "opencode.json"),
            "opencode/opencode.json",
            ("opencode.json",),
            key="mcp",
            extra={"type": "local"},
            one_list=True,
        )

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.opencode.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.opencode.stream import OpenCodeReader

        return OpenCodeReader()

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> None:
        return None

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        from untildone.agents._setups import own_folder
        from untildone.core.plugins.agent import SettingsFile

        folder = f"{own_folder(environment, 'XDG_CONFIG_HOME', '.config')}/opencode"
        own = (
            SettingsFile(f"{folder}/{name}", ("$schema",))
            for name in ("opencode.json", "opencode.jsonc", "config.json")
        )
        return (*own, SettingsFile(f"{folder}/AGENTS.md"))

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        from untildone.agents.opencode.needs import needs

        return needs(environment)

    def hand_back(self, session_id: str) -> tuple[str, ...]:
        return (self.program, "--session", session_id)


AGENT = OpenCode()
