"""The page behind a reply link in a real browser: without a session, without a script, and for one loop only."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.axe import violations
from tests.e2e.dashboard import PATIENCE, PICTURES, DashboardServer, browser
from tests.support.command_line import CommandLine

from untildone.engine.notices import replies

expect.set_options(timeout=PATIENCE)
__all__ = ["browser"]
NEEDS = "Which database may I use? <img src=x onerror=alert(1)> \u202egnp.exe"
AGENT = f"""#!/bin/sh
if grep -q staging; then echo work > work.txt; echo '<promise>COMPLETE</promise>'
else echo '<blocked>{NEEDS}</blocked>'; fi
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DashboardServer]:
    cli = CommandLine(tmp_path)
    program = cli.home / "agent.sh"
    program.write_text(AGENT)
    program.chmod(0o755)
    with DashboardServer(cli) as server:
        yield server


def asking(server: DashboardServer) -> str:
    """A loop whose agent waits for an answer."""
    program = server.cli.home / "agent.sh"
    loop_id = server.create("Connect it", agent="command", command=str(program))
    server.until_status(loop_id, "paused")
    return loop_id


def link(server: DashboardServer, loop_id: str, seconds: float = 3600) -> str:
    token = replies.token(loop_id, time.time() + seconds, server.cli.environment)
    return f"{server.url}/reply/{loop_id}?token={token}"


@contextmanager
def stranger(browser: Browser, **options: Any) -> Iterator[Page]:
    """A browser that is not logged in."""
    context = browser.new_context(**{"viewport": {"width": 390, "height": 844}, **options})
    context.set_default_timeout(PATIENCE)
    try:
        yield context.new_page()
    finally:
        context.close()


def test_an_answer_without_session_and_script_lets_the_loop_go_on(browser: Browser, server: DashboardServer) -> None:
    loop_id = asking(server)
    with stranger(browser, java_script_enabled=False) as page:
        answer = page.goto(link(server, loop_id))
        assert answer is not None
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        expect(page.locator("pre")).to_contain_text("Which database may I use? <img src=x onerror=alert(1)>")
        expect(page.locator("pre .hidden-char")).to_have_text("U+202E")
        page.screenshot(path=PICTURES / "reply-390.png")
        page.get_by_label("Your answer").fill("Use staging.")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("The answer was sent, and the loop goes on.")).to_be_visible()
        server.until_status(loop_id, "completed")
        page.goto(link(server, loop_id))
        expect(page.get_by_text("has ended")).to_be_visible()
    assert replies.token(loop_id, time.time() + 3600, server.cli.environment)[-20:] not in server.log.read_text()


def test_what_was_typed_outlives_a_reload_and_goes_when_it_is_sent(browser: Browser, server: DashboardServer) -> None:
    loop_id = asking(server)
    with stranger(browser, color_scheme="dark") as page:
        page.goto(link(server, loop_id))
        assert violations(page) == []
        page.get_by_label("Your answer").fill("I do not know yet")
        page.reload()
        expect(page.get_by_label("Your answer")).to_have_value("I do not know yet")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("The answer was sent")).to_be_visible()
        server.until_status(loop_id, "paused")
        page.goto(link(server, loop_id))
        expect(page.get_by_label("Your answer")).to_have_value("")


def test_a_token_opens_one_loop_for_its_time_and_nothing_else(browser: Browser, server: DashboardServer) -> None:
    loop_id = asking(server)
    other = server.create("Another", start=False)
    token = link(server, loop_id).partition("?")[2]
    with stranger(browser) as page:
        for address, sentence in (
            (f"{server.url}/reply/{other}?{token}", "This reply token is for another loop."),
            (f"{server.url}/reply/{loop_id}", "This reply token is not valid."),
            (link(server, loop_id, -1), "This reply token has expired."),
        ):
            answer = page.goto(address)
            assert answer is not None
            assert answer.status == 403
            expect(page.get_by_role("alert")).to_contain_text(sentence)
            expect(page.get_by_role("textbox")).to_have_count(0)
    with httpx.Client(trust_env=False, timeout=30, follow_redirects=False) as client:
        data = {"text": "My long answer", "token": token.removeprefix("token=")}
        refused = client.post(f"{server.url}/reply/{other}", data=data)
        assert (refused.status_code, "My long answer" in refused.text) == (403, True)
        empty = client.post(f"{server.url}/reply/{loop_id}", data={**data, "text": " "})
        assert empty.status_code == 422
        assert client.get(f"{server.url}/?{token}").status_code in (302, 303, 307, 401)
