"""The page behind the reply link of a notification: the question, and a field for the answer. A token of one loop opens it.

It needs no session and no script, and shows nothing but this one loop.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from untildone.core.errors import LoopNotFound, ReplyRefused, UntilDoneError
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.faces.web.render.bidi import marked, plain
from untildone.faces.web.site import Site, texts_of
from untildone.operations.access import replying

LONGEST = 100_000
LoopId = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]


def add(app: FastAPI, site: Site) -> None:
    """Add the page."""

    @app.get("/reply/{loop_id}", include_in_schema=False)
    def ask(loop_id: LoopId, request: Request, token: Annotated[str, Query(max_length=300)] = "") -> Response:
        try:
            replying.check(token, loop_id)
            loop = site.service.store_of(loop_id).load(loop_id)
        except UntilDoneError as problem:
            return _refused(site, request, problem)
        return _page(site, request, loop_id, **_question(loop), token=token)

    @app.post("/reply/{loop_id}", include_in_schema=False)
    async def take(loop_id: LoopId, request: Request) -> Response:
        given = _fields((await request.body()).decode("utf-8", "replace"))
        text, token = (given.get("text") or [""])[0].strip(), (given.get("token") or [""])[0]
        return await run_in_threadpool(_said, site, request, loop_id, token, text)


def _fields(body: str) -> dict[str, list[str]]:
    """The fields of a form; none if there are more than a form of ours has."""
    try:
        return parse_qs(body, max_num_fields=10)
    except ValueError:
        return {}


def _question(loop: Loop) -> dict[str, Any]:
    return {
        "title": loop.title,
        "state": loop.end_sentence or "The loop is at work.",
        "question": loop.reason if loop.status is Status.PAUSED else "",
        "ended": loop.status.ended,
    }


def _said(site: Site, request: Request, loop_id: str, token: str, text: str) -> Response:
    try:
        replying.check(token, loop_id)
        loop = site.service.store_of(loop_id).load(loop_id)
        if not text or len(text) > LONGEST:
            problem = "Nothing was sent: the answer was empty or too long."
            return _page(site, request, loop_id, 422, **_question(loop), token=token, text=text, problem=problem)
        heard = site.service.say(loop_id, text)
    except UntilDoneError as problem:
        return _refused(site, request, problem, text)
    done = "The answer was sent, and the loop goes on." if heard.goes_on else "The answer was sent."
    return _page(site, request, loop_id, title=loop.title, said=done, notices=heard.notices)


def _refused(site: Site, request: Request, problem: UntilDoneError, text: str = "") -> Response:
    """A sentence about what is wrong, with the answer that was not sent, so that it is not lost."""
    status = 403 if isinstance(problem, ReplyRefused) else 404 if isinstance(problem, LoopNotFound) else 409
    return _page(site, request, "", status, title="untildone", problem=problem.sentence, hint=problem.hint, unsent=text)


def _page(site: Site, request: Request, loop_id: str, status: int = 200, **values: Any) -> Response:
    nothing = {"state": "", "question": "", "ended": False, "token": "", "text": "", "said": "", "notices": ()}
    usual = {**nothing, "problem": "", "hint": "", "unsent": "", "loop_id": loop_id, "longest": LONGEST}
    t = texts_of(request)
    words = {"sentence": lambda text: marked(t.sentence(text)), "plain": plain}
    return site.page(request, "reply.html", status=status, **{**usual, **words, **values})
