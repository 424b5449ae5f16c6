"""The page of tokens in a real browser: a token is made, shown once, works, and is revoked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.axe import violations
from tests.e2e.dashboard import PATIENCE, PICTURES, DashboardServer, browser, logged_in, visit
from tests.support.command_line import CommandLine

expect.set_options(timeout=PATIENCE)
__all__ = ["browser"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DashboardServer]:
    with DashboardServer(CommandLine(tmp_path)) as server:
        yield server


@pytest.mark.parametrize("width", [1440, 390])
def test_a_token_is_made_shown_once_and_revoked(browser: Browser, server: DashboardServer, width: int) -> None:
    with visit(browser, server, viewport={"width": width, "height": 900}) as page:
        page.goto("/settings")
        page.get_by_role("link", name="Access tokens").click()
        expect(page.get_by_text("There are no named tokens yet.")).to_be_visible()
        page.wait_for_load_state()
        page.get_by_role("button", name="Make a token").click()
        expect(page.locator("#e-token-name")).to_have_text("Give the token a name.")
        page.get_by_label("Name").fill("ci")
        page.get_by_label("Scope").select_option("control")
        page.get_by_role("button", name="Make a token").click()
        secret = page.locator("[data-value]")
        expect(secret).to_contain_text("untildone_")
        expect(page.locator("#tokens td").first).to_have_text("ci")
        token = str(secret.text_content())
        assert violations(page) == []
        page.screenshot(path=PICTURES / f"tokens-{width}.png", full_page=True)
        assert _listed(server, token) == 200
        page.reload()
        assert token not in page.content()
        page.get_by_role("button", name="Revoke ci").click()
        page.get_by_role("dialog").get_by_role("button", name="Yes").click()
        expect(page.get_by_text("There are no named tokens yet.")).to_be_visible()
    assert _listed(server, token) == 401


def test_a_name_that_is_taken_is_told_at_the_field(browser: Browser, server: DashboardServer) -> None:
    server.client.post("/api/v1/tokens", json={"name": "ci", "scope": "read"})
    with _seen_with_refusals(browser, server) as page:
        page.goto("/tokens")
        for name, sentence in (("ci", "There is already a token 'ci'."), ("<b>no</b>", "name")):
            page.get_by_label("Name").fill(name)
            page.get_by_role("button", name="Make a token").click()
            expect(page.locator("#e-token-name")).to_contain_text(sentence)
            expect(page.get_by_label("Name")).to_be_focused()


def test_a_link_for_another_device_logs_it_in(browser: Browser, server: DashboardServer) -> None:
    with visit(browser, server) as page:
        page.goto("/tokens")
        page.get_by_role("button", name="Make a login link").click()
        expect(page.locator("[data-value]")).to_contain_text("/login?code=")
        link = str(page.locator("[data-value]").text_content())
    context = browser.new_context()
    try:
        phone = context.new_page()
        phone.goto(link)
        expect(phone.get_by_role("link", name="New loop").first).to_be_visible()
    finally:
        context.close()


def test_a_token_that_may_only_read_sees_no_tokens(server: DashboardServer) -> None:
    made = server.client.post("/api/v1/tokens", json={"name": "wall", "scope": "read"}).json()["token"]
    with server.new_client(headers={"Authorization": f"Bearer {made}", "Accept": "text/html"}) as client:
        for path in ("/tokens", "/fragments/tokens"):
            assert "wall</td>" not in client.get(path).text
        shown = client.get("/tokens")
        assert (shown.status_code, "need the scope admin" in shown.text) == (200, True)


def _listed(server: DashboardServer, token: str) -> int:
    with server.new_client(headers={"Authorization": f"Bearer {token}"}) as client:
        return client.get("/api/v1/loops").status_code


@contextmanager
def _seen_with_refusals(browser: Browser, server: DashboardServer) -> Iterator[Page]:
    """A page whose console reports refused requests, which `visit` does not allow."""
    context = logged_in(browser, server)
    try:
        yield context.new_page()
    finally:
        context.close()
