"""What a loop was created with, what it left behind, and its log."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI, Request, Response

from untildone.core.errors import UntilDoneError
from untildone.core.kinds import Host
from untildone.core.limits import REPORTED, duration
from untildone.core.loop import Loop
from untildone.core.model import LoopSettings
from untildone.core.values.codec import to_json
from untildone.faces.web.loop.head import amount, machine
from untildone.faces.web.loop.reading import LoopReader
from untildone.faces.web.render import bidi
from untildone.faces.web.site import Site, texts_of
from untildone.faces.web.translations.texts import Texts
from untildone.operations import look, output

MOST_LINES = 1000
MOST_FILES = 200
_SECRET = ("hook_session",)


def add(app: FastAPI, site: Site) -> None:
    """Add the routes."""
    reader = LoopReader(site)

    @app.get("/loops/{loop_id}/about", include_in_schema=False)
    def about(request: Request, loop_id: str) -> Response:
        t, view = texts_of(request), site.look(loop_id)
        store = site.service.store_of(loop_id)
        return site.page(
            request,
            "loop/about.html",
            view=view,
            the_loop=view.loop,
            head=reader.head(t, view),
            facts=tuple(facts(t, view.loop)),
            settings=tuple(settings(view.loop.settings)),
            receipt=_receipt(look.receipt(store, loop_id) if view.has_receipt else None),
            log=view.log[-MOST_LINES:],
            most_files=MOST_FILES,
            session=shlex.join(output.session_command(view.loop) or ()),
            amounts=[
                (limit.row.total, amount(limit, limit.row.used(view.loop.spend)))
                for limit in REPORTED
                if limit.row.used
            ],
            marked=bidi.marked,
            plain=bidi.plain,
        )


def facts(t: Texts, loop: Loop) -> Iterator[tuple[str, str]]:
    """The main facts about a loop, each with a name and a value."""
    chosen = loop.settings
    yield t("Loop"), loop.loop_id
    yield t("Task"), loop.description[:20_000]
    if loop.host is Host.CLUSTER and chosen.remote:
        yield t("Remote"), chosen.remote
        yield t("Branch"), chosen.branch or f"untildone/{loop.loop_id}"
    else:
        yield t("Workspace"), chosen.workspace
    worker = chosen.worker
    yield t("Agent"), " ".join(filter(None, (worker.profile, worker.model, loop.agent_version)))
    if machine(loop):
        yield t("Machine"), machine(loop)
    if chosen.checks:
        yield t("Checks"), "\n".join(chosen.checks)
    if chosen.promise and output.mode(chosen.mode).claims_by_promise:
        yield t("Promise"), chosen.promise
    yield t("At work"), duration(loop.spend.seconds)


def settings(chosen: LoopSettings) -> Iterator[tuple[str, str]]:
    """The settings that the loop runs with, by name. Those that are not set are left out."""
    fields: Mapping[str, Any] = to_json(chosen)
    for name, value in fields.items():
        if value not in (None, "", [], {}, False) and name not in _SECRET:
            yield name, written(value)


def written(value: object) -> str:
    """A value of a setting for people."""
    if isinstance(value, dict):
        return "\n".join(f"{name}: {written(each)}" for name, each in value.items() if each not in (None, "", [], {}))
    if isinstance(value, list):
        return "\n".join(map(written, value))
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _receipt(text: str | None) -> dict[str, Any] | None:
    """The fields of a receipt; None if there is none, or it is damaged."""
    try:
        fields = json.loads(text or "")
    except (ValueError, UntilDoneError):
        return None
    return fields if isinstance(fields, dict) else None
