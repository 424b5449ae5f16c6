"""The dashboard: pages rendered on the server, over the same operations as the API. `mount` puts them on the application."""

from __future__ import annotations

from fastapi import FastAPI

from untildone.faces.web import errors, pages
from untildone.faces.web.assets import serve_assets
from untildone.faces.web.site import Site
from untildone.operations.driving.service import Service


def mount(app: FastAPI, service: Service) -> None:
    """Add the dashboard to the application that has the API, whose middleware authenticates every request."""
    site = Site(service)
    serve_assets(app)
    for page in pages.all_pages():
        page.add(app, site)
    errors.show_errors_as_pages(app, site)
