"""The list of loops, live, with search and filter. The history is the same list with ended loops only."""

from __future__ import annotations

from fastapi import Request
from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from untildone.core.model import Status, Urgency
from untildone.core.values.value import replace
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.frame import POLL_EVERY, frame, texts_of
from untildone.faces.web.pieces import attempt, box, in_thread, set_classes, set_text, text
from untildone.faces.web.rows import RowView
from untildone.operations.loop_table import Row
from untildone.operations.showing.values import Listing, ListQuery

_ALL = ("", "running", "paused", "created", "completed", "failed", "damaged")
_ENDED = ("", "completed", "failed")


def build(backend: Backend, request: Request, *, ended_only: bool) -> None:
    """Build the page."""
    t = texts_of(request)
    page = LoopList(backend, t, ended_only=ended_only)
    with frame(request, t, t("History") if ended_only else t("Loops"), page.pressed):
        page.build()


class LoopList:
    """The list of loops: polls the table and updates the rows."""

    def __init__(self, backend: Backend, t: Texts, *, ended_only: bool) -> None:
        self._backend = backend
        self._t = t
        self._query = ListQuery(ended_only=ended_only)
        self._listing: Listing | None = None
        self._selected = -1
        self._views: list[RowView] = []
        self._filters: dict[str, TextElement] = {}

    def build(self) -> None:
        with box("tools") as self._tools:
            search = ui.input(placeholder=self._t("Search"), on_change=lambda event: self._search(event.value or ""))
            search.props("outlined dense clearable debounce=200 type=search").classes("search")
            search.props["aria-label"] = self._t("Search")
            with box("filters").props("role=group"):
                for status in _ENDED if self._query.ended_only else _ALL:
                    self._filter(status)
        self._state = box()
        with self._state:
            pieces.loading(self._t)
        self._rows = box("rows hidden")
        with box("paging hidden") as self._paging:
            self._pages = ui.pagination(
                1, 1, direction_links=True, on_change=lambda event: self._turn(event.value or 1)
            )
            self._pages.props("max-pages=7 boundary-numbers")
            self._total = text("", "quiet")
        ui.timer(POLL_EVERY, self._poll)

    def _filter(self, status: str) -> None:
        element = text("", "filter", "button").on("click", lambda: self._choose(status))
        self._filters[status] = element

    async def _choose(self, status: str) -> None:
        await self._list(replace(self._query, status=status, page=1))

    async def _search(self, words: str) -> None:
        await self._list(replace(self._query, search=words, page=1))

    async def _turn(self, page: int) -> None:
        if page != self._query.page:
            await self._list(replace(self._query, page=page))

    async def _list(self, query: ListQuery) -> None:
        self._query = query
        self._selected = -1
        await self._poll()

    async def _poll(self) -> None:
        query = self._query
        try:
            listing = await in_thread(self._backend.listing, query)
        except Exception as problem:
            self._show_problem(problem)
            return
        if query is self._query and not self._rows.is_deleted:
            self._show(listing)

    def _show_problem(self, problem: Exception) -> None:
        self._listing = None
        set_classes(self._rows, "rows hidden")
        self._state.clear()
        with self._state:
            pieces.failed(self._t, problem)

    def _show(self, listing: Listing) -> None:
        before, self._listing = self._listing, listing
        self._query = replace(self._query, page=listing.page) if listing.page != self._query.page else self._query
        if before is None or bool(before.rows) != bool(listing.rows) or not listing.rows:
            self._show_state(listing)
        nothing = not listing.counts and not self._query.search
        set_classes(self._tools, "tools hidden" if nothing else "tools")
        self._show_filters(listing)
        self._show_paging(listing)
        self._show_rows(listing)

    def _show_state(self, listing: Listing) -> None:
        self._state.clear()
        set_classes(self._rows, "rows" if listing.rows else "rows hidden")
        if listing.rows:
            return
        with self._state:
            if self._query.search or self._query.status:
                pieces.empty("search_off", self._t("No loop fits"), self._t("Try other words or another status."))
            elif self._query.ended_only:
                pieces.empty(
                    "history", self._t("Nothing has ended yet"), self._t("Ended loops are here, with their receipts.")
                )
            else:
                self._invite()

    def _invite(self) -> None:
        hint = self._t("A loop keeps an agent at work until the job is done.")
        with pieces.empty("task_alt", self._t("No loops yet"), hint), box("button-link", "a").props('href="/new"'):
            text(self._t("New loop"))

    def _show_filters(self, listing: Listing) -> None:
        for status, element in self._filters.items():
            count = sum(listing.counts.values()) if not status else listing.counts.get(status, 0)
            name = self._t("All") if not status else self._t(status)
            set_text(element, f"{name} {count}")
            chosen = status == self._query.status
            rare = status == "damaged" and not count and not chosen
            set_classes(element, f"filter{' chosen' if chosen else ''}{' hidden' if rare else ''}")

    def _show_paging(self, listing: Listing) -> None:
        set_classes(self._paging, "paging" if listing.pages > 1 else "paging hidden")
        if self._pages.max != listing.pages:
            self._pages.max = listing.pages
        if self._pages.value != listing.page:
            self._pages.value = listing.page
        set_text(self._total, self._t("{n} loops", n=f"{listing.total:,}"))

    def _show_rows(self, listing: Listing) -> None:
        with self._rows:
            while len(self._views) < len(listing.rows):
                self._views.append(RowView(self._t, "receipt" if self._query.ended_only else ""))
        for place, view in enumerate(self._views):
            row = listing.rows[place] if place < len(listing.rows) else None
            undriven = row is not None and row.loop_id in listing.undriven
            view.show(row, undriven=undriven, selected=place == self._selected)

    async def pressed(self, key: str) -> None:
        match key:
            case "j":
                await self._move(1)
            case "k":
                await self._move(-1)
            case "Enter" if chosen := self._chosen():
                ui.navigate.to(f"/loops/{chosen.loop_id}")
            case "p" if chosen := self._chosen():
                await attempt(self._t, self._backend.pause, chosen.loop_id, Urgency.AFTER_ITERATION)
            case "r" if chosen := self._chosen():
                go_on = self._backend.start if chosen.status is Status.CREATED else self._backend.resume
                await attempt(self._t, go_on, chosen.loop_id)
            case _:
                return

    def _chosen(self) -> Row | None:
        rows = self._listing.rows if self._listing else ()
        return rows[self._selected] if 0 <= self._selected < len(rows) else None

    async def _move(self, by: int) -> None:
        """Select the next row; at the edge of a page, turn the page."""
        if self._listing is None or not self._listing.rows:
            return
        target, page = self._selected + by, self._listing.page
        if target >= len(self._listing.rows) and page < self._listing.pages:
            await self._list(replace(self._query, page=page + 1))
            target = 0
        elif target < 0 < self._selected + 1 and page > 1:
            await self._list(replace(self._query, page=page - 1))
            target = len(self._listing.rows) - 1
        self._selected = min(max(0, target), len(self._listing.rows) - 1)
        self._show_rows(self._listing)
        self._views[self._selected].link.run_method("scrollIntoView", {"block": "nearest"})
