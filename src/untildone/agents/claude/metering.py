"""What a run of claude has used so far, from the usage of its messages: for a limit while it runs, and for a run without a result."""

from __future__ import annotations

from untildone.agents._lines import Object, object_field, text_field, tokens_field
from untildone.agents._tally import NOTHING, Tally
from untildone.core.prices import Prices, TokenCount

_FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""In the order of `TokenCount`."""


class Metering(Tally):
    """Each content block repeats the usage of its message, as it was when the message began; only the partial messages say how many
    tokens it wrote in the end."""

    def __init__(self, prices: Prices) -> None:
        super().__init__(prices)
        self._open: dict[str, str] = {}
        """The message that is being written, by the tool call of its subagent."""

    def take_message(self, message: Object) -> bool:
        """Take a line with a content block. Returns whether the usage has grown."""
        return self.take(
            text_field(message, "id"), text_field(message, "model"), _count(object_field(message, "usage"))
        )

    def take_event(self, fields: Object) -> bool:
        """Take a partial message. Returns whether the usage has grown."""
        by, event = text_field(fields, "parent_tool_use_id"), object_field(fields, "event")
        match text_field(event, "type"):
            case "message_start":
                message = object_field(event, "message")
                self._open[by] = text_field(message, "id")
                return self.take_message(message)
            case "message_delta":
                return self.take(self._open.get(by, ""), "", _count(object_field(event, "usage")))
            case _:
                return False


def _count(usage: Object) -> TokenCount:
    return TokenCount(*(tokens_field(usage, each) or 0 for each in _FIELDS)) if usage else NOTHING
