"""The log of the loop, newest line last, as `untildone log` prints it."""

from __future__ import annotations

from nicegui import ui

from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.pieces import box, card, clock, text
from untildone.operations.showing.values import LogLine, LoopView

SHOWN = 100


class Log:
    """The panel with the log."""

    def __init__(self, _backend: Backend, t: Texts) -> None:
        self._t = t
        self._lines: tuple[LogLine, ...] = ()
        self._back = 0
        self._drawn: tuple[LogLine, ...] | None = None
        with card(t("Log")):
            with box("actions") as self._paging:
                self._earlier = ui.button(t("Earlier"), icon="expand_less", on_click=lambda: self._move(SHOWN)).props(
                    "flat dense"
                )
                self._later = ui.button(t("Later"), icon="expand_more", on_click=lambda: self._move(-SHOWN)).props(
                    "flat dense"
                )
            self._place = box("log")

    async def show(self, view: LoopView) -> None:
        self._lines = view.log
        self._draw()

    async def tick(self) -> None:
        return

    def _move(self, by: int) -> None:
        self._back = max(0, self._back + by)
        self._draw()

    def _draw(self) -> None:
        end = max(0, len(self._lines) - self._back)
        shown = self._lines[max(0, end - SHOWN) : end]
        self._earlier.set_visibility(end > SHOWN)
        self._later.set_visibility(self._back > 0)
        self._paging.set_visibility(end > SHOWN or self._back > 0)
        if shown == self._drawn:
            return
        self._drawn = shown
        self._place.clear()
        with self._place:
            if not shown:
                pieces.empty("notes", self._t("Nothing has happened yet"))
            for line in shown:
                kind = "quiet-line" if line.kind == "quiet" else line.kind
                with box(f"log-line {kind}"):
                    text(clock(line.at), "when")
                    text(line.text, "what")
