"""The page of one loop: head, message, timeline of rounds, budget, tasks; and the fragments that keep it live."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from markupsafe import Markup
from sse_starlette.sse import AppStatus
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from untildone.core.errors import UntilDoneError
from untildone.core.limits import Limit, duration
from untildone.core.model import Status, SubtaskStatus
from untildone.faces.web.loop import blocks, rounds
from untildone.faces.web.loop import changes as shown_changes
from untildone.faces.web.loop.head import gate_name, gate_verdict
from untildone.faces.web.loop.reading import LoopReader
from untildone.faces.web.render import ansi, bidi, plots
from untildone.faces.web.render.plots import Bar
from untildone.faces.web.shown import money
from untildone.faces.web.site import HEADERS, Site, texts_of
from untildone.faces.web.translations.texts import Texts
from untildone.operations import control
from untildone.operations.showing.output_window import Window
from untildone.operations.showing.timeline import Round
from untildone.operations.showing.values import LoopView

HOLD = 20.0
"""Seconds that a request for fresh output waits for some."""
LOOK_EVERY = 0.25
CHUNK = 1 << 20
_NAME = re.compile(r"[0-9]{4,7}(?:-(?:supervisor|instructor|author))?")
_PARTS = ("asked", "did", "changed", "checked")
PREVIEW = 400
"""Characters of a message whose round controls are shown before it is sent: they are at its start."""
RoundNumber = Annotated[int | None, Query(ge=0, le=10_000_000)]


def add(app: FastAPI, site: Site) -> None:
    """Add the routes."""
    pages = LoopPages(site)
    get = {"methods": ["GET"], "include_in_schema": False}
    app.add_api_route("/loops/{loop_id}", pages.page, **get)  # type: ignore[arg-type]
    app.add_api_route("/loops/{loop_id}/output/{name}", pages.raw, **get)  # type: ignore[arg-type]
    for name, route in (
        ("head", pages.head),
        ("timeline", pages.timeline),
        ("box", pages.box),
        ("budget", pages.budget),
        ("tasks", pages.tasks),
        ("message", pages.message),
        ("rounds/{number}/{part}", pages.part),
        ("output/{name}", pages.output),
    ):
        app.add_api_route(f"/fragments/loops/{{loop_id}}/{name}", route, **get)  # type: ignore[arg-type]


class LoopPages:
    """Renders the page of a loop and its fragments."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._reader = LoopReader(site)

    def page(
        self, request: Request, loop_id: str, round: RoundNumber = None, until: RoundNumber = None, open: str = ""
    ) -> Response:
        """The whole page. What is open is rendered at once; `open` names one more part of the round."""
        t, view = texts_of(request), self._site.look(loop_id)
        shown = rounds.page(t, view, round, until)
        ready = {
            (item.round.number, section.name): self._part(request, t, view, item.round, section.name)
            for item in shown.items
            if isinstance(item, rounds.RoundItem) and item.opened
            for section in item.sections
            if section.opened or section.name == open
        }
        return self._site.page(
            request,
            "loop/page.html",
            view=view,
            the_loop=view.loop,
            head=self._reader.head(t, view),
            timeline=shown,
            ready=ready,
            opened=open,
            query=_query(round, until),
            limits=tuple(Limit),
            statuses=tuple(SubtaskStatus),
            **_helpers(),
        )

    def head(self, request: Request, loop_id: str) -> Response:
        t, view = texts_of(request), self._site.look(loop_id)
        shown = self._reader.head(t, view)
        return self._site.fragment(request, "loop/head.html", head=shown, the_loop=view.loop, **_helpers())

    def box(self, request: Request, loop_id: str) -> Response:
        """The field for a message. Its label and buttons depend on the state of the loop."""
        t, view = texts_of(request), self._site.look(loop_id)
        return self._site.fragment(
            request, "loop/box.html", head=self._reader.head(t, view), the_loop=view.loop, **_helpers()
        )

    def timeline(
        self, request: Request, loop_id: str, round: RoundNumber = None, until: RoundNumber = None
    ) -> Response:
        t, view = texts_of(request), self._site.look(loop_id)
        return self._site.fragment(
            request,
            "loop/timeline.html",
            view=view,
            the_loop=view.loop,
            timeline=rounds.page(t, view, round, until),
            ready={},
            opened="",
            **_helpers(),
        )

    def budget(self, request: Request, loop_id: str) -> Response:
        t, view = texts_of(request), self._site.look(loop_id)
        shown = self._reader.head(t, view)
        return self._site.fragment(
            request, "loop/budget.html", head=shown, view=view, the_loop=view.loop, limits=tuple(Limit), **_helpers()
        )

    def tasks(self, request: Request, loop_id: str) -> Response:
        view = self._site.look(loop_id)
        return self._site.fragment(
            request, "loop/tasks.html", view=view, the_loop=view.loop, statuses=tuple(SubtaskStatus), **_helpers()
        )

    def message(self, request: Request, loop_id: str, text: Annotated[str, Query(max_length=4000)] = "") -> Response:
        """What the round controls at the start of a message will do."""
        loop, t = self._site.look(loop_id).loop, texts_of(request)
        notices = [t.sentence(each) for each in control.preview(loop, text[:PREVIEW])]
        return self._site.fragment(request, "loop/message_preview.html", notices=notices)

    def part(self, request: Request, loop_id: str, number: int, part: str) -> Response:
        """One part of a round: what was asked, done, changed or checked."""
        t, view = texts_of(request), self._site.look(loop_id)
        shown_round = view.timeline.round(number)
        if shown_round is None or part not in _PARTS:
            raise HTTPException(404, f"Loop {loop_id} has no such part of a round")
        return Response(self._part(request, t, view, shown_round, part), media_type="text/html", headers=HEADERS)

    def _part(self, request: Request, t: Texts, view: LoopView, of: Round, part: str) -> Markup:
        values: dict[str, Any] = {"view": view, "the_loop": view.loop, "round": of, **_helpers()}
        if part == "did":
            values["outputs"] = [self._output_of(t, view, name) for name in rounds.output_names(of)]
        if part == "changed":
            values |= self._changes(view, of)
        return Markup(self._site.render(request, f"loop/parts/{part}.html", **values))

    def _changes(self, view: LoopView, of: Round) -> dict[str, Any]:
        fixed = {"view_name": "unified", "comments": False, "round_number": of.number, "problem": None}
        try:
            return {**fixed, "changes": shown_changes.shown(self._reader.changes(view, of))}
        except UntilDoneError as problem:
            return {**fixed, "changes": shown_changes.shown(()), "problem": problem}

    def _output_of(self, t: Texts, view: LoopView, name: str) -> dict[str, Any]:
        going = self._reader.is_going(view, name)
        window = self._reader.output(view, name).look(is_complete=not going)
        shown = [blocks.shown(t, block) for block in window.blocks]
        return {"name": name, "role": name.partition("-")[2], "window": window, "blocks": shown, "going": going}

    async def output(
        self,
        request: Request,
        loop_id: str,
        name: str,
        after: Annotated[int, Query(alias="from", ge=0)] = 0,
        size: Annotated[int, Query(ge=-1)] = -1,
        before: Annotated[int | None, Query(ge=0)] = None,
    ) -> Response:
        """The blocks of an output from an offset on: held back until it has grown beyond `size`. Or the window that ends at `before`."""
        _check_name(name)
        if before is not None:
            return await run_in_threadpool(self._earlier, request, loop_id, name, before)
        deadline = time.monotonic() + HOLD
        while True:
            view = await run_in_threadpool(self._site.look, loop_id)
            going = self._reader.is_going(view, name)
            followed = self._reader.output(view, name)
            window = await run_in_threadpool(lambda: followed.look(is_complete=not going))  # noqa: B023
            # The streams of the API end by the same sign when the server does.
            over = AppStatus.should_exit or time.monotonic() > deadline or await request.is_disconnected()
            if window.size != size or not going or over:
                break
            await asyncio.sleep(LOOK_EVERY)
        return await run_in_threadpool(self._blocks, request, window, after, loop_id, name, going=going)

    def _earlier(self, request: Request, loop_id: str, name: str, before: int) -> Response:
        view = self._site.look(loop_id)
        window = self._reader.output(view, name).output.before(Window(start=before))
        return self._blocks(request, window, 0, loop_id, name, going=False)

    def _blocks(
        self, request: Request, window: Window, after: int, loop_id: str, name: str, *, going: bool
    ) -> Response:
        t = texts_of(request)
        shown = [blocks.shown(t, block) for block in window.blocks if block.at >= after]
        response = self._site.fragment(
            request, "loop/blocks.html", blocks=shown, loop_id=loop_id, name=name, **_helpers()
        )
        response.headers["x-size"] = str(window.size)
        response.headers["x-start"] = str(window.start)
        response.headers["x-going"] = "1" if going else ""
        return response

    def raw(self, loop_id: str, name: str, download: bool = False) -> Response:
        """The whole output as the agent printed it, without secrets."""
        _check_name(name)
        spool = self._site.service.store_of(loop_id).spool(loop_id, name)
        size = spool.size()
        if size is None:
            raise HTTPException(404, f"Loop {loop_id} has no output {name}")

        def parts() -> Iterator[bytes]:
            at = 0
            while at < size and (part := spool.read(at, min(CHUNK, size - at))):
                at += len(part)
                yield part

        headers = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
        if download:
            headers["content-disposition"] = f'attachment; filename="{loop_id}-{name}.jsonl"'
        return StreamingResponse(parts(), media_type="text/plain; charset=utf-8", headers=headers)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise HTTPException(404, "There is no such output")


