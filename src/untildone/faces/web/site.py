"""`Site`: what every page needs. Renders templates in the language and the colours of the browser."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.core.values.codec import timestamp
from untildone.faces.text import loop_lines
from untildone.faces.web import assets
from untildone.faces.web.shown import FILTERS
from untildone.faces.web.translations.problems import CODES, key_of
from untildone.faces.web.translations.texts import Language, Texts, texts_for
from untildone.operations.driving.service import Service
from untildone.operations.showing.following import LoopViews
from untildone.operations.showing.inbox import Inboxes
from untildone.operations.showing.values import LogLine, LoopView

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "vary": "accept-language, cookie",
}
SEEN_WITHIN = 2.0
"""Seconds after which a page has what another process wrote."""
THEME_COOKIE = "untildone_theme"
THEMES = ("auto", "light", "dark")


@dataclass(frozen=True, slots=True)
class Link:
    """An entry of the navigation."""

    path: str
    icon: str
    name: str
    key: str
    """The keys that lead there."""


NAVIGATION = (
    Link("/", "inbox", "Inbox", "g i"),
    Link("/loops", "list", "Loops", "g l"),
    Link("/money", "money", "Money", "g m"),
    Link("/settings", "settings", "Settings", "g s"),
)


class Site:
    """Renders the pages over the loops of a server."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.inboxes = Inboxes(service)
        self.views = LoopViews(lambda loop_id: service.fleet.problems.get(loop_id, ""), _log_lines)

    def look(self, loop_id: str) -> LoopView:
        """The loop as it is now. LoopNotFound if there is none."""
        return self.views.look(self.service.store_of(loop_id), loop_id)

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A whole page. `values` are the names in the template; `t` looks up texts."""
        return HTMLResponse(self.render(request, template, **values), status, headers=HEADERS)

    fragment = page
    """A part of a page, by a template that does not extend the frame: what a script fetches when a loop has changed."""

    def render(self, request: Request, template: str, **values: Any) -> str:
        """The text of a template."""
        t = texts_of(request)
        chosen = request.cookies.get(THEME_COOKIE, "auto")
        return self._templates.get_template(template).render(
            t=t,
            language="en" if t.language is Language.ENGLISH else t.language.value,
            theme=chosen if chosen in THEMES else "auto",
            navigation=NAVIGATION,
            here=request.url.path,
            problems={} if t.language is Language.ENGLISH else {code: t(key_of(code)) for code in CODES},
            rendered_at=timestamp(time.time() - SEEN_WITHIN),
            **{"needs": self.inboxes.needs, **values},
        )

    @cached_property
    def _templates(self) -> Environment:
        environment = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.globals["asset"] = assets.address
        environment.globals["pairs"] = lambda words: [(word, word) for word in words]
        environment.filters.update(FILTERS)
        return environment


def texts_of(request: Request) -> Texts:
    """The texts in the language of the browser."""
    return texts_for(request.headers.get("accept-language", ""))


def _log_lines(entry: Entry, loop: Loop) -> list[LogLine]:
    """The lines of the log for an entry."""
    return [LogLine(entry.at, line.text, line.kind.value) for line in loop_lines.of_entry(entry, loop, live=False)]
