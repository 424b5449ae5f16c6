"""Values as the pages write them: times, money, durations. Each is a filter of the templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup, escape

from untildone.core.limits import duration
from untildone.core.values.codec import timestamp

CENT = 0.01


def money(dollars: float) -> str:
    """An amount of dollars, with cents."""
    if 0 < dollars < CENT:
        return "<$0.01"
    return f"${dollars:,.2f}"


def time_of(at: float) -> Markup:
    """A moment. The script of the frame writes it in the time zone of the browser, as an age where it is recent."""
    stamp = timestamp(at)
    return Markup('<time datetime="{}">{}</time>').format(stamp, _utc(stamp))


def moment_of(at: float) -> Markup:
    """A moment that may lie ahead. The script of the frame writes it as a time of day, in the time zone of the browser."""
    stamp = timestamp(at)
    return Markup('<time data-moment datetime="{}">{}</time>').format(stamp, _utc(stamp))


def clock_since(at: float) -> Markup:
    """The time that has passed since a moment. The script of the frame keeps it going."""
    stamp = timestamp(at)
    return Markup('<time class="clock" data-since datetime="{}">{}</time>').format(stamp, _utc(stamp))


def share_of(spent: float, limit: float | None) -> int:
    """How much of a limit is spent, in percent; 0 if there is no limit."""
    return min(100, round(100 * spent / limit)) if limit else 0


def icon(name: str) -> Markup:
    """A drawing of the sprite in the frame."""
    return Markup('<svg class="icon" aria-hidden="true"><use href="#i-{}"></use></svg>').format(escape(name))


def _utc(stamp: str) -> str:
    return f"{stamp[:10]} {stamp[11:16]} UTC"


FILTERS: dict[str, Callable[..., Any]] = {
    "money": money,
    "time": time_of,
    "moment": moment_of,
    "clock": clock_since,
    "duration": duration,
    "share": share_of,
    "icon": icon,
}
