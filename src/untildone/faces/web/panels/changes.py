"""The changes of a loop in its workspace, by round or in all. The lines of a file are sent when it is opened."""

from __future__ import annotations

from nicegui import ui
from nicegui.element import Element

from untildone.core.errors import UntilDoneError
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.pieces import box, card, in_thread, text
from untildone.operations.showing.patches import Patch, patches
from untildone.operations.showing.values import LoopView

OPEN_UP_TO = 80
"""Up to this many lines are shown without a click."""
MOST_FILES = 200
MOST_ROUNDS = 200


class ChangesMade:
    """The panel with the diff."""

    def __init__(self, backend: Backend, t: Texts) -> None:
        self._backend = backend
        self._t = t
        self._view: LoopView | None = None
        self._chosen = 0
        self._asked: tuple[object, ...] | None = None
        with card(t("Changes")):
            with box("actions"):
                self._select = ui.select({0: t("In all")}, value=0, on_change=lambda event: self._choose(event.value))
                self._select.props("outlined dense options-dense").style("min-width: 180px")
                self._select.props["aria-label"] = t("Round")
                self._again = ui.button(t("Look again"), icon="refresh", on_click=self._look_again).props("flat dense")
            self._place = box("loop-main")
        with self._place:
            pieces.loading(t)

    async def show(self, view: LoopView) -> None:
        self._view = view
        rounds = [each for each in view.timeline.rounds if each.after][-MOST_ROUNDS:]
        options = {
            0: self._t("In all"),
            **{each.number: self._t("Round {n}", n=each.number) for each in reversed(rounds)},
        }
        if options != self._select.options:
            self._select.set_options(options, value=self._chosen if self._chosen in options else 0)
        asked = (self._chosen, view.timeline.tree, view.loop.status.ended)
        if asked != self._asked:
            self._asked = asked
            await self._read()

    async def tick(self) -> None:
        return

    async def _choose(self, number: int) -> None:
        self._chosen = number or 0
        if self._view is not None:
            await self.show(self._view)

    async def _look_again(self) -> None:
        await self._read()

    async def _read(self) -> None:
        assert self._view is not None
        asked = self._asked
        of = self._view.timeline.round(self._chosen) if self._chosen else None
        try:
            diff = await in_thread(self._backend.diff, self._view.loop.loop_id, of)
            changed: tuple[Patch, ...] | UntilDoneError = await in_thread(patches, diff)
        except UntilDoneError as problem:
            changed = problem
        if asked != self._asked or self._place.is_deleted:
            return
        self._place.clear()
        with self._place:
            self._draw(changed)

    def _draw(self, changed: tuple[Patch, ...] | UntilDoneError) -> None:
        if isinstance(changed, UntilDoneError):
            pieces.failed(self._t, changed)
            return
        if not changed:
            pieces.empty("difference", self._t("Nothing changed"))
            return
        added, removed = sum(each.added for each in changed), sum(each.removed for each in changed)
        text(pieces.files(self._t, len(changed)) + f" · +{added} −{removed}", "quiet")
        few = sum(len(each.lines) for each in changed) <= OPEN_UP_TO
        for each in changed[:MOST_FILES]:
            self._patch(each, opened=few)
        if len(changed) > MOST_FILES:
            text(self._t("and {n} more files", n=len(changed) - MOST_FILES), "quiet")

    def _patch(self, patch: Patch, *, opened: bool) -> None:
        with box("patch", "details") as outer:
            with box(tag="summary"):
                text(patch.path, "patch-name", "span")
                text(f"+{patch.added}", "plus", "span")
                text(f"−{patch.removed}", "minus", "span")
            place = box("diff")
        filled: list[bool] = []

        def fill() -> None:
            if not filled:
                filled.append(True)
                self._lines(place, patch)

        if opened:
            outer.props["open"] = True
            fill()
        else:
            outer.on("toggle", fill)

    def _lines(self, place: Element, patch: Patch) -> None:
        with place:
            for line in patch.lines:
                text(line or " ", _colour(line))
            if patch.left_out:
                text(self._t("and {n} more lines", n=patch.left_out), "place")


def _colour(line: str) -> str:
    return {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "")
