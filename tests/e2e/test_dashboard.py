"""What holds for every page of the dashboard: its policy, its doors, languages, colours, sizes; and one job from form to receipt."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.dashboard import PICTURES, DashboardServer, browser, logged_in, page, server, visit
from tests.support.command_line import until

__all__ = ["browser", "page", "server"]
MARKUP = "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"
PAGES = ("/", "/loops", "/money", "/new", "/settings", "/tokens")


def test_a_loop_from_the_form_to_the_receipt(page: Page, server: DashboardServer) -> None:
    work: tuple[list[dict[str, Any]], ...] = (
        [{"say": "I begin."}, {"claim": True}],
        [{"write": {"app.py": "print(1)\n"}}, {"claim": True}],
    )
    (server.cli.workspace / "untildone.toml").write_text(
        f'agent = "scripted"\nargs = ["{server.script(*work)}"]\nchecks = ["ls app.py"]\n'
    )
    page.goto("/new")
    page.get_by_role("textbox", name="Task").fill("Write the application")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile("/loops/loop-"))
    expect(page.locator(".loop-head .chip").first).to_have_text("verified", ignore_case=True)
    page.goto("/")
    done = page.locator("#done")
    expect(done).to_contain_text("Write the application")
    expect(done).to_contain_text("ls app.py")
    (server.cli.workspace / "untildone.toml").unlink()


def test_what_agents_print_is_text_and_never_markup(page: Page, server: DashboardServer) -> None:
    turn: list[dict[str, Any]] = [
        {"think": MARKUP, "say": MARKUP},
        {"run": ["echo", MARKUP], "write": {"page.html": MARKUP}},
        {"claim": True},
    ]
    loop_id = server.create(
        f"Print {MARKUP}", args=[server.script(turn)], checks=[f"echo '{MARKUP}'; false"], max_iterations=1
    )
    server.until_status(loop_id, "paused")
    for path in (f"/loops/{loop_id}", f"/loops/{loop_id}/changes", f"/loops/{loop_id}/about", "/", "/loops"):
        page.goto(path)
        expect(page.locator("main").get_by_text("<script>document.title").first).to_be_visible()
        assert page.title() != "hacked"
        assert page.locator("main img").count() == 0


def test_what_gets_into_a_page_later_does_not_run(browser: Browser, server: DashboardServer) -> None:
    context = logged_in(browser, server)
    page = context.new_page()
    violations: list[str] = []
    page.on("console", lambda message: violations.append(message.text))
    page.goto("/new")
    page.evaluate("text => { document.body.insertAdjacentHTML('beforeend', text) }", MARKUP)
    page.evaluate(
        "text => { document.body.append(Object.assign(document.createElement('script'), {text})) }", "alert()"
    )
    until(lambda: violated(page, violations) >= 2)
    assert "hacked" not in page.title()
    context.close()


def violated(page: Page, messages: list[str]) -> int:
    """How many violations the page reported; the browser hands out messages only while it is waited for."""
    page.wait_for_timeout(50)
    return sum("Content Security Policy" in message for message in messages)


@pytest.mark.parametrize("path", [*PAGES, "/assets/base.js", "/login", "/nothing", "/loops/none"])
def test_every_answer_says_what_it_may_be_used_for(server: DashboardServer, path: str) -> None:
    with httpx.Client(base_url=server.url, trust_env=False, headers={"Accept": "text/html"}) as visitor:
        for headers in (server.cookie, {}):
            told = visitor.get(path, headers=headers).headers
            assert "default-src 'none'" in told["Content-Security-Policy"]
            assert "frame-ancestors 'none'" in told["Content-Security-Policy"]
            assert "unsafe-" not in told["Content-Security-Policy"]
            assert told["X-Content-Type-Options"] == "nosniff"
            assert told["Referrer-Policy"] == "same-origin"


def test_nobody_comes_in_without_the_cookie(server: DashboardServer) -> None:
    with httpx.Client(base_url=server.url, trust_env=False, headers={"Accept": "text/html"}) as stranger:
        for path in (*PAGES, "/loops/none"):
            answer = stranger.get(path)
            assert answer.status_code in (302, 303, 307), path
            assert answer.headers["location"].startswith("/login"), path
        for path in ("/fragments/inbox", "/api/v1/loops"):
            assert stranger.get(path).status_code == 401, path
    with httpx.Client(base_url=server.url, trust_env=False) as visitor:
        assert visitor.get("/", headers={**server.cookie, "Host": "evil.example"}).status_code == 403
        assert visitor.get("/", headers=server.cookie).status_code == 200


def test_the_reader_is_spoken_to_in_their_language(browser: Browser, server: DashboardServer) -> None:
    for language, words in (("zh-TW", "新增迴圈"), ("zh-CN", "新建循环"), ("de-DE", "New loop")):
        with visit(browser, server, locale=language) as page:
            page.goto("/new")
            expect(page.get_by_role("heading", level=1)).to_have_text(words)


def test_light_or_dark_is_remembered(browser: Browser, server: DashboardServer) -> None:
    with visit(browser, server, color_scheme="dark") as page:
        page.goto("/")
        assert ground(page) == "rgb(18, 21, 27)"
        for _ in range(2):
            page.get_by_label("Light or dark").click()
        assert ground(page) == "rgb(245, 246, 249)"
        page.reload()
        assert ground(page) == "rgb(245, 246, 249)"


def ground(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


@pytest.mark.slow
def test_every_page_fits_a_desk_and_a_phone(browser: Browser, server: DashboardServer) -> None:
    work: list[list[dict[str, Any]]] = [
        [{"think": "A plan first.", "say": "I begin."}, {"run": ["ls"], "write": {"a.py": "print(1)\n"}},
         {"usage": {"tokens": 1200, "cost_usd": 0.02}, "say": "Half of it is there."}],
        [{"say": "Now it is done.", "usage": {"tokens": 700, "cost_usd": 0.01}}, {"claim": True}],
        [{"write": {"b.py": "print(2)\n" * 40}, "usage": {"tokens": 2500, "cost_usd": 0.04}}, {"claim": True}],
    ]  # fmt: skip
    loop_id = server.create("Make it fit every screen", args=[server.script(*work)], checks=["ls b.py"])
    server.until_status(loop_id, "completed")
    of_loop = {
        name: f"/loops/{loop_id}{tail}" for name, tail in (("loop", ""), ("changes", "/changes"), ("about", "/about"))
    }
    pages = {path.strip("/") or "inbox": path for path in PAGES} | of_loop
    PICTURES.mkdir(exist_ok=True)
    for name, width, colours in (("desk", 1440, "light"), ("desk-dark", 1440, "dark"), ("phone", 390, "light")):
        options = {"viewport": {"width": width, "height": 800}, "color_scheme": colours}
        with visit(browser, server, **options) as page:
            for title, path in pages.items():
                page.goto(path)
                page.get_by_role("heading", level=1).wait_for()
                assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{title} is too wide"
                page.screenshot(path=PICTURES / f"{title}-{name}.png", full_page=True)
