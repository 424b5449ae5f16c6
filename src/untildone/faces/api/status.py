"""Routes of the server itself: health, metrics, and the login of a browser."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse

from untildone.faces.api.common import Serving, WithKeys, WithStreams
from untildone.faces.api.event_streams import EventStreams
from untildone.faces.api.keys import COOKIE, COOKIE_SECONDS, Keys
from untildone.faces.api.models import Health
from untildone.faces.api.problems import beside_text, may_answer
from untildone.faces.api.security import RequestStats
from untildone.operations.driving.service import Service

router = APIRouter(tags=["server"])
_VERSION = version("untildone")
_FORM = """<!doctype html><html lang="en"><meta charset="utf-8"><title>untildone</title>
<h1>untildone</h1><p>{message}</p>
<form method="post" action="/login"><label>Token <input name="token" type="password" autofocus></label>
<button>Log in</button></form></html>
"""
_ASK = "Open the link that <code>untildone serve</code> printed, or give the token."
_POLICY = {
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    # Without a referrer, browsers send the form with `Origin: null`, which is refused.
    "referrer-policy": "same-origin",
}


@router.get("/api/v1/health", response_model=Health, responses=may_answer(422), openapi_extra={"security": []})
def health() -> Health:
    """Whether the server answers; no token is needed."""
    return Health(status="ok", version=_VERSION)


@router.get("/metrics", response_class=PlainTextResponse, responses=beside_text(422, 503))
def metrics(service: Serving, following: WithStreams, request: Request) -> str:
    """Metrics for Prometheus."""
    return "".join(f"{line}\n" for line in _metrics(service, following, request.app.state.stats))


def _metrics(service: Service, following: EventStreams, stats: RequestStats) -> Iterator[str]:
    load = service.fleet.load()
    yield "# TYPE untildone_loops gauge"
    yield from (
        f'untildone_loops{{status="{status}"}} {count}' for status, count in sorted(service.table.counts().items())
    )
    gauges = {
        "slots": load.slots,
        "loops_driven": len(load.driving),
        "loops_queued": len(load.queued),
        "loops_waiting": len(load.waiting),
        "event_streams": following.streams,
    }
    for name, value in gauges.items():
        yield f"# TYPE untildone_{name} gauge"
        yield f"untildone_{name} {value}"
    yield "# TYPE untildone_http_responses_total counter"
    yield from (f'untildone_http_responses_total{{code="{code}"}} {n}' for code, n in sorted(stats.answers.items()))
    yield "# TYPE untildone_http_refused_total counter"
    yield f"untildone_http_refused_total {stats.refused}"


@router.get("/login", include_in_schema=False)
def log_in(keys: WithKeys, code: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    """Exchange the login code for a cookie. A code is valid once, so no address holds a lasting secret."""
    if code is None:
        return HTMLResponse(_FORM.format(message=_ASK), headers=_POLICY)
    if not keys.use_code(code):
        return HTMLResponse(_FORM.format(message=f"That link was used, or is too old. {_ASK}"), 403, headers=_POLICY)
    return _welcome(keys)


@router.post("/login", include_in_schema=False)
async def log_in_by_token(keys: WithKeys, request: Request) -> Response:
    """Exchange the token for a cookie."""
    words = parse_qs((await request.body()).decode("utf-8", "replace"))
    if not keys.is_token((words.get("token") or [""])[0].strip()):
        return HTMLResponse(_FORM.format(message=f"That is not the token. {_ASK}"), 403, headers=_POLICY)
    return _welcome(keys)


def _welcome(keys: Keys) -> Response:
    answer = RedirectResponse("/", 303)
    answer.set_cookie(COOKIE, keys.cookie, max_age=COOKIE_SECONDS, httponly=True, samesite="strict", path="/")
    return answer
