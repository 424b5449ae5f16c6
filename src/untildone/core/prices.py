"""What tokens cost, by model: for agents that report tokens and no dollars, and while a turn runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import add, sub

from untildone.core.values.value import dataclass, field

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens by what they cost. `input` are those that no cache held."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    def plus(self, other: TokenCount) -> TokenCount:
        return self._with(other, add)

    def minus(self, other: TokenCount) -> TokenCount:
        return self._with(other, sub)

    def or_more(self, other: TokenCount) -> TokenCount:
        """The greater of the two numbers of each kind of token."""
        return self._with(other, max)

    def _with(self, other: TokenCount, combined: Callable[[int, int], int]) -> TokenCount:
        return TokenCount(*(combined(getattr(self, kind), getattr(other, kind)) for kind in TokenCount.__match_args__))


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens of each kind."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def of(self, count: TokenCount) -> float:
        dollars = (
            count.input * self.input
            + count.output * self.output
            + count.cache_read * self.cache_read
            + count.cache_write * self.cache_write
        )
        return dollars / MILLION


def parsed(text: str) -> Price:
    """The price in a text: `INPUT OUTPUT [CACHE_READ [CACHE_WRITE]]`, in dollars for a million tokens. ValueError if it is none.

    Without a price of their own, cached tokens cost as much as others."""
    numbers = [float(word) for word in text.split()]
    if not 2 <= len(numbers) <= 4 or not all(0 <= number < 1e6 for number in numbers):
        raise ValueError(f"{text!r} is not a price: give two to four numbers")
    return Price(*numbers, *(numbers[0] for _ in range(4 - len(numbers))))


STAGES = ("latest", "preview", "exp", "experimental", "beta", "default")
"""Words at the end of the name of a model that do not make it another one."""


@dataclass(frozen=True, slots=True)
class Prices:
    """A table of prices, as of a date."""

    date: str
    models: Mapping[str, Price] = field(default_factory=dict)
    """By the name of the model, or its beginning up to a hyphen before a version, a date or a stage."""

    def cost(self, model: str | None, count: TokenCount) -> float | None:
        """What the tokens cost; None: the table does not have the model."""
        price = self.find(model or "")
        return None if price is None else price.of(count)

    def find(self, model: str) -> Price | None:
        """The price of a model: that of its own name, else that of its longest beginning. A provider before a slash does not count.

        What is left out of the name are versions, dates and stages: `flash-lite` is another model than `flash`."""
        name = model.lower().rpartition("/")[2].partition("@")[0].partition("[")[0]
        while name not in self.models:
            name, _, last = name.rpartition("-")
            if not name or not (last in STAGES or last.replace(".", "").isdigit()):
                return None
        return self.models[name]

    def changed(self, own: Mapping[str, str]) -> Prices:
        """The table with the person's own rows, and their `date`. ValueError if one is not a price."""
        rows = {name.lower(): parsed(text) for name, text in own.items() if name != "date"}
        return Prices(own.get("date", f"{self.date}, changed" if rows else self.date), {**self.models, **rows})


PUBLISHED = Prices(
    "2026-10-27",
    {
        "claude-fable": Price(10, 50, 1, 12.5),
        "claude-fable-5-1": Price(10, 50, 0.25, 12.5),
        "claude-opus": Price(5, 25, 0.5, 6.25),
        "claude-opus-5-5": Price(4, 20, 0.2, 5),
        "claude-opus-4-0": Price(15, 75, 1.5, 18.75),
        "claude-opus-4-20250514": Price(15, 75, 1.5, 18.75),
        "claude-opus-4-1": Price(15, 75, 1.5, 18.75),
        "claude-sonnet": Price(3, 15, 0.3, 3.75),
        "claude-sonnet-5": Price(2, 10, 0.2, 2.5),
        "claude-sonnet-5-5": Price(2, 10, 0.1, 2.5),
        "claude-haiku": Price(1, 5, 0.1, 1.25),
        "claude-haiku-5-5": Price(0.1, 0.5, 0.01, 0.125),
        "claude-3-5-haiku": Price(0.8, 4, 0.08, 1),
        "gpt-6.1-sol": Price(2, 10, 0.1, 2.5),
        "gpt-6.1-terra": Price(1, 5, 0.05, 1.25),
        "gpt-6-sol": Price(2, 10, 0.2, 2.5),
        "gpt-6-luna": Price(0.1, 0.5, 0.01, 0.125),
        "gpt-5.4": Price(2.5, 15, 0.25, 2.5),
        "gpt-5.4-mini": Price(0.75, 4.5, 0.075, 0.75),
        "gpt-5": Price(1.25, 10, 0.125, 1.25),
        "gpt-5-mini": Price(0.25, 2, 0.025, 0.25),
        "gpt-5-nano": Price(0.05, 0.4, 0.005, 0.05),
        "gpt-5-pro": Price(15, 120, 15, 15),
        "gpt-5.1": Price(1.25, 10, 0.125, 1.25),
        "gpt-4.1": Price(2, 8, 0.5, 2),
        "gpt-4.1-mini": Price(0.4, 1.6, 0.1, 0.4),
        "o3": Price(2, 8, 0.5, 2),
        "o4-mini": Price(1.1, 4.4, 0.275, 1.1),
        "gemini-2.5-pro": Price(1.25, 10, 0.125, 1.25),
        "gemini-2.5-flash": Price(0.3, 2.5, 0.03, 0.3),
        "gemini-2.5-flash-lite": Price(0.1, 0.4, 0.01, 0.1),
        "gemini-3-pro": Price(2, 12, 0.2, 2),
        "gemini-3.5-flash": Price(1.5, 9, 0.15, 1.5),
        "gemini-3.8-flash": Price(0.75, 3.75, 0.075, 0.75),
    },
)
"""List prices of the providers, without tiers for long prompts. Settings change them: `[prices]`."""
