"""What the messages of one run have used so far, by the usage that the model reported for each."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.model import Usage
from untildone.core.plugins.agent_io import AgentEvent, Notice, Used
from untildone.core.prices import Prices, TokenCount

MOST_MESSAGES = 10_000
"""The number of messages that are remembered. A message that is reported again after more others counts once more."""
MOST_MODELS = 32
"""Models that are counted apart. Tokens of further ones have no price."""
LONGEST_NAME = 200
_OTHERS = ""
NOTHING = TokenCount()


class Tally:
    """Adds up messages. A message that is reported again counts with the greatest amounts that were reported of it, and for the model
    that was reported first: what an agent adds to the reports of its program makes the sum greater, never less."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._messages: dict[str, tuple[str, TokenCount]] = {}
        """Model and tokens of each message, by its name."""
        self._totals: dict[str, TokenCount] = {}
        """By model."""
        self._has_warned = False
        """Whether the person knows that the dollars are not all."""

    @property
    def usage(self) -> Usage:
        """The dollars are those of the models that have a price; None: no model has."""
        priced = {model: count for model, count in self._totals.items() if self._prices.find(model)}
        return Usage(usage_of(priced, self._prices).cost_usd, usage_of(self._totals, self._prices).tokens)

    @property
    def priced(self) -> str:
        """The date of the prices in `usage`; empty: it has no dollars."""
        return "" if self.usage.cost_usd is None else self._prices.date

    def used(self) -> tuple[AgentEvent, ...]:
        return (self.used_so_far, *self.not_all())

    @property
    def used_so_far(self) -> Used:
        return Used(self.usage, self.priced)

    def not_all(self) -> tuple[Notice, ...]:
        """A notice, at most once, if only some of the models have a price. If none has, the loop itself reports that."""
        unpriced = [model for model, count in self._totals.items() if count.total and not self._prices.find(model)]
        if self._has_warned or not unpriced or self.usage.cost_usd is None:
            return ()
        self._has_warned = True
        return (Notice(f"Price unknown: tokens of {unpriced[0] or 'another model'} are not among the dollars."),)

    def take(self, name: str, model: str, reported: TokenCount) -> bool:
        """Add the reported tokens of a message. Returns whether they have grown since its last report."""
        name = name[:LONGEST_NAME]
        if name in self._messages and reported in (NOTHING, self._messages[name][1]):
            return False
        known_model, known = self._messages.pop(name, (_OTHERS, NOTHING))
        model, count = known_model or self._counted_as(model), known.or_more(reported)
        if len(self._messages) >= MOST_MESSAGES:
            del self._messages[next(iter(self._messages))]
        self._messages[name] = (model, count)
        self._totals[known_model] = self._totals.get(known_model, NOTHING).minus(known)
        self._totals[model] = self._totals.get(model, NOTHING).plus(count)
        return count != known

    def add(self, model: str, count: TokenCount) -> None:
        """Take a message that is reported once."""
        model = self._counted_as(model)
        self._totals[model] = self._totals.get(model, NOTHING).plus(count)

    def _counted_as(self, model: str) -> str:
        """The name under which the tokens of a model are counted. Beyond MOST_MODELS names, models without a price share one, because an
        agent may invent names."""
        is_few = len(self._totals) < MOST_MODELS or model in self._totals
        return model[:LONGEST_NAME] if is_few or model in self._prices.models else _OTHERS


def usage_of(counts: Mapping[str, TokenCount], prices: Prices) -> Usage:
    """The usage of tokens by model. No dollars if a model has no price; nothing if there are no tokens."""
    used = {model: count for model, count in counts.items() if count.total}
    costs = [prices.cost(model, count) for model, count in used.items()]
    known = [cost for cost in costs if cost is not None]
    # A model that costs nothing has a price too.
    dollars = sum(known) if known and len(known) == len(costs) else None
    return Usage(dollars, sum(count.total for count in used.values()) or None)


def count_of(read: int | None, wrote: int | None, cached: int | None, stored: int | None = 0) -> TokenCount:
    """The tokens of a program whose number of input tokens includes those read from a cache and those written to it."""
    inputs = read or 0
    from_cache = min(cached or 0, inputs)
    to_cache = min(stored or 0, inputs - from_cache)
    return TokenCount(inputs - from_cache - to_cache, wrote or 0, from_cache, to_cache)
