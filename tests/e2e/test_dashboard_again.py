"""The dashboard's buttons for loops that have ended or rest: retry, duplicate, take back, bisect, and the answer to a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect
from tests.e2e.dashboard import PATIENCE, DashboardServer, browser, page, server, status
from tests.support.command_line import until

expect.set_options(timeout=PATIENCE)
__all__ = ["browser", "page", "server"]
NEEDS = "Which database may I use?"
AGENT = """#!/bin/sh
if grep -q staging; then echo '<promise>COMPLETE</promise>'; exit; fi
n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n; echo $n >> log.txt
[ $n = 3 ] && echo spoiled > spoiled.txt
[ $n = 4 ] && echo '<blocked>Which database may I use?</blocked>'
echo "round $n"
"""


def agent(server: DashboardServer) -> str:
    path: Path = server.cli.home / "agent.sh"
    path.write_text(AGENT)
    path.chmod(0o755)
    return str(path)


def test_a_loop_is_taken_back_retried_and_duplicated(page: Page, server: DashboardServer) -> None:
    chosen: dict[str, Any] = {
        "agent": "command",
        "command": agent(server),
        "checks": ["test ! -e spoiled.txt"],
        "max_iterations": 3,
    }
    loop_id = server.create("Count", **chosen)
    server.until_status(loop_id, "paused")
    page.goto(f"/loops/{loop_id}")
    page.get_by_role("button", name="Which round broke the checks?").click()
    expect(page.get_by_text("Round 3 broke the checks.")).to_be_visible()
    page.locator(".round", has_text="Round 2").click()
    expect(page.locator(".round.chosen")).to_contain_text("Round 2")
    page.get_by_role("button", name="Take back to here").click()
    page.get_by_role("button", name="Take back", exact=True).click()
    expect(page.get_by_text("Taken back to where it was after round 2.")).to_be_visible()
    log = server.cli.workspace / "log.txt"
    until(lambda: log.read_text() == "1\n2\n")
    page.get_by_role("button", name="Undo the taking back").click()
    until(lambda: log.read_text() == "1\n2\n3\n")
    expect(page.get_by_role("button", name="Undo the taking back")).to_be_hidden()
    assert server.client.post(f"/api/v1/loops/{loop_id}/rewind", json={"to": 2}).status_code == 200
    until(lambda: log.read_text() == "1\n2\n")
    assert server.client.post(f"/api/v1/loops/{loop_id}/stop").status_code == 200
    status(page, "stopped")
    assert server.client.get(f"/api/v1/loops/{loop_id}/receipt").status_code == 200
    page.get_by_role("button", name="Retry", exact=True).click()
    server.until(loop_id, lambda shown: shown["outcome"] == "budget")
    assert server.client.post(f"/api/v1/loops/{loop_id}/stop").status_code == 200
    status(page, "stopped")
    page.get_by_role("button", name="Duplicate").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    expect(page.locator(".loop-title")).to_have_text("Count")
    assert loop_id not in page.url


def test_a_question_is_shown_in_list_and_page_and_answered_there(page: Page, server: DashboardServer) -> None:
    (server.cli.workspace / "n").write_text("3\n")
    loop_id = server.create("Connect", agent="command", command=blocked_agent(server), max_iterations=5)
    server.until_status(loop_id, "paused")
    page.goto("/")
    expect(page.locator(f'a[href="/loops/{loop_id}"]')).to_contain_text(NEEDS)
    page.goto(f"/loops/{loop_id}")
    expect(page.locator(".loop-head")).to_contain_text(NEEDS)
    page.get_by_label("Message").fill("Use staging.")
    page.get_by_role("button", name="Send").click()
    status(page, "claimed")


def blocked_agent(server: DashboardServer) -> str:
    path: Path = server.cli.home / "blocked.sh"
    path.write_text(AGENT.replace('echo "round $n"', "").replace("[ $n = 4 ] && ", ""))
    path.chmod(0o755)
    return str(path)
