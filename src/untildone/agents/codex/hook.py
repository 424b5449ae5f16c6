"""Codex's hooks: `Stop` and `UserPromptSubmit`, the same as those of Claude Code."""

from __future__ import annotations

from untildone.agents._hooks import CommonHook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.plugins.hook_setup import HookSetup
    from untildone.core.plugins.transcript import Transcript


class CodexHook(CommonHook):
    typed = "until-done"

    @property
    def transcript(self) -> Transcript:
        from untildone.agents.codex.transcript import CodexTranscript

        return CodexTranscript()

    @property
    def setup(self) -> HookSetup:
        from untildone.agents.codex.setup import CodexSetup

        return CodexSetup()


HOOK = CodexHook()
