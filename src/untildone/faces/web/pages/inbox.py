"""The first page: what needs a person, what is at work, what is done."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse

from untildone.faces.web.lists.cards import Card, Cards
from untildone.faces.web.site import Site, texts_of
from untildone.operations.showing.inbox import Inbox


@dataclass(frozen=True, slots=True)
class InboxView:
    """The cards of the page. The totals count what is not shown as well."""

    needs: tuple[Card, ...]
    needs_total: int
    working: tuple[Card, ...]
    working_total: int
    done: tuple[Card, ...]
    done_total: int
    loops: int


def add(app: FastAPI, site: Site) -> None:
    """Add the page, and its fragments."""

    @app.get("/", include_in_schema=False)
    def inbox(request: Request) -> HTMLResponse:
        return site.page(request, "lists/inbox_page.html", inbox=_view(site, request))

    @app.get("/fragments/inbox", include_in_schema=False)
    def cards(request: Request) -> HTMLResponse:
        return site.fragment(request, "lists/inbox.html", inbox=_view(site, request))

    @app.get("/fragments/needs", include_in_schema=False)
    def needs(request: Request) -> HTMLResponse:
        return site.fragment(request, "lists/needs.html")


def _view(site: Site, request: Request) -> InboxView:
    return view(Cards(texts_of(request), tuple(site.service.stores)), site.inboxes.look())


def view(cards: Cards, inbox: Inbox) -> InboxView:
    """The inbox as cards."""
    return InboxView(
        tuple(map(cards.need, inbox.needs)),
        inbox.needs_total,
        tuple(map(cards.working, inbox.working)),
        inbox.working_total,
        tuple(map(cards.done, inbox.done)),
        inbox.done_total,
        inbox.loops,
    )
