"""The pages. Each module in this folder has `add(app, site)`, which adds its routes; a new page is a new module."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from fastapi import FastAPI

from untildone.faces.web.site import Site


class PageModule(Protocol):
    """A module of this folder."""

    def add(self, app: FastAPI, site: Site) -> None:
        """Add the routes of the page."""


def all_pages() -> Iterator[PageModule]:
    """The modules of this folder."""
    for module in iter_modules(__path__):
        yield cast(PageModule, import_module(f"{__name__}.{module.name}"))
