"""The rows of the list: a fixed number of elements whose texts change, so that only the visible page is sent."""

from __future__ import annotations

import time

from nicegui.element import Element

from untildone.core.kinds import Host
from untildone.core.limits import duration
from untildone.core.model import Outcome
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web.pieces import age, box, money, set_classes, set_property, set_text, text
from untildone.faces.web.status_chip import chip_classes, status_chip
from untildone.operations.loop_table import Row

MOST_OF_QUESTION = 200


class RowView:
    """One row of the list."""

    def __init__(self, t: Texts, tab: str = "") -> None:
        self._t = t
        self._leads_to = f"?tab={tab}" if tab else ""
        self.row: Row | None = None
        with box("row-link", "a") as self.link:
            with box("row-status"):
                self._chip = text("", "chip", "span")
            with box("row-main"):
                self._title = text("", "row-title")
                self._about = text("", "row-about")
            with box("row-rounds"):
                self._rounds = text("")
                with box("meter") as self._meter:
                    self._fill = box("meter-fill")
            self._spend = text("", "row-number")
            self._age = text("", "row-number")

    def show(self, row: Row | None, *, undriven: bool, selected: bool) -> None:
        self.row = row
        if row is None:
            set_classes(self.link, "row-link hidden")
            return
        set_classes(self.link, "row-link selected" if selected else "row-link")
        set_property(self.link, "href", f"/loops/{row.loop_id}{self._leads_to}")
        chip = status_chip(self._t, row.status, row.outcome, undriven=undriven, not_ours=row.not_ours)
        set_text(self._chip, chip.word)
        set_classes(self._chip, chip_classes(chip))
        set_text(self._title, row.title or row.problem or row.loop_id)
        question = row.reason[:MOST_OF_QUESTION] if row.outcome is Outcome.BLOCKED else ""
        set_text(
            self._about,
            " · ".join(part for part in (question, row.mode, row.agent, _elsewhere(row), row.loop_id) if part),
        )
        self._show_numbers(row)

    def _show_numbers(self, row: Row) -> None:
        most = row.budget.iterations
        done = row.spend.iterations
        set_text(self._rounds, self._t("Round {n}", n=f"{done}/{most}" if most else str(done)))
        set_classes(self._meter, "meter" if most else "meter hidden")
        _fill(self._fill, done / most if most else 0.0)
        spent = money(row.spend.cost_usd) if row.spend.cost_usd else duration(row.spend.seconds)
        set_text(self._spend, spent)
        set_text(self._age, age(self._t, row.updated_at, time.time()) if row.updated_at else "")


def _fill(element: Element, share: float) -> None:
    width = f"{min(1.0, share) * 100:.0f}%"
    if element.style.get("width") != width:
        element.style(f"width: {width}")


def _elsewhere(row: Row) -> str:
    """The machine of a cluster that drives the loop; empty for a loop of this machine."""
    return row.machine if row.host is Host.CLUSTER else ""
