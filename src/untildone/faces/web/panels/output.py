"""The output of an agent in a round: read in windows, shown as text, followed while it grows."""

from __future__ import annotations

from nicegui import ui

from untildone.core.loop import Loop, output_name
from untildone.core.model import Role
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.panels.blocks import BlockView
from untildone.faces.web.pieces import box, card, in_thread, set_text, text
from untildone.operations.showing.output_window import Block, Output, Window


class OutputView:
    """The output of one turn."""

    def __init__(self, backend: Backend, t: Texts) -> None:
        self._backend = backend
        self._t = t
        self._loop: Loop | None = None
        self._round: int | None = None
        self._name = ""
        self._output: Output | None = None
        self._window = Window()
        self._drawn: list[BlockView] = []
        self._follows = True
        self._busy = False
        self._is_going = True
        with card("", "output-card"):
            with box("card-head"):
                self._title = text(t("Output"), "card-title", "h2")
                box("stretch")
                self._roles = ui.toggle({}, on_change=lambda event: self._change_role(event.value))
                self._roles.props("dense no-caps unelevated size=sm padding='2px 8px' toggle-color=primary")
                self._roles.set_visibility(False)
            with box("actions") as self._paging:
                self._earlier = ui.button(t("Earlier"), icon="expand_less", on_click=self._go_back).props("flat dense")
                self._later = ui.button(t("Later"), icon="expand_more", on_click=self._go_on).props("flat dense")
                self._latest = ui.button(t("Latest"), icon="vertical_align_bottom", on_click=self._go_last).props(
                    "flat dense"
                )
            self._paging.set_visibility(False)
            self._place = box("output").props("tabindex=0 role=log")

    async def choose(self, loop: Loop, number: int | None, *, is_going: bool) -> None:
        """Show the output of a round; None shows nothing."""
        self._loop = loop
        self._is_going = is_going
        if number is None:
            self._round, self._output = None, None
            self._draw(Window(), self._t("No output yet"))
            return
        if number != self._round:
            self._round = number
            await self._open(output_name(Role.WORKER, number))
        await self._offer_roles(number)
        if self._output is not None:
            self._output.is_complete = not is_going

    async def _offer_roles(self, number: int) -> None:
        assert self._loop is not None
        names = await in_thread(self._backend.output_names, self._loop.loop_id)
        if self._place.is_deleted:
            return
        own = {name: self._t(name.partition("-")[2] or "worker") for name in names if name[:4] == f"{number:04d}"}
        if len(own) > 1 and own != self._roles.options:
            self._roles.set_options(own, value=self._name if self._name in own else next(iter(own)))
        self._roles.set_visibility(len(own) > 1)

    async def _change_role(self, name: str | None) -> None:
        if name and name != self._name:
            await self._open(name)

    async def _open(self, name: str) -> None:
        assert self._loop is not None
        self._name = name
        self._place.clear()
        self._drawn = []
        set_text(self._title, self._t("Output of round {n}", n=int(name[:4])))
        self._output = await in_thread(self._backend.output, self._loop.loop_id, name)
        self._output.is_complete = not self._is_going
        await self._go_last()

    async def tick(self) -> None:
        """Show new output. Nothing is sent to the browser if there is none."""
        if self._output is None or not self._follows or self._busy:
            return
        output, window = self._output, self._window
        self._busy = True
        try:
            fresh = await in_thread(output.followed, window)
        finally:
            self._busy = False
        if window is self._window and fresh is not window and not self._place.is_deleted:
            self._draw(fresh)

    async def _go_back(self) -> None:
        if self._output is not None:
            self._follows = False
            self._draw(await in_thread(self._output.before, self._window))

    async def _go_on(self) -> None:
        if self._output is not None:
            window = await in_thread(self._output.after, self._window)
            self._follows = window.is_last
            self._draw(window)

    async def _go_last(self) -> None:
        if self._output is None:
            return
        self._follows = True
        output = self._output
        window = await in_thread(output.tail)
        if output is self._output and not self._place.is_deleted:
            self._draw(window)

    def _draw(self, window: Window, nothing: str = "") -> None:
        self._window = window
        blocks = window.blocks
        self._drop_old_views(blocks)
        if not blocks or not self._drawn:
            self._place.clear()
            self._drawn = []
        for view, block in zip(self._drawn, blocks, strict=False):
            if view.block != block:
                view.show(block)
        with self._place:
            if not blocks:
                pieces.empty("terminal", nothing or self._t("Nothing printed yet"))
            self._drawn += [BlockView(self._t, block) for block in blocks[len(self._drawn) :]]
        self._show_paging(window)
        if self._follows:
            self._scroll_down()

    def _drop_old_views(self, blocks: tuple[Block, ...]) -> None:
        """Keep the views of blocks that have only grown; remove the others."""
        while self._drawn and blocks and self._drawn[0].block.at < blocks[0].at:
            self._drawn.pop(0).delete()
        pairs = enumerate(zip(self._drawn, blocks, strict=False))
        same = next((place for place, (view, block) in pairs if not view.grows_into(block)), len(blocks))
        for view in self._drawn[same:]:
            view.delete()
        del self._drawn[same:]

    def _show_paging(self, window: Window) -> None:
        self._earlier.set_visibility(not window.is_first)
        self._later.set_visibility(not window.is_last and not self._follows)
        self._latest.set_visibility(not self._follows)
        self._paging.set_visibility(not window.is_first or not self._follows)

    def _scroll_down(self) -> None:
        """Scroll to the end, unless the reader has scrolled up."""
        place = f"getHtmlElement({self._place.id})"
        ui.run_javascript(
            f"{{const box = {place}; if (box && (!box.dataset.read || box.scrollHeight - box.scrollTop - box.clientHeight < 240))"
            " { box.dataset.read = 1; requestAnimationFrame(() => { box.scrollTop = box.scrollHeight; }); }}"
        )
