"""Gemini CLI's hooks: `AfterAgent` and `BeforeAgent`. Its message at a stop is cumulative: it contains the earlier ones."""

from __future__ import annotations

from untildone.agents._hooks import CommonHook, message_of
from untildone.core.plugins.hook import PROMPT, STOP, HookEvent
from untildone.core.values.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from untildone.core.plugins.hook import HookCall
    from untildone.core.plugins.hook_setup import HookSetup
    from untildone.core.plugins.transcript import Transcript

LONGEST_ECHO = 400
"""How many characters at the end of a message may be a repetition of the characters before them."""


class GeminiHook(CommonHook):
    events: Mapping[str, str] = {"AfterAgent": STOP, "BeforeAgent": PROMPT}
    project_variable = "GEMINI_PROJECT_DIR"
    block_decision = "deny"
    prompt_event = "BeforeAgent"

    def read(self, fields: Mapping[str, Any], call: HookCall) -> HookEvent:
        message = message_of(fields, "prompt_response")
        return replace(super().read(fields, call), message=message, message_is_cumulative=message is not None)

    def own_words(self, message: str) -> str:
        """The message without the pieces of its end that some versions of the program append to it again, each after a blank."""
        for place in range(max(1, len(message) - LONGEST_ECHO), len(message)):
            before, echo = message[max(0, place - 2 * LONGEST_ECHO) : place], message[place:].replace(" ", "")
            if message[place] == " " and echo and before.replace(" ", "").endswith(echo):
                return message[:place]
        return message

    @property
    def transcript(self) -> Transcript:
        from untildone.agents.gemini.transcript import GeminiTranscript

        return GeminiTranscript()

    @property
    def setup(self) -> HookSetup:
        from untildone.agents.gemini.setup import GeminiSetup

        return GeminiSetup()


HOOK = GeminiHook()
