"""The dashboard as a person uses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from tests.e2e.dashboard import DashboardServer, chromium, visit
from tests.support.command_line import CommandLine


class PagesServer(DashboardServer):
    """A server with its dashboard."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagesServer]:
    """One for all tests of a file that look at their own loops only."""
    with PagesServer(CommandLine(tmp_path_factory.mktemp("pages"))) as server:
        yield server  # type: ignore[misc]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, server: PagesServer) -> Iterator[Page]:
    with visit(browser, server) as page:
        yield page
