"""The page of one loop in a real browser: why a round failed, live output, changes, controls, messages, budget, tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.dashboard import PATIENCE, PICTURES, DashboardServer, browser, visit, waits_for
from tests.support.command_line import CommandLine

expect.set_options(timeout=PATIENCE)
__all__ = ["browser"]
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardServer]:
    cli = CommandLine(tmp_path_factory.mktemp("loop-page"))
    cli.environment["UNTILDONE_DASHBOARD"] = "new"
    with DashboardServer(cli) as server:
        yield server


@pytest.fixture(params=[WIDE, PHONE], ids=["1440", "390"])
def page(request: pytest.FixtureRequest, browser: Browser, server: DashboardServer) -> Iterator[Page]:
    with visit(browser, server, viewport=request.param) as page:
        yield page


def picture(page: Page, name: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    width = page.viewport_size["width"] if page.viewport_size else 0
    page.screenshot(path=PICTURES / f"loop-{name}-{width}.png", full_page=True)


def status(page: Page, word: str) -> None:
    expect(page.locator(".loop-head .chip").first).to_have_text(word, ignore_case=True)


FAILING: list[list[dict[str, Any]]] = [
    [{"say": "# Plan\n\nI look at **everything** first.", "think": "What is there?"}, {"run": ["echo", "hello"]}],
    [{"write": {"app.py": "def total(a, b):\n    return a + b\n"}, "say": "Half of it is there."}],
    [
        {"write": {"app.py": "def total(a, b):\n    return a - b\n", "优惠.md": "# 优惠\n"}},
        {"say": "Everything is finished.", "usage": {"cost_usd": 0.35, "tokens": 1200}},
        {"claim": True},
    ],
]


@pytest.fixture(scope="module")
def failed(server: DashboardServer) -> str:
    """A loop whose round 3 was refused by its check."""
    check = "printf '\\033[31mE   assert 1 == 3\\033[0m\\n'; exit 3"
    loop_id = server.create(
        "Add the totals", args=[server.script(*FAILING)], checks=[check], max_iterations=3, max_cost=2
    )
    server.until_status(loop_id, "paused")
    return loop_id


def test_why_did_round_3_fail_needs_no_click(page: Page, failed: str) -> None:
    page.goto(f"/loops/{failed}")
    status(page, "budget")
    third = page.locator("#round-3")
    expect(third.locator(".round-failed")).to_contain_text("exit code 3")
    expect(third.locator(".terminal .ansi-fg-red")).to_have_text("E   assert 1 == 3")
    expect(page.locator("#round-1 .section").first).to_be_hidden()
    picture(page, "failed")
    third.locator(".section > summary", has_text="Asked").click()
    expect(third.locator(".prompt")).to_contain_text("Add the totals")
    third.locator(".section > summary", has_text="Changed").click()
    expect(third.locator(".file", has_text="优惠.md")).to_be_visible()
    expect(third.locator("td.code", has_text="return a - b")).to_be_visible()
    third.locator(".section > summary", has_text="Did").click()
    expect(third.locator(".said")).to_contain_text("Everything is finished.")
    picture(page, "round-open")
