"""Gemini CLI: `gemini -o stream-json`. On an error of the API its exit code is the HTTP status modulo 256; 41, 53 and 55 are its own."""

from __future__ import annotations

from untildone.core.plugins.agent import Capabilities, Login, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.plugins.agent import Needs, SettingsFile
    from untildone.core.plugins.agent_io import Invocation, Reader, Request
    from untildone.core.plugins.hook import HookSide
    from untildone.core.plugins.mcp_setup import McpSetup


class Gemini:
    name = "gemini"
    program = "gemini"
    install = "npm install -g @google/gemini-cli@latest"
    versions = Versions("0.51.0")
    login = Login(
        "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"), (".gemini/oauth_creds.json",)
    )
    capabilities = Capabilities(resume=True, tokens=True, read_only=True)
    steering_files = ("GEMINI.md", ".gemini/", ".agents/", ".env")

    @property
    def hook(self) -> HookSide:
        from untildone.agents.gemini.hook import HOOK

        return HOOK

    @property
    def mcp(self) -> McpSetup:
        from untildone.core.plugins.mcp_setup import McpSetup

        return McpSetup(
            "",
            (".gemini", "settings.json"),
            "",
            (".gemini", "settings.json"),
            remote={"httpUrl": "URL", "headers": {"Authorization": "Bearer $UNTILDONE_TOKEN"}},
        )

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.gemini.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.gemini.stream import GeminiReader

        return GeminiReader(request)

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> None:
        return None

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        from untildone.agents._setups import below, own_folder

        home = own_folder(environment, "", ".gemini")
        return below(home, "settings.json", "GEMINI.md", ".env", "../.env")

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        from untildone.agents.gemini.needs import needs

        return needs(environment)

    def hand_back(self, session_id: str) -> tuple[str, ...]:
        return (self.program, "--resume", session_id)


AGENT = Gemini()
