"""What each round took, as plots: time, money, tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from untildone.core.receipt import duration
from untildone.faces.web import pieces
from untildone.faces.web.desk import Desk, Sight
from untildone.faces.web.pieces import box, card, money, set_text, text
from untildone.faces.web.texts import Texts
from untildone.faces.web.timeline import Round

SHOWN = 200
_GREY = "#8a94a6"


class SpendPlots:
    def __init__(self, _desk: Desk, t: Texts) -> None:
        self._t = t
        self._shown: tuple[Round, ...] | None = None
        with box("loop-main"):
            with card(""), box("totals"):
                self._totals = [self._total(name) for name in ("Rounds", "At work", "Cost", "Tokens")]
            self._nothing = box()
            with card(t("Time per round (seconds)")) as self._time_card:
                self._time = ui.echart(_options()).classes("chart")
            with card(t("Cost per round (dollars)")) as self._cost_card:
                self._cost = ui.echart(_options()).classes("chart")
            with card(t("Tokens per round")) as self._tokens_card:
                self._tokens = ui.echart(_options()).classes("chart")

    def _total(self, name: str) -> Any:
        with box():
            number = text("", "total-number")
            text(self._t(name), "quiet")
        return number

    async def show(self, sight: Sight) -> None:
        self._show_totals(sight)
        rounds = sight.timeline.rounds[-SHOWN:]
        if rounds == self._shown:
            return
        self._shown = rounds
        self._nothing.clear()
        if not any(each.seconds is not None for each in rounds):
            with self._nothing, card(""):
                pieces.empty(
                    "bar_chart", self._t("Nothing to plot yet"), self._t("The first bar comes with the first round.")
                )
        self._plot(self._time_card, self._time, rounds, lambda each: each.seconds)
        self._plot(self._cost_card, self._cost, rounds, lambda each: each.cost_usd)
        self._plot(self._tokens_card, self._tokens, rounds, lambda each: each.tokens)

    def _show_totals(self, sight: Sight) -> None:
        spend = sight.loop.spend
        words = (str(spend.iterations), duration(spend.seconds), money(spend.cost_usd), f"{spend.tokens:,}")
        for element, word in zip(self._totals, words, strict=True):
            set_text(element, word)

    def _plot(
        self, place: Any, chart: ui.echart, rounds: tuple[Round, ...], amount: Callable[[Round], float | None]
    ) -> None:
        bars = [(str(each.number), amount(each)) for each in rounds]
        place.set_visibility(any(value for _, value in bars))
        chart.options["xAxis"]["data"] = [name for name, _ in bars]
        chart.options["series"][0]["data"] = [None if value is None else round(value, 6) for _, value in bars]
        chart.update()

    async def tick(self) -> None:
        return


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
