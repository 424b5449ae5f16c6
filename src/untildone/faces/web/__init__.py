"""The dashboard: pages over the same service as the API, on the same server. `mount` puts them on the application."""

from __future__ import annotations

from fastapi import FastAPI, Request
from nicegui import app as pages_app
from nicegui import ui

from untildone.faces.web import reply_page
from untildone.faces.web.backend import Backend
from untildone.operations.driving.service import Service


def mount(app: FastAPI, service: Service) -> None:
    """Add the dashboard to the application that has the API, whose middleware authenticates every request."""
    reply_page.add(app, service)
    show(app, Backend(service))


def show(app: FastAPI, backend: Backend) -> None:
    """Add the pages of the dashboard."""
    from untildone.faces.web import frame
    from untildone.faces.web.pages import loop, loops, new, preferences
    from untildone.faces.web.policy import PagePolicy

    @ui.page("/")
    def all_loops(request: Request) -> None:
        loops.build(backend, request, ended_only=False)

    @ui.page("/history")
    def history(request: Request) -> None:
        loops.build(backend, request, ended_only=True)

    @ui.page("/loops/{loop_id}")
    def one_loop(request: Request, loop_id: str) -> None:
        loop.build(backend, request, loop_id)

    @ui.page("/new")
    def new_loop(request: Request) -> None:
        new.build(backend, request)

    @ui.page("/settings")
    def all_settings(request: Request) -> None:
        preferences.build(backend, request)

    frame.serve_assets()
    # Added first, so that it sees the page before it is compressed.
    pages_app.add_middleware(PagePolicy)
    ui.run_with(app, title="untildone", favicon="✅", dark=None, tailwind=False, show_welcome_message=False)
