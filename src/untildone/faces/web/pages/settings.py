"""The settings of a workspace, as the file of the project has them."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Query, Request, Response

from untildone.faces.web.forms.page import form_values
from untildone.faces.web.forms.reading import ProjectFile
from untildone.faces.web.forms.sections import by_group
from untildone.faces.web.site import Site


def add(app: FastAPI, site: Site) -> None:
    """Add the page."""

    @app.get("/settings", include_in_schema=False)
    def settings(request: Request, workspace: Annotated[str | None, Query(max_length=4096)] = None) -> Response:
        where = str(site.service.workspace(workspace)[0])
        file = ProjectFile(site.service, where)
        return site.page(
            request,
            "settings.html",
            workspace=where,
            workspaces=tuple(site.service.stores),
            file=file.path,
            sections=tuple(by_group(file.widgets())),
            profiles=file.profiles(),
            new_profile=file.profile({}, "new-"),
            draft=f"settings:{where}",
            **form_values(request),
        )
