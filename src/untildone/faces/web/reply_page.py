"""The page behind the reply link of a notification: the question, and a field for the answer. A token of one loop opens it."""

from __future__ import annotations

import html
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import FastAPI, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse

from untildone.core.errors import LoopNotFound, ReplyRefused, UntilDoneError
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.faces.dashboard.translations.texts import Texts, texts_for
from untildone.operations import replying
from untildone.operations.driving.service import Service

LONGEST = 100_000
LoopId = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
_POLICY = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
}
_PAGE = """<!doctype html><html lang="{language}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>untildone</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem}}
textarea{{width:100%;box-sizing:border-box;font:inherit}}pre{{white-space:pre-wrap;overflow-wrap:anywhere}}</style>
<h1>{title}</h1>{content}</html>
"""
_FORM = """<p>{state}</p><pre>{question}</pre>
<form method="post"><input type="hidden" name="token" value="{token}">
<p><label>{label}<br><textarea name="text" rows="6" maxlength="100000" required autofocus></textarea></label></p>
<button>{send}</button></form>
"""


def add(app: FastAPI, service: Service) -> None:
    """Add the page to the application."""

    @app.get("/reply/{loop_id}", include_in_schema=False)
    def ask(loop_id: LoopId, request: Request, token: Annotated[str, Query(max_length=300)] = "") -> Response:
        t = _texts(request)
        try:
            replying.check(token, loop_id)
            loop = service.store_of(loop_id).load(loop_id)
        except UntilDoneError as problem:
            return _refused(t, problem)
        return _page(t, _question(t, loop, token), title=loop.title)

    @app.post("/reply/{loop_id}", include_in_schema=False)
    async def take(loop_id: LoopId, request: Request) -> Response:
        t = _texts(request)
        words = parse_qs((await request.body()).decode("utf-8", "replace"))
        text, token = (words.get("text") or [""])[0].strip(), (words.get("token") or [""])[0]
        try:
            return _page(t, await run_in_threadpool(_said, service, loop_id, token, text, t))
        except UntilDoneError as problem:
            return _refused(t, problem)


def _texts(request: Request) -> Texts:
    return texts_for(request.headers.get("accept-language", ""))


def _question(t: Texts, loop: Loop, token: str) -> str:
    if loop.status.ended:
        return f"<p>{t('This loop has ended and takes no more messages.')}</p>"
    return _FORM.format(
        state=html.escape(t(loop.outcome.sentence) if loop.outcome else t("The loop is at work.")),
        question=html.escape(loop.reason if loop.status is Status.PAUSED else ""),
        token=html.escape(token, quote=True),
        label=t("Your answer"),
        send=t("Send"),
    )


def _said(service: Service, loop_id: str, token: str, text: str, t: Texts) -> str:
    replying.check(token, loop_id)
    if not text or len(text) > LONGEST:
        return f"<p>{t('Nothing was sent: the answer was empty or too long.')}</p>"
    heard = service.say(loop_id, text)
    done = t("The answer was sent, and the loop goes on.") if heard.goes_on else t("The answer was sent.")
    return f"<p>{done}</p>" + "".join(f"<p>{html.escape(notice)}</p>" for notice in heard.notices)


def _refused(t: Texts, problem: UntilDoneError) -> Response:
    status = 403 if isinstance(problem, ReplyRefused) else 404 if isinstance(problem, LoopNotFound) else 409
    return _page(t, f"<p>{html.escape(problem.sentence)}</p><p>{html.escape(problem.hint)}</p>", status)


def _page(t: Texts, content: str, status: int = 200, title: str = "untildone") -> Response:
    page = _PAGE.format(language=t.language.value, title=html.escape(title), content=content)
    return HTMLResponse(page, status, headers=_POLICY)
