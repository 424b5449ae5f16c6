"""The changes of a loop: a tree of files, unified or side by side, with comments that become a message to the agent."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from starlette.exceptions import HTTPException

from untildone.core.errors import UntilDoneError
from untildone.faces.web.loop import changes
from untildone.faces.web.loop.reading import LoopReader
from untildone.faces.web.render import bidi
from untildone.faces.web.render.diffs import FileDiff
from untildone.faces.web.site import Site, texts_of
from untildone.operations.showing.timeline import Round
from untildone.operations.showing.values import LoopView

VIEWS = ("unified", "split")
MOST_ROUNDS = 200
"""How many of the last rounds can be chosen."""
Chosen = Annotated[str, Query(alias="round", max_length=10, pattern="^[0-9]*$")]
View = Annotated[str, Query(alias="view", max_length=10)]
Place = Annotated[int | None, Query(ge=0)]
Start = Annotated[int, Query(ge=0)]


def add(app: FastAPI, site: Site) -> None:
    """Add the routes."""
    pages = ChangesPages(site)
    app.get("/loops/{loop_id}/changes", include_in_schema=False)(pages.page)
    app.get("/fragments/loops/{loop_id}/changes/file", include_in_schema=False)(pages.file)


class ChangesPages:
    """Renders the page of changes and single files of it."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._reader = LoopReader(site)

    def page(
        self,
        request: Request,
        loop_id: str,
        chosen: Chosen = "",
        view: View = "",
        place: Place = None,
        start: Start = 0,
    ) -> Response:
        """All files; with `place`, one file from its line `start` on."""
        looked, t = self._site.look(loop_id), texts_of(request)
        of = _round(looked, chosen)
        try:
            files, problem = self._reader.changes(looked, of), None
        except UntilDoneError as error:
            files, problem = (), error
        if place is not None:
            _check_place(files, place)
        shown = changes.shown(files)
        only = None if place is None else changes.shown_file(place, files[place], start)
        return self._site.page(
            request,
            "loop/changes.html",
            view=looked,
            head=self._reader.head(t, looked),
            changes=shown,
            only=only,
            problem=problem,
            rounds=[each for each in reversed(looked.timeline.rounds) if each.after][:MOST_ROUNDS],
            **_values(looked, of, view),
        )

    def file(
        self, request: Request, loop_id: str, place: int, chosen: Chosen = "", view: View = "", start: Start = 0
    ) -> Response:
        """The lines of one file."""
        looked = self._site.look(loop_id)
        of = _round(looked, chosen)
        files = self._reader.changes(looked, of)
        _check_place(files, place)
        comments = request.query_params.get("comments") == "1"
        values = {**_values(looked, of, view), "comments": comments}
        shown = changes.shown_file(place, files[place], start)
        return self._site.fragment(request, "loop/file.html", each=shown, **values)


def _values(view: LoopView, of: Round | None, selected: str) -> dict[str, Any]:
    return {
        "the_loop": view.loop,
        "round_number": of.number if of else None,
        "view_name": selected if selected in VIEWS else VIEWS[0],
        "comments": not view.loop.status.ended,
        "marked": bidi.marked,
        "plain": bidi.plain,
    }


def _round(view: LoopView, chosen: str) -> Round | None:
    """The round of that number; None if none is named, and an error if there is no such round."""
    if not chosen:
        return None
    chosen_round = view.timeline.round(int(chosen))
    if chosen_round is None:
        raise HTTPException(404, f"Loop {view.loop.loop_id} has no round {chosen}")
    return chosen_round


def _check_place(files: tuple[FileDiff, ...], place: int) -> None:
    if place >= len(files):
        raise HTTPException(404, "There is no such file among the changes")
