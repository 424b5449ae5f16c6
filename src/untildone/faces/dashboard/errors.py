"""Errors as pages: a browser that asks for a page gets one, with a way home; everything below /api stays JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from untildone.core.errors import LoopNotFound, UntilDoneError
from untildone.faces.dashboard.site import Site, texts_of

Handler = Callable[[Request, Any], Awaitable[Response] | Response]


def show_errors_as_pages(app: FastAPI, site: Site) -> None:
    """Wrap the handlers of the API, which answer with JSON."""
    for kind in (HTTPException, RequestValidationError, UntilDoneError):
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
    path, wanted = request.url.path, request.headers.get("accept", "")
    return not path.startswith(("/api/", "/assets/")) and path != "/api" and "text/html" in wanted


def _page(site: Site, request: Request, problem: Exception) -> Response:
    t = texts_of(request)
    if isinstance(problem, UntilDoneError):
        status = 404 if isinstance(problem, LoopNotFound) else 409
        return site.page(request, "error.html", status=status, title=problem.sentence, hint=problem.hint)
    status = problem.status_code if isinstance(problem, HTTPException) else 404
    title = (
        t("There is no such page.") if status == 404 else t("This cannot be shown (status {status}).", status=status)
    )
    return site.page(request, "error.html", status=status, title=title, hint="")
