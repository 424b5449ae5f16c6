"""What a run of claude has used so far, from the usage of its messages: for a limit while it runs, and for a run without a result."""

from __future__ import annotations

from untildone.agents._lines import Object, object_field, text_field, tokens_field
from untildone.core.model import Usage
from untildone.core.prices import Prices, TokenCount

_FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""In the order of `TokenCount`."""


class Metering:
    """Adds up the messages of a run. Each content block repeats the usage of its message, as it was when the message began;
    only the partial messages say how many tokens it wrote in the end."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._counts: dict[str, TokenCount] = {}
        self._models: dict[str, str] = {}
        self._open: dict[str, str] = {}
        """The message that is being written, by the tool call of its subagent."""

    @property
    def usage(self) -> Usage:
        tokens = sum(count.total for count in self._counts.values())
        return Usage(self._cost(), tokens or None)

    @property
    def priced(self) -> str:
        """The date of the prices in `usage`; empty: it has no dollars."""
        return "" if self._cost() is None else self._prices.date

    def take_message(self, message: Object) -> bool:
        """Take a line with a content block. True: the usage has grown."""
        name = text_field(message, "id")
        self._models[name] = text_field(message, "model") or self._models.get(name, "")
        return self._raise(name, object_field(message, "usage"))

    def take_event(self, fields: Object) -> bool:
        """Take a partial message. True: the usage has grown."""
        by, event = text_field(fields, "parent_tool_use_id"), object_field(fields, "event")
        match text_field(event, "type"):
            case "message_start":
                message = object_field(event, "message")
                self._open[by] = text_field(message, "id")
                return self.take_message(message)
            case "message_delta":
                return self._raise(self._open.get(by, ""), object_field(event, "usage"))
            case _:
                return False

    def _raise(self, name: str, usage: Object) -> bool:
        before = self._counts.get(name, TokenCount())
        known = (before.input, before.output, before.cache_read, before.cache_write)
        told = (tokens_field(usage, each) or 0 for each in _FIELDS)
        self._counts[name] = TokenCount(*map(max, known, told))
        return self._counts[name] != before

    def _cost(self) -> float | None:
        """The dollars; None: nothing was used, or the price of a model is not known."""
        total = 0.0
        for name, count in self._counts.items():
            cost = self._prices.cost(self._models.get(name), count) if count.total else 0.0
            if cost is None:
                return None
            total += cost
        return total or None
