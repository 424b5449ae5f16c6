"""GitHub Copilot CLI, with JSON lines. The caller chooses the session's id, so that it survives a killed run."""

from __future__ import annotations

from untildone.core.plugins.agent import Capabilities, Login, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.plugins.agent import Needs, SettingsFile
    from untildone.core.plugins.agent_io import Invocation, Reader, Request
    from untildone.core.plugins.hook import HookSide
    from untildone.core.plugins.mcp_setup import McpSetup


class Copilot:
    name = "copilot"
    program = "copilot"
    install = "npm install -g @github/copilot@latest"
    versions = Versions("1.0.60", {"--usage-output-file": "1.0.102"})
    login = Login(
        "copilot login",
        ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"),
        (".copilot/config.json",),
    )
    capabilities = Capabilities(resume=True, tokens=True, read_only=True)
    steering_files = (
        *(
            "AGENTS.md",
            ".copilot/",
            ".mcp.json",
            ".vscode/mcp.json",
            ".github/copilot-instructions.md",
            ".github/copilot/",
        ),
        *(".github/instructions/", ".github/agents/", ".github/skills/", ".github/hooks/", ".github/prompts/"),
        *(".github/chatmodes/", ".github/mcp.json", ".github/lsp.json"),
    )

    @property
    def hook(self) -> HookSide:
        from untildone.agents.copilot.hook import HOOK

        return HOOK

    @property
    def mcp(self) -> McpSetup:
        from untildone.core.plugins.mcp_setup import McpSetup

        return McpSetup(
            "COPILOT_HOME",
            (".copilot", "mcp-config.json"),
            "mcp-config.json",
            extra={"type": "local", "tools": ["*"]},
            remote={
                "type": "http",
                "url": "URL",
                "headers": {"Authorization": "Bearer ${UNTILDONE_TOKEN}"},
                "tools": ["*"],
            },
        )

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.copilot.command_line import invocation

        return invocation(request, self.versions)

    def reader(self, request: Request) -> Reader:
        from untildone.agents._lines import session_to_use
        from untildone.agents.copilot.stream import CopilotReader

        return CopilotReader(session_to_use(request)[1] or None, request.prices)

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> None:
        return None

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        from untildone.agents._setups import below, own_folder

        return below(own_folder(environment, "COPILOT_HOME", ".copilot"), "settings.json", "mcp-config.json")

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        from untildone.agents.copilot.needs import needs

        return needs(environment)

    def hand_back(self, session_id: str) -> tuple[str, ...]:
        return (self.program, "--resume", session_id)


AGENT = Copilot()
