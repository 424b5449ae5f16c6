"""opencode: `opencode run --format json`. It prints no result: a run is over when its last step stopped."""

from __future__ import annotations

from untildone.agents.opencode.flavors import KILO, OWN, Flavor
from untildone.core.plugins.agent import Capabilities, Login, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.plugins.agent import Needs, SettingsFile
    from untildone.core.plugins.agent_io import Invocation, Reader, Request
    from untildone.core.plugins.mcp_setup import McpSetup

VERSIONS = Versions("1.17.0", flags={"--auto": "1.18.0"})
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")


class OpenCode:
    name = "opencode"
    capabilities = Capabilities(resume=True, fork=True, cost=True, tokens=True, read_only=True)

    def __init__(
        self, flavor: Flavor = OWN, install: str = "npm install -g opencode-ai@latest", versions: Versions = VERSIONS
    ) -> None:
        self._flavor = flavor
        self.program, self.install, self.versions = flavor.name, install, versions
        self.login = Login(f"{flavor.name} auth login", _KEYS, (f".local/share/{flavor.name}/auth.json",))
        self.steering_files = ("AGENTS.md", "CONTEXT.md", *flavor.steering_files)

    @property
    def forks(self) -> Mapping[str, OpenCode]:
        """Programs of other names that speak the same dialect and keep their state in folders of their own."""
        return {"kilo": OpenCode(KILO, "npm install -g @kilocode/cli@latest", Versions("7.7.9"))}

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
            remote={"type": "remote", "url": "URL", "headers": {"Authorization": "Bearer {env:UNTILDONE_TOKEN}"}},
        )

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.opencode.command_line import invocation

        return invocation(request, self._flavor)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.opencode.stream import OpenCodeReader

        return OpenCodeReader(self._flavor.name, request)

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> None:
        return None

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        from untildone.agents._setups import own_folder
        from untildone.core.plugins.agent import SettingsFile

        folder = f"{own_folder(environment, 'XDG_CONFIG_HOME', '.config')}/{self._flavor.name}"
        own = (SettingsFile(f"{folder}/{name}", ("$schema",)) for name in self._flavor.settings)
        return (*own, SettingsFile(f"{folder}/AGENTS.md"))

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        from untildone.agents.opencode.needs import needs

        return needs(environment, self._flavor)

    def hand_back(self, session_id: str) -> tuple[str, ...]:
        return (self.program, "--session", session_id)


AGENT = OpenCode()
