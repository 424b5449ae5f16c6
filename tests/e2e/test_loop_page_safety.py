"""The pages of one loop with hostile content, and for everybody: no text of an agent becomes markup, axe-core finds nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e import axe
from tests.e2e.dashboard import PICTURES, DashboardServer, browser, visit
from tests.support.command_line import CommandLine

__all__ = ["browser"]
PAYLOADS = (
    "<script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=1">',
    '<svg onload="window.hacked=1"></svg>',
    '"><iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
    "[a](javascript:window.hacked=1)",
    '![a](x" onerror="window.hacked=1)',
    "<base href='https://example.org/'>",
    "<meta http-equiv=refresh content='0;url=https://example.org/'>",
    "{{ 7 * 7 }}</textarea></pre></td></table><b class=bold>bold</b>",
    "\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07",
    "abc\u202edcba\u2066",
)
ALL = "\n\n".join(PAYLOADS)
NAME = "<img src=x onerror=window.hacked=1>.py"
PAGES = (
    "",
    "?round=1&open=asked",
    "?round=1&open=changed",
    "?round=1&open=did",
    "/changes",
    "/changes?view=split",
    "/about",
)
BROWSERS: list[dict[str, Any]] = [
    {"viewport": {"width": 1440, "height": 900}},
    {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    {"viewport": {"width": 390, "height": 844}, "has_touch": True},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardServer]:
    cli = CommandLine(tmp_path_factory.mktemp("loop-safety"))
    with DashboardServer(cli) as server:
        yield server


@pytest.fixture(scope="module")
def hostile(server: DashboardServer) -> str:
    """A loop that has payloads in its task, output, tool calls, file names, diff, gate, messages and subtasks."""
    turn: list[dict[str, Any]] = [
        {"think": ALL, "say": ALL},
        {"run": ["echo", ALL], "write": {NAME: ALL, "b\u202e.md": ALL}},
        {"claim": True},
    ]
    check = f"echo '{PAYLOADS[0]}'; printf '\\033[31m{PAYLOADS[2].replace(chr(39), '')}\\033[0m'; false"
    loop_id = server.create(
        f"Print \u202e{ALL}", args=[server.script(turn, turn)], checks=[check], max_iterations=2, max_cost=5
    )
    for text in PAYLOADS:
        server.client.post(f"/api/v1/loops/{loop_id}/tasks", json={"text": text})
    server.until_status(loop_id, "paused")
    server.client.post(f"/api/v1/loops/{loop_id}/messages", json={"text": ALL})
    return loop_id


def test_no_text_of_an_agent_becomes_markup(browser: Browser, server: DashboardServer, hostile: str) -> None:
    with visit(browser, server, viewport={"width": 1440, "height": 900}) as page:
        for place in PAGES:
            page.goto(f"/loops/{hostile}{place}")
            page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
            page.wait_for_timeout(300)
            assert page.evaluate("window.hacked") is None, place
            assert page.locator("main img, main iframe, main base, main b.bold, main meta, main script").count() == 0, (
                place
            )
            assert page.locator('main a[href^="javascript" i]').count() == 0, place
        page.goto(f"/compare?a={hostile}&b={hostile}")
        assert page.locator("main img, main iframe, main script").count() == 0


def test_hidden_characters_are_marked(browser: Browser, server: DashboardServer, hostile: str) -> None:
    with visit(browser, server) as page:
        page.goto(f"/loops/{hostile}/changes")
        expect(page.locator(".file td.code .hidden-char").first).to_have_text("U+202E")
        page.goto(f"/loops/{hostile}")
        expect(page.locator("h1 .hidden-char").first).to_have_text("U+202E")


@pytest.mark.parametrize("options", BROWSERS, ids=["light", "dark", "phone"])
def test_axe_finds_nothing(browser: Browser, server: DashboardServer, hostile: str, options: dict[str, Any]) -> None:
    with visit(browser, server, **options) as page:
        for place in PAGES:
            page.goto(f"/loops/{hostile}{place}")
            page.wait_for_timeout(200)
            assert axe.violations(page) == [], place
        page.goto(f"/compare?a={hostile}&b={hostile}")
        assert axe.violations(page) == []


def test_targets_on_a_phone_are_large_enough(browser: Browser, server: DashboardServer, hostile: str) -> None:
    with visit(browser, server, viewport={"width": 390, "height": 844}, has_touch=True) as page:
        page.goto(f"/loops/{hostile}")
        PICTURES.mkdir(exist_ok=True)
        page.screenshot(path=PICTURES / "loop-hostile-390.png", full_page=True)
        assert small_targets(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def small_targets(page: Page) -> list[str]:
    """The buttons, links and summaries outside of running text that are less than 44 px high."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("main button, main a.button, main summary, main input, main .tabs a")]
        .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < 43.5)
        .map((each) => each.outerHTML.slice(0, 120) + " " + each.getBoundingClientRect().height)"""
    )
    return found
