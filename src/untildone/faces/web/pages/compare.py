"""Two loops side by side: the settings that differ, rounds, spend, gates, changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import FastAPI, Query, Request, Response

from untildone.core.errors import UntilDoneError
from untildone.core.limits import REPORTED, duration
from untildone.core.loop import Loop
from untildone.faces.web.chips import Chip
from untildone.faces.web.loop.head import amount, chip, gates_sentence, reason_of
from untildone.faces.web.loop.reading import LoopReader
from untildone.faces.web.loop.rounds import files as files_text
from untildone.faces.web.pages.about import settings
from untildone.faces.web.render import bidi
from untildone.faces.web.site import Site, texts_of
from untildone.faces.web.translations.texts import Texts
from untildone.operations.showing.values import LoopView

MOST_OFFERED = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One fact about both loops."""

    name: str
    left: str
    right: str

    @property
    def differs(self) -> bool:
        return self.left != self.right


@dataclass(frozen=True, slots=True)
class Side:
    """One of the loops."""

    loop: Loop
    chip: Chip


def add(app: FastAPI, site: Site) -> None:
    """Add the route."""
    reader = LoopReader(site)

    @app.get("/compare", include_in_schema=False)
    def compare(
        request: Request, a: Annotated[str, Query(max_length=200)] = "", b: Annotated[str, Query(max_length=200)] = ""
    ) -> Response:
        t = texts_of(request)
        views = [site.look(loop_id) for loop_id in (a, b) if loop_id]
        both = len(views) == 2
        return site.page(
            request,
            "loop/compare.html",
            a=a,
            b=b,
            offered=sorted(site.service.table.rows(), key=lambda row: -row.updated_at)[:MOST_OFFERED],
            sides=[Side(view.loop, chip(t, view.loop, driven=view.driven)) for view in views] if both else [],
            results=results(t, views[0], views[1], *(_stat(t, reader, view) for view in views)) if both else (),
            differences=differences(views[0].loop, views[1].loop) if both else (),
            marked=bidi.marked,
            plain=bidi.plain,
        )


def results(t: Texts, left: LoopView, right: LoopView, left_stat: str, right_stat: str) -> tuple[Row, ...]:
    """What became of both."""
    both = (left.loop, right.loop)
    names = [
        (t("Task"), *(loop.description[:2000] for loop in both)),
        (t("Reason"), *(t.sentence(reason_of(loop)) for loop in both)),
        (t("Rounds"), *(str(loop.spend.iterations) for loop in both)),
        (t("At work"), *(duration(loop.spend.seconds) for loop in both)),
        *(
            (t(limit.row.total), *(amount(limit, limit.row.used(loop.spend)) for loop in both))
            for limit in REPORTED
            if limit.row.used
        ),
        (t("Gates"), *(gates_sentence(t, loop.gates) for loop in both)),
        (t("Claims refused"), *(str(_refused(view)) for view in (left, right))),
        (t("Changes"), left_stat, right_stat),
    ]
    return tuple(Row(name, one, other) for name, one, other in names)


def differences(left: Loop, right: Loop) -> tuple[Row, ...]:
    """The settings that differ."""
    one, other = dict(settings(left.settings)), dict(settings(right.settings))
    rows = (Row(name, one.get(name, "–"), other.get(name, "–")) for name in sorted(one.keys() | other.keys()))
    return tuple(row for row in rows if row.differs)


def _refused(view: LoopView) -> int:
    return sum(any(not gate.passed for gate in each.gates) for each in view.timeline.rounds)


def _stat(t: Texts, reader: LoopReader, view: LoopView) -> str:
    try:
        changed = reader.changes(view, None)
    except UntilDoneError as problem:
        return problem.sentence
    added, removed = sum(each.added for each in changed), sum(each.removed for each in changed)
    return f"{files_text(t, len(changed))} +{added} −{removed}"
