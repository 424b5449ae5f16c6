"""The options of the mode phases."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.plugins.option import Option, Shortcut
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass

AUTO = "auto"
ROUTE = Option(
    "route",
    title="Route",
    help="which phases",
    default=AUTO,
    choices=("direct", "planned", "ralph", "architect", "ui_flow", AUTO),
    shortcuts=(Shortcut("quick", "direct"), Shortcut("deep", "ralph")),
)
REVIEW_THRESHOLD = Option(
    "review_threshold",
    title="Review threshold",
    help="the score that a review must reach",
    default=80,
    lowest=0,
    highest=100,
    has_flag=False,
)
OPTIONS = (ROUTE, REVIEW_THRESHOLD)
SKILLPACK = "skillpack"
"""Where the journal keeps the `loop` block of `.skillpackrc`."""


@dataclass(frozen=True, slots=True)
class PhasesOptions:
    """The options of one loop."""

    route: str = AUTO
    """The name of a route; auto: the first turn chooses one."""
    review_threshold: int = 80
    checkpoint_every: int = 3
    """Iterations between two full checkpoints."""


def options_of(kept: Mapping[str, Any]) -> PhasesOptions:
    """The options as the journal keeps them, as a typed value. Values that are missing or out of bounds take their default."""
    block: Mapping[str, int] = kept.get(SKILLPACK) or {}
    every = block.get("auto_checkpoint_interval", PhasesOptions().checkpoint_every)
    return PhasesOptions(ROUTE.of(kept), REVIEW_THRESHOLD.of(kept), every)
