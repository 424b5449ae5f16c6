"""The form for a new loop, from nothing or like another one."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Query, Request, Response

from untildone.faces.web.forms import reading
from untildone.faces.web.forms.page import form_values
from untildone.faces.web.forms.sections import in_the_open, under_more
from untildone.faces.web.site import Site

Workspace = Annotated[str | None, Query(max_length=4096)]


def add(app: FastAPI, site: Site) -> None:
    """Add the page."""

    @app.get("/new", include_in_schema=False)
    def new(
        request: Request, workspace: Workspace = None, loop: Annotated[str, Query(alias="from", max_length=100)] = ""
    ) -> Response:
        service = site.service
        if loop:
            task, where, widgets = reading.again(service, loop)
        else:
            task, where = "", str(service.workspace(workspace)[0])
            widgets = reading.new_loop(service, where)
        return site.page(
            request,
            "new.html",
            task=task,
            workspace=where,
            workspaces=tuple(service.stores),
            like=loop,
            draft=f"new:from:{loop}" if loop else f"new:{where}",
            open=in_the_open(widgets),
            more=under_more(widgets),
            suggestions=reading.checks_for(service, where),
            **form_values(request),
        )
