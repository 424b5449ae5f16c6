"""The limits of a budget: one row per limit defines how it is counted, bounded, shown and changed.

Budget arithmetic, settings, flags, API, menus and the dashboard read these rows. A new limit is a row here, a field of `Budget`
(and of `Spend` and `Usage`, if the agent reports it) in `core.model`, and a setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from untildone.core.values.value import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Every command that takes limits imports this module, and `--help` needs none of the values.
    from untildone.core.model import Budget, Spend, Usage

MOST = 10**12
"""The largest amount that journals, settings, flags and the API accept. A row may have a smaller bound."""


def duration(seconds: float) -> str:
    """12 s, 3m 20s, 1h 20m."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {whole % 60}s"


@dataclass(frozen=True, slots=True)
class Row:
    """Everything about one limit."""

    field: str
    """The attribute of `Budget`."""
    setting: str
    """The setting for new loops."""
    unit: str
    """What it counts, in the plural."""
    label: str
    """Its name in forms, and in lower case in sentences."""
    title: str
    """Its name in `… limit reached`."""
    show: Callable[[float], str]
    """An amount for people, with its unit."""
    flags: tuple[str, ...]
    """Its flags for new loops."""
    metavar: str
    help: str
    change_flags: tuple[str, ...]
    """Its flags of `untildone budget`."""
    change_metavar: str
    change_help: str | None = None
    api_help: str | None = None
    """Its unit in the documentation of the API, if its name does not say that."""
    most: int = MOST
    """The largest limit that settings, flags and the API accept."""
    whole: bool = False
    """Whether only whole numbers are limits."""
    unlimited: bool = False
    """Whether its flag for new loops takes `none`, because there is a limit if the flag is left out."""
    used: Callable[[Spend], float] | None = None
    """Computes how much a loop has used; None: the limit is one of each turn, not of the whole loop."""
    reported: bool = False
    """Whether agents report it: `Usage` and `Spend` have it under the name of `field`."""
    total: str = ""
    """Its label beside the used amount."""
    plot: str = ""
    """The title of its plot by round; empty: there is none."""
    hint: str = ""
    """What a hint proposes to raise it by."""
    step: float | None = None
    """What the menu at a used-up limit proposes to raise it by; None: as much again."""
    step_unit: str = ""
    """What that menu calls the unit, if not `unit`."""


class Limit(StrEnum):
    """The limits, by their names in journals and the API."""

    ITERATIONS = "iterations"
    MINUTES = "minutes"
    COST = "cost"
    TOKENS = "tokens"
    ITERATION_TIMEOUT = "iteration_timeout"

    @property
    def row(self) -> Row:
        return _ROWS[self]

    def of(self, budget: Budget) -> float | None:
        """This limit of a budget; None: no limit."""
        limit: float | None = getattr(budget, self.row.field)
        return limit


_ROWS = {
    Limit.ITERATIONS: Row(
        field="iterations",
        setting="max_iterations",
        unit="rounds",
        label="Rounds",
        title="Round",
        show=lambda amount: "1 round" if amount == 1 else f"{amount:,.0f} rounds",
        flags=("-r", "--max-iterations", "--max-rounds"),
        metavar="N",
        help="Rounds at most; none: no limit.",
        change_flags=("--iterations", "--rounds"),
        change_metavar="+5|=10|none",
        most=1_000_000,
        whole=True,
        unlimited=True,
        used=lambda spend: spend.iterations,
        total="Rounds",
        step=10,
    ),
    Limit.MINUTES: Row(
        field="minutes",
        setting="max_minutes",
        unit="minutes",
        label="Minutes",
        title="Time",
        show=lambda amount: f"{duration(amount * 60)} at work",
        flags=("--max-minutes",),
        metavar="M",
        help="Minutes of work, all rounds together.",
        change_flags=("--minutes",),
        change_metavar="+30|=60|none",
        used=lambda spend: spend.seconds / 60,
        total="At work",
        hint="+30",
        step=30,
    ),
    Limit.COST: Row(
        field="cost_usd",
        setting="max_cost",
        unit="dollars",
        label="Dollars",
        title="Cost",
        show=lambda amount: f"${amount:,.4f}",
        flags=("--max-cost",),
        metavar="USD",
        help="Dollars, as far as the agent reports them.",
        change_flags=("--cost",),
        change_metavar="+5|=10|none",
        change_help="Dollars.",
        api_help="Dollars",
        used=lambda spend: spend.cost_usd,
        reported=True,
        total="Cost",
        plot="Cost per round (dollars)",
        hint="+5",
    ),
    Limit.TOKENS: Row(
        field="tokens",
        setting="max_tokens",
        unit="tokens",
        label="Tokens",
        title="Token",
        show=lambda amount: f"{amount:,.0f} tokens",
        flags=("--max-tokens",),
        metavar="N",
        help="Tokens, as far as the agent reports them.",
        change_flags=("--tokens",),
        change_metavar="+N|=N|none",
        whole=True,
        used=lambda spend: spend.tokens,
        reported=True,
        total="Tokens",
        plot="Tokens per round",
        hint="+1000000",
    ),
    Limit.ITERATION_TIMEOUT: Row(
        field="iteration_timeout",
        setting="iteration_timeout",
        unit="seconds",
        label="Seconds per round",
        title="Round time",
        show=lambda amount: f"{amount:g} s for a round",
        flags=("--iteration-timeout",),
        metavar="S",
        help="Seconds that a round may take.",
        change_flags=("--iteration-timeout",),
        change_metavar="+S|=S|none",
        change_help="Seconds a round may take.",
        api_help="Seconds that an iteration may take",
    ),
}

REPORTED = tuple(limit for limit in Limit if limit.row.reported)
"""The limits whose use agents report for each turn."""


def reported(usage: Usage | Spend) -> Iterator[tuple[Limit, float]]:
    """The amounts that an agent reported, by limit."""
    for limit in REPORTED:
        amount: float | None = getattr(usage, limit.row.field)
        if amount is not None:
            yield limit, amount


def shown(usage: Usage | Spend) -> list[str]:
    """The amounts above zero that an agent reported, for people: `$0.0120`, `1,200 tokens`."""
    return [limit.row.show(amount) for limit, amount in reported(usage) if amount]
