"""The named tokens of the server's user: who has access, and a new token, whose secret is shown once."""

from __future__ import annotations

from typing import Any, cast

from fastapi import FastAPI, Request, Response

from untildone.faces.web.site import Site
from untildone.operations.access.scopes import Caller, Scope
from untildone.operations.access.tokens import Tokens

SCOPES = {
    Scope.READ: "read: look at everything",
    Scope.CONTROL: "control: create and steer loops",
    Scope.ADMIN: "admin: settings and tokens as well",
}


def add(app: FastAPI, site: Site) -> None:
    """Add the page, and the list in it."""

    def values(request: Request) -> dict[str, Any]:
        caller = cast(Caller, request.state.caller)
        is_allowed = caller.may(Scope.ADMIN)
        listed = Tokens(site.service.environment).all() if is_allowed else ()
        return {"tokens": listed, "is_allowed": is_allowed, "scopes": SCOPES, "caller": caller}

    @app.get("/tokens", include_in_schema=False)
    def tokens(request: Request) -> Response:
        return site.page(request, "tokens.html", **values(request))

    @app.get("/fragments/tokens", include_in_schema=False)
    def fragment(request: Request) -> Response:
        return site.fragment(request, "forms/tokens.html", **values(request))