def _query(round: int | None, until: int | None) -> str:
    parts = [f"{name}={value}" for name, value in (("round", round), ("until", until)) if value is not None]
    return f"?{'&'.join(parts)}" if parts else ""


def spend_plots(t: Texts, done: tuple[Round, ...]) -> list[tuple[str, Markup]]:
    """The plots of the rounds that are over: dollars or tokens, and time. Plots without values are left out."""
    named = [(t("Round {n}", n=each.number), each) for each in done]
    colours = {each.number: "bad" if rounds.has_failed(each) else "" for each in done}
    made = []
    if any(each.usage.cost_usd for each in done):
        bars = [
            Bar(name, each.usage.cost_usd or 0, money(each.usage.cost_usd or 0), colours[each.number])
            for name, each in named
        ]
        made.append((t("Dollars by round"), bars))
    elif any(each.usage.tokens for each in done):
        bars = [
            Bar(name, each.usage.tokens or 0, f"{each.usage.tokens or 0:,}", colours[each.number])
            for name, each in named
        ]
        made.append((t("Tokens by round"), bars))
    if len(done) > 1:
        bars = [Bar(name, each.seconds or 0, duration(each.seconds or 0), colours[each.number]) for name, each in named]
        made.append((t("Time by round"), bars))
    return [(title, plots.bars(bars, title)) for title, bars in made]


def _helpers() -> dict[str, Any]:
    """Functions that the templates call."""
    return {
        "marked": bidi.marked,
        "plain": bidi.plain,
        "ansi": ansi.coloured,
        "said": blocks.said,
        "gate_name": gate_name,
        "gate_verdict": gate_verdict,
        "spend_plots": spend_plots,
        "plot_values": rounds.plot_values,
        "Status": Status,
    }
