"""Errors as pages: a browser that asks for a page gets one, with a way home; everything below /api stays JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from untildone.core.errors import LoopNotFound, StoreError, UntilDoneError, UsageError
from untildone.faces.web.site import Site, texts_of

Handler = Callable[[Request, Any], Awaitable[Response] | Response]
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (LoopNotFound, 404),
    (UsageError, 422),
    (StoreError, 503),
    (UntilDoneError, 409),
    (RequestValidationError, 422),
)
_TITLES = {
    404: "There is no such page.",
    422: "This address cannot be used.",
    500: "This is a defect of untildone, not of your request.",
}


def show_errors_as_pages(app: FastAPI, site: Site) -> None:
    """Wrap the handlers of the API, which answer with JSON."""
    for kind in (HTTPException, RequestValidationError, UntilDoneError, Exception):
        before = app.exception_handlers.get(kind)
        if before is not None:
            app.add_exception_handler(kind, _as_page(site, before))


def _as_page(site: Site, before: Handler) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handle(request: Request, problem: Exception) -> Response:
        if not _wants_page(request):
            answer = before(request, problem)
            return answer if isinstance(answer, Response) else await answer
        return await run_in_threadpool(_page, site, request, problem)

    return handle


def _wants_page(request: Request) -> bool:
    path, accepted = request.url.path, request.headers.get("accept", "")
    return not path.startswith(("/api/", "/assets/")) and path != "/api" and "text/html" in accepted


def _page(site: Site, request: Request, problem: Exception) -> Response:
    t, status = texts_of(request), _status(problem)
    if isinstance(problem, UntilDoneError):
        title, hint = t.sentence(problem.sentence), t.sentence(problem.hint)
        if isinstance(problem, LoopNotFound):
            title, hint = t("There is no such loop."), t("It was deleted, or the address is not right.")
    else:
        title = t(_TITLES[status]) if status in _TITLES else t("This cannot be shown (status {status}).", status=status)
        hint = t("The server's log says more about {id}.", id=request.state.defect) if status == 500 else ""
    # The number of loops that need a person may be what cannot be read.
    more = {"needs": lambda: 0} if status >= 500 else {}
    return site.page(request, "error.html", status=status, title=title, hint=hint, **more)


def _status(problem: Exception) -> int:
    if isinstance(problem, HTTPException):
        return problem.status_code
    return next((status for kind, status in _STATUS if isinstance(problem, kind)), 500)
