"""Plots of the time, cost and tokens of each round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from untildone.core.limits import REPORTED, Limit
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.pieces import amount_of, box, card, set_text, text
from untildone.operations.showing.timeline import Round
from untildone.operations.showing.values import LoopView

SHOWN = 200
_GREY = "#8a94a6"


class SpendPlots:
    """The panel with the plots."""

    def __init__(self, _backend: Backend, t: Texts) -> None:
        self._t = t
        self._shown: tuple[Round, ...] | None = None
        with box("loop-main"):
            with card(""), box("totals"):
                self._totals = {limit: self._total(limit.row.total) for limit in Limit if limit.row.used}
            self._nothing = box()
            self._time = self._chart("Time per round (seconds)")
            self._reported = {limit: self._chart(limit.row.plot) for limit in REPORTED}

    def _chart(self, title: str) -> tuple[ui.element, ui.echart]:
        with card(self._t(title)) as place:
            return place, ui.echart(_options()).classes("chart")

    def _total(self, name: str) -> Any:
        with box():
            number = text("", "total-number")
            text(self._t(name), "quiet")
        return number

    async def show(self, view: LoopView) -> None:
        self._show_totals(view)
        rounds = view.timeline.rounds[-SHOWN:]
        if rounds == self._shown:
            return
        self._shown = rounds
        self._nothing.clear()
        if not any(each.seconds is not None for each in rounds):
            with self._nothing, card(""):
                pieces.empty(
                    "bar_chart", self._t("Nothing to plot yet"), self._t("The first bar comes with the first round.")
                )
        _plot(*self._time, {each.number: each.seconds for each in rounds})
        for limit, plot in self._reported.items():
            _plot(*plot, {each.number: getattr(each.usage, limit.row.field) for each in rounds})

    def _show_totals(self, view: LoopView) -> None:
        for limit, element in self._totals.items():
            assert limit.row.used is not None
            set_text(element, amount_of(limit, limit.row.used(view.loop.spend)))

    async def tick(self) -> None:
        return


def _plot(place: ui.element, chart: ui.echart, amounts: Mapping[int, float | None]) -> None:
    """Draw one bar for each round. Without amounts, the plot is hidden."""
    place.set_visibility(any(amounts.values()))
    chart.options["xAxis"]["data"] = [str(number) for number in amounts]
    chart.options["series"][0]["data"] = [None if amount is None else round(amount, 6) for amount in amounts.values()]
    chart.update()


def _options() -> dict[str, Any]:
    return {
        "grid": {"left": 8, "right": 8, "top": 12, "bottom": 4, "containLabel": True},
        "tooltip": {"trigger": "axis"},
        "animation": False,
        "xAxis": {
            "type": "category",
            "data": [],
            "axisLabel": {"color": _GREY},
            "axisLine": {"lineStyle": {"color": _GREY}},
        },
        "yAxis": {
            "type": "value",
            "axisLabel": {"color": _GREY},
            "splitLine": {"lineStyle": {"color": _GREY, "opacity": 0.25}},
        },
        "series": [
            {
                "type": "bar",
                "data": [],
                "barMaxWidth": 36,
                "itemStyle": {"color": "#4f7df0", "borderRadius": [4, 4, 0, 0]},
            }
        ],
    }
