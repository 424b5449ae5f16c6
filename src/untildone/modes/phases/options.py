"""The options of the mode phases."""

from __future__ import annotations

from untildone.core.option import Option, Shortcut

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
