"""The dashboard as a person uses it: a real server, and a real Chromium that looks at it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tests.support.command_line import CommandLine, until
from tests.support.serving import Server, welcomed

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PICTURES = Path(__file__).parent.parent.parent / "artefacts"
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
    "user_agent": "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36",
}
"""A phone, as a context of the browser."""
PATIENCE = 60_000
"""Milliseconds that a page may take for anything."""


class DashboardServer(Server):
    """A server with its dashboard, over a workspace that is a git repository."""

    def __init__(self, cli: CommandLine, *arguments: str) -> None:
        super().__init__(cli, *arguments)
        who = ("-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false")
        for words in (("init", "-q"), (*who, "commit", "-q", "--allow-empty", "-m", "Nothing yet")):
            subprocess.run(["git", *words], cwd=cli.workspace, check=True, capture_output=True)

    def __enter__(self) -> DashboardServer:
        self.start()
        return self

    def start(self) -> None:
        with self.log.open("a") as log:
            self.process = self.cli.start("serve", "--json", "--port", str(self.port), *self._arguments, stderr=log)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.announced = json.loads(line)
        self.port = httpx.URL(self.url).port or 0
        until(self.is_well)

    def script(self, *turns: dict[str, Any] | list[dict[str, Any]]) -> str:
        """The argument that makes the scripted agent play these turns."""
        return f"--script={self.cli.script(*turns)[-1]}"

    def flag(self, name: str) -> Path:
        """A file for `waits_for` that agents and checks see in their box, and that does not change the workspace."""
        return self.cli.workspace.parent / name

    @property
    def session(self) -> dict[str, Any]:
        """What a browser gets for the link that `serve` printed: the cookie, and the key in its storage."""
        if not hasattr(self, "_session"):
            with httpx.Client(trust_env=False) as visitor:
                key = welcomed(visitor.get(str(self.announced["login"])))["key"]
                ((name, value),) = visitor.cookies.items()
            kept = {"name": "untildone:key", "value": key}
            self._session = {
                "cookies": [{"name": name, "value": value, "domain": "127.0.0.1", "path": "/"}],
                "origins": [{"origin": self.url, "localStorage": [kept]}],
            }
        return self._session

    @property
    def cookie(self) -> dict[str, str]:
        """The header with the cookie."""
        (cookie,) = self.session["cookies"]
        return {"Cookie": f"{cookie['name']}={cookie['value']}"}


def waits_for(flag: Path) -> list[str]:
    """A program that ends once a file is there."""
    return ["sh", "-c", f"while ! test -e '{flag}'; do sleep 0.05; done"]


@contextmanager
def chromium() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("there is no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def logged_in(browser: Browser, server: DashboardServer, **options: Any) -> BrowserContext:
    """A browser that is logged in."""
    size = {"width": 1280, "height": 900}
    context = browser.new_context(
        **{"viewport": size, "base_url": server.url, "storage_state": server.session, **options}
    )
    context.set_default_timeout(PATIENCE)
    return context


@contextmanager
def visit(browser: Browser, server: DashboardServer, **options: Any) -> Iterator[Page]:
    """A page of a browser that is logged in. Nothing may go wrong in it, and it may ask nobody else for anything."""
    context = logged_in(browser, server, **options)
    page = context.new_page()
    mishaps: list[str] = []
    page.on("pageerror", lambda problem: mishaps.append(str(problem)))
    page.on("console", lambda message: mishaps.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: mishaps.append(request.url) if not _is_ours(request.url, server) else None)
    try:
        yield page
        assert mishaps == [], mishaps
    finally:
        context.close()


def _is_ours(url: str, server: DashboardServer) -> bool:
    return url.startswith((server.url, server.url.replace("http", "ws", 1), "data:", "blob:"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardServer]:
    """One for all tests of a file that look at their own loops only."""
    with DashboardServer(CommandLine(tmp_path_factory.mktemp("dashboard"))) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, server: DashboardServer) -> Iterator[Page]:
    with visit(browser, server) as page:
        yield page


def status(page: Page, word: str) -> None:
    """Wait until the page of a loop shows this status."""
    expect(page.locator(".loop-head .chip")).to_have_text(word, ignore_case=True)
