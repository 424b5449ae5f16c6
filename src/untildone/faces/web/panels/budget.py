"""The used part of each limit of a loop, and a form to change the limits."""

from __future__ import annotations

from nicegui import ui

from untildone.core import budget as budgets
from untildone.core.errors import UsageError
from untildone.core.events import BudgetChanged
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web.backend import Backend
from untildone.faces.web.pieces import attempt, box, card, notify_error, text
from untildone.operations.showing.values import LoopView


class BudgetBars:
    """A bar for each limit."""

    def __init__(self, backend: Backend, t: Texts) -> None:
        self._backend = backend
        self._t = t
        self._loop: Loop | None = None
        self._shown: tuple[object, ...] | None = None
        self._inputs: dict[Limit, ui.number] = {}
        with card(""):
            with box("card-head"):
                text(t("Budget"), "card-title", "h2")
                box("stretch")
                self._edit = ui.button(t("Change"), icon="edit", on_click=self._open).props("flat dense size=sm")
            self._place = box("loop-main")
        self._dialog = self._build_dialog()

    def _build_dialog(self) -> ui.dialog:
        t = self._t
        with ui.dialog() as dialog, box("card dialog"):
            text(t("Change the budget"), "card-title", "h2")
            text(t("In all, from the beginning. Empty: no limit."), "quiet")
            for limit in Limit:
                self._inputs[limit] = ui.number(t(limit.row.label), min=0).props("outlined dense clearable")
            with box("actions end"):
                ui.button(t("Cancel"), on_click=dialog.close).props("flat")
                ui.button(t("Save"), on_click=self._save).props("unelevated")
        return dialog

    async def show(self, view: LoopView) -> None:
        self._loop = view.loop
        gauges = tuple(budgets.gauges(view.loop.budget, view.loop.spend))
        self._edit.set_visibility(not view.loop.status.ended)
        if gauges == self._shown:
            return
        self._shown = gauges
        self._place.clear()
        with self._place:
            if not gauges:
                text(self._t("No limit is set."), "quiet")
            for gauge in gauges:
                self._bar(gauge)

    def _bar(self, gauge: budgets.Gauge) -> None:
        warns = self._loop is not None and gauge.is_nearly_used(self._loop.settings.warn_from)
        colour = "bad" if gauge.used_up else "warn" if warns else ""
        used, allowed = budgets.number(gauge.used), budgets.number(gauge.allowed)
        unit = self._t(gauge.limit.row.unit)
        with box("gauge"):
            text(self._t("{used} of {allowed} {unit}", used=used, allowed=allowed, unit=unit))
            with box("meter"):
                box(f"meter-fill {colour}".strip()).style(f"width: {gauge.share * 100:.0f}%")

    async def tick(self) -> None:
        return

    def _open(self) -> None:
        if self._loop is None:
            return
        for limit, field in self._inputs.items():
            field.set_value(limit.of(self._loop.budget))
        self._dialog.open()

    async def _save(self) -> None:
        assert self._loop is not None
        try:
            changes = [change for limit in Limit if (change := self._change(limit)) is not None]
        except UsageError as problem:
            notify_error(self._t, problem)
            return
        self._dialog.close()
        if changes:
            await attempt(self._t, self._backend.budget, self._loop.loop_id, *changes)

    def _change(self, limit: Limit) -> BudgetChanged | None:
        assert self._loop is not None
        amount, present = self._inputs[limit].value, limit.of(self._loop.budget)
        if amount == present:
            return None
        if amount is not None and not _is_limit(limit, amount):
            raise UsageError(
                self._t("{n} cannot be a limit.", n=f"{amount:g}"), self._t("Give a number above 0, or nothing.")
            )
        return BudgetChanged(limit, None if amount is None else float(amount))


def _is_limit(limit: Limit, amount: float) -> bool:
    return 0 < amount <= limit.row.most and not (limit.row.whole and amount != int(amount))
