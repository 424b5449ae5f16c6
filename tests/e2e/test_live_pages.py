"""Pages that stay open while others act: other people, an ended session, a killed server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.e2e.dashboard import PATIENCE, DashboardServer, browser, logged_in, status, visit, waits_for
from tests.support.command_line import CommandLine, until

expect.set_options(timeout=PATIENCE)
__all__ = ["browser"]
ASKS = {"say": "<blocked>Which port?</blocked>"}


@pytest.fixture
def server(cli: CommandLine) -> Iterator[DashboardServer]:
    with DashboardServer(cli) as server:
        yield server


def blocked(server: DashboardServer, title: str) -> str:
    loop_id = server.create(title, args=[server.script(ASKS, {"run": waits_for(server.flag("go"))})], checks=["true"])
    server.until_status(loop_id, "paused")
    return loop_id


def test_an_answer_that_is_being_typed_stays_when_somebody_else_answers(
    browser: Browser, server: DashboardServer
) -> None:
    loop_id = blocked(server, "For two")
    with visit(browser, server) as page:
        page.goto("/")
        field = page.locator(f"#need-{loop_id}").get_by_role("textbox")
        field.press_sequentially("Take port 80")
        server.client.post(f"/api/v1/loops/{loop_id}/messages", json={"text": "Port 9000."}).raise_for_status()
        expect(page.locator(f"#working-{loop_id}")).to_be_visible()
        page.keyboard.type("80, and npm's too? n")
        assert page.url == f"{server.url}/"
        expect(field).to_have_value("Take port 8080, and npm's too? n")
        page.keyboard.press("Control+Enter")
        until(lambda: "npm's too" in server.client.get(f"/api/v1/loops/{loop_id}/events?follow=false").text)
        page.get_by_role("heading", level=1).click()
        expect(page.locator(f"#need-{loop_id}")).to_have_count(0)


def test_a_question_that_comes_while_the_inbox_is_open_keeps_its_draft(
    browser: Browser, server: DashboardServer
) -> None:
    with visit(browser, server) as page:
        page.goto("/")
        expect(page.get_by_text("No loops yet")).to_be_visible()
        loop_id = blocked(server, "The first")
        field = page.locator(f"#need-{loop_id}").get_by_role("textbox")
        field.fill("Port 8080, I think")
        expect(page.get_by_text("No loops yet")).to_have_count(0)
        page.reload()
        expect(field).to_have_value("Port 8080, I think")


def test_the_page_of_a_loop_follows_what_others_do(browser: Browser, server: DashboardServer) -> None:
    loop_id = server.create("For two", args=[server.script({"run": waits_for(server.flag("go"))})], max_iterations=2)
    loop = f"/api/v1/loops/{loop_id}"
    with visit(browser, server) as page:
        page.goto(f"/loops/{loop_id}")
        status(page, "running")
        page.get_by_label("Message to the agent").fill("Half a sen")
        go_on = page.get_by_role("button", name="Send and go on")
        expect(go_on).to_have_count(0)
        server.client.post(f"{loop}/pause", json={"now": True}).raise_for_status()
        expect(go_on).to_be_visible()
        server.client.patch(loop, json={"title": "Renamed <b>by another</b>"}).raise_for_status()
        expect(page.get_by_role("heading", level=1)).to_have_text("Renamed <b>by another</b>")
        expect(page.get_by_label("Message to the agent")).to_have_value("Half a sen")
        page.get_by_role("heading", level=1).click()
        server.client.post(f"{loop}/stop", json={"now": True}).raise_for_status()
        expect(page.get_by_label("Message to the agent")).to_be_hidden()


def test_of_two_people_who_give_more_rounds_at_once_one_does(server: DashboardServer) -> None:
    loop_id = server.create("For two", args=["--scenario=never"], max_iterations=1)
    server.until_status(loop_id, "paused")
    loop = f"/api/v1/loops/{loop_id}"
    tag = server.client.get(loop).headers["ETag"]
    assert f'data-match="&#34;{tag.strip(chr(34))}&#34;"' in server.client.get("/").text
    more: dict[str, Any] = {"json": {"budget": {"iterations": "+5"}, "now": True}, "headers": {"If-Match": tag}}
    assert [server.client.post(f"{loop}/resume", **more).status_code for _ in range(2)] == [200, 412]
    assert server.show(loop_id)["budget"]["iterations"] == 6


def test_a_page_whose_session_ends_leads_to_the_login(browser: Browser, server: DashboardServer) -> None:
    loop_id = server.create("Seen by one", start=False)
    with closing(logged_in(browser, server)) as context:
        page = context.new_page()
        page.goto(f"/loops/{loop_id}?round=1")
        ours = {**server.cookie, "Sec-Fetch-Site": "same-origin"}
        httpx.delete(f"{server.url}/api/v1/sessions/current", headers=ours, trust_env=False).raise_for_status()
        server.client.patch(f"/api/v1/loops/{loop_id}", json={"title": "Changed"}).raise_for_status()
        expect(page).to_have_url(re.compile(rf"/login\?next=%2Floops%2F{loop_id}%3Fround%3D1$"))
        expect(page.get_by_label("Token")).to_have_count(1)


def test_a_lost_connection_is_told_until_it_is_back(browser: Browser, server: DashboardServer) -> None:
    loop_id = server.create("Before", start=False)
    with closing(logged_in(browser, server)) as context:
        one, two = context.new_page(), context.new_page()
        for page in (one, two):
            page.goto(f"/loops/{loop_id}")
            expect(told(page)).to_be_hidden()
        server.kill()
        for page in (one, two):
            expect(told(page)).to_be_visible()
        server.start()
        for page in (one, two):
            expect(told(page)).to_be_hidden()
        server.client.patch(f"/api/v1/loops/{loop_id}", json={"title": "After"}).raise_for_status()
        expect(one.get_by_role("heading", level=1)).to_have_text("After")


def told(page: Page) -> Locator:
    return page.get_by_text("The connection is lost")
