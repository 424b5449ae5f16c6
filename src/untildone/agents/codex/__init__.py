"""Codex: `codex exec --json`, its `resume` and its `fork`."""

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


class Codex:
    name = "codex"
    program = "codex"
    install = "npm install -g @openai/codex@latest"
    versions = Versions("0.150.0")
    login = Login("codex login", ("OPENAI_API_KEY", "CODEX_API_KEY"), (".codex/auth.json",))
    capabilities = Capabilities(
        resume=True, fork=True, tokens=True, system_prompt=True, read_only=True, native_goal=True, interrupt=True
    )
    steering_files = ("AGENTS.md", "AGENTS.override.md", ".codex/", ".agents/")

    @property
    def hook(self) -> HookSide:
        from untildone.agents.codex.hook import HOOK

        return HOOK

    @property
    def mcp(self) -> McpSetup:
        from untildone.core.plugins.mcp_setup import McpSetup

        return McpSetup(
            "CODEX_HOME",
            (".codex", "config.toml"),
            "config.toml",
            key="mcp_servers",
            remote={"url": "URL", "bearer_token_env_var": "UNTILDONE_TOKEN"},
        )

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.codex import command_line, goal

        return goal.invocation(request) if command_line.goal_of(request) else command_line.invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.codex.command_line import goal_of
        from untildone.agents.codex.goal import CodexGoal
        from untildone.agents.codex.stream import CodexReader

        return CodexGoal(request) if goal_of(request) else CodexReader(request)

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> SessionRecord:
        from untildone.agents._setups import own_folder, session_files
        from untildone.agents.codex.transcript import CodexTranscript
        from untildone.core.plugins.transcript import SessionRecord

        home = own_folder(environment, "CODEX_HOME", ".codex")
        return SessionRecord(session_files(home, "sessions/*/*/*", f"rollout-*-{session_id}.jsonl"), CodexTranscript())

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        from untildone.agents._setups import below, own_folder
        from untildone.core.plugins.agent import SettingsFile

        home = own_folder(environment, "CODEX_HOME", ".codex")
        # It notes there which folders are trusted. A reviewer's folder has no settings to trust.
        own = SettingsFile(f"{home}/config.toml", ("projects", "notice", "hooks"))
        return (own, *below(home, "AGENTS.md", "AGENTS.override.md"))

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        from untildone.agents.codex.needs import needs

        return needs(environment)

    def hand_back(self, session_id: str) -> tuple[str, ...]:
        return (self.program, "resume", session_id)


AGENT = Codex()
