"""Plots as SVG, drawn on the server: one bar a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

HEIGHT, WIDTH, LEAST_BAR = 120, 600, 2.0
MOST_BARS = 200


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its name, its value, and the value in words."""

    name: str
    value: float
    shown: str
    kind: str = ""
    """A class: `bad` for a round that failed."""


def bars(bars: Sequence[Bar], title: str) -> Markup:
    """A plot with a title; the values are its text alternative and its tooltips. Only the last MOST_BARS are drawn."""
    drawn = bars[-MOST_BARS:]
    most = max((bar.value for bar in drawn), default=0.0) or 1.0
    step = WIDTH / max(1, len(drawn))
    shapes = Markup("").join(_bar(bar, place * step, step, bar.value / most) for place, bar in enumerate(drawn))
    described = ", ".join(f"{bar.name}: {bar.shown}" for bar in drawn)
    return Markup(
        '<svg class="plot" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" aria-label="{title}. {described}">'
        "{shapes}</svg>"
    ).format(w=WIDTH, h=HEIGHT, title=title, described=described, shapes=shapes)


def _bar(bar: Bar, x: float, step: float, share: float) -> Markup:
    height = max(LEAST_BAR, share * HEIGHT)
    width = max(1.0, min(step * 0.8, 48))
    return Markup(
        '<rect class="bar {kind}" x="{x}" y="{y}" width="{width}" height="{height}"><title>{name}: {shown}</title></rect>'
    ).format(
        kind=bar.kind,
        x=f"{x + (step - width) / 2:.1f}",
        y=f"{HEIGHT - height:.1f}",
        width=f"{width:.1f}",
        height=f"{height:.1f}",
        name=bar.name,
        shown=bar.shown,
    )
