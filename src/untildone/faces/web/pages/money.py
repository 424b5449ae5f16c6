"""What loops have spent: today, this week, by agent and by workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from fastapi import FastAPI, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from untildone.faces.web.lists.cards import short_names
from untildone.faces.web.render.plots import Bar, bars
from untildone.faces.web.shown import money
from untildone.faces.web.site import Site, texts_of
from untildone.faces.web.translations.texts import Texts
from untildone.operations.showing.money import LARGEST_OFFSET, Money, SpendTotals, Spent


@dataclass(frozen=True, slots=True)
class MoneyView:
    """The page as the template shows it."""

    money: Money
    plot: Markup
    workspaces: dict[str, str]
    offset: int
    """Minutes by which the days begin before those of UTC."""


def add(app: FastAPI, site: Site) -> None:
    """Add the page, and its fragment."""

    def shown(request: Request) -> MoneyView:
        offset, totals = offset_of(request.query_params.get("offset", "")), cast(SpendTotals, app.state.spend_totals)
        return view(texts_of(request), totals.look(offset * 60), tuple(site.service.stores), offset)

    @app.get("/money", include_in_schema=False)
    def page(request: Request) -> HTMLResponse:
        return site.page(request, "lists/money_page.html", view=shown(request))

    @app.get("/fragments/money", include_in_schema=False)
    def sums(request: Request) -> HTMLResponse:
        return site.fragment(request, "lists/money.html", view=shown(request))


def view(t: Texts, spent: Money, workspaces: Sequence[str], offset: int) -> MoneyView:
    """The sums with a plot of the days."""
    return MoneyView(spent, plot(t, spent.days), short_names(workspaces), offset)


def plot(t: Texts, days: Sequence[Spent]) -> Markup:
    """One bar a day."""
    return bars([Bar(day.name, day.cost_usd, money(day.cost_usd)) for day in days], t("Dollars a day"))


def offset_of(word: str) -> int:
    """Minutes east of UTC; 0 for anything that is none."""
    digits = word.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 5):
        return 0
    return max(-LARGEST_OFFSET, min(LARGEST_OFFSET, int(word)))
