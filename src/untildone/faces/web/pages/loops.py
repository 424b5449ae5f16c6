"""All loops: filtered, searched, sorted and paged by the address."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse

from untildone.faces.web.lists import addresses
from untildone.faces.web.lists.addresses import Chosen
from untildone.faces.web.lists.cards import Card, Cards, short_names
from untildone.faces.web.site import Site, texts_of
from untildone.operations.showing import waiting
from untildone.operations.showing.listing import DAMAGED, TablePages
from untildone.operations.showing.values import Listing

SIZE = 25


@dataclass(frozen=True, slots=True)
class Filter:
    """A status that the list can show, with the number of its loops."""

    word: str
    count: int
    address: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class ListView:
    """A page of the list."""

    chosen: Chosen
    cards: tuple[Card, ...]
    total: int
    page: int
    pages: int
    filters: tuple[Filter, ...]
    links: tuple[int, ...]
    workspaces: dict[str, str]
    """The served folders with their short names; empty if there is only one."""
    agents: tuple[str, ...]
    modes: tuple[str, ...]

    @property
    def here(self) -> str:
        return self.chosen.address(page=self.page)


def add(app: FastAPI, site: Site) -> None:
    """Add the page, and its fragment."""
    pages = TablePages(site.service.table)

    @app.get("/loops", include_in_schema=False)
    def loops(request: Request) -> HTMLResponse:
        return site.page(request, "lists/loops_page.html", list=_view(site, pages, request))

    @app.get("/fragments/loops", include_in_schema=False)
    def rows(request: Request) -> HTMLResponse:
        return site.fragment(request, "lists/loops.html", list=_view(site, pages, request))


def _view(site: Site, pages: TablePages, request: Request) -> ListView:
    service = site.service
    chosen = addresses.read(request.query_params, service.stores)
    listing = pages.page(chosen.filter(), chosen.sort, chosen.page, SIZE)
    cards = Cards(texts_of(request), tuple(service.stores))
    shown = tuple(cards.listed(row, waiting.of_row(service, row)) for row in listing.rows)
    rows = service.table.rows()
    return view(
        chosen,
        listing,
        shown,
        short_names(tuple(service.stores)) if len(service.stores) > 1 else {},
        tuple(sorted({row.agent for row in rows if row.agent})),
        tuple(sorted({row.mode for row in rows if row.mode})),
    )


def view(
    chosen: Chosen,
    listing: Listing,
    cards: tuple[Card, ...],
    workspaces: dict[str, str],
    agents: tuple[str, ...],
    modes: tuple[str, ...],
) -> ListView:
    """The page as the template shows it."""
    return ListView(
        chosen,
        cards,
        listing.total,
        listing.page,
        listing.pages,
        filters(chosen, listing),
        addresses.around(listing.page, listing.pages),
        workspaces,
        agents,
        modes,
    )


def filters(chosen: Chosen, listing: Listing) -> tuple[Filter, ...]:
    """A filter for each status; `damaged` only if a loop is."""
    links = [Filter("All", sum(listing.counts.values()), chosen.address(status=""), not chosen.status)]
    for word in addresses.STATUSES:
        count, is_chosen = listing.counts.get(word, 0), chosen.status == word
        if word != DAMAGED or count or is_chosen:
            links.append(Filter(word, count, chosen.address(status=word), is_chosen))
    return tuple(links)
