"""The dashboard with much to show: a thousand loops, an output of a hundred megabytes. Only what is visible is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.dashboard import PATIENCE, DashboardServer, chromium, visit
from tests.support.command_line import CommandLine

from untildone.core.events import LoopCreated
from untildone.core.model import AgentChoice, Budget, LoopSettings

expect.set_options(timeout=PATIENCE)
LOOPS = 1000
MEGABYTES = 100


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def server(cli: CommandLine) -> DashboardServer:
    return DashboardServer(cli)


def add_loops(cli: CommandLine, number: int) -> None:
    """Many loops at once."""
    store, workspace = cli.store(), cli.workspace
    settings = LoopSettings("ralph", AgentChoice("scripted", "scripted"), str(workspace))
    store.create(LoopCreated("loop-0000", "Job number x0", "A job", settings, Budget(iterations=5)))
    for each in range(1, number):
        store.create(LoopCreated(f"loop-{each:04d}", f"Job number x{each}", "A job", settings, Budget(iterations=5)))


def rows(page: Page) -> list[str]:
    page.wait_for_load_state()
    return page.locator("tr[data-row] .card-title").all_inner_texts()


@pytest.mark.slow
def test_of_a_thousand_loops_one_page_is_sent(server: DashboardServer, browser: Browser) -> None:
    add_loops(server.cli, LOOPS)
    with server, visit(browser, server) as page:
        page.goto("/loops")
        expect(page.get_by_text("1,000 loops")).to_be_visible()
        first = rows(page)
        assert first[0] == f"Job number x{LOOPS - 1}"
        page.goto(f"/loops?page={LOOPS // len(first)}")
        assert rows(page)[-1] == "Job number x0"
        found = [f"Job number x{each}" for each in range(LOOPS) if str(each).startswith("77")]
        page.get_by_label("Search", exact=True).fill("number x77")
        page.keyboard.press("Enter")
        expect(page.locator("tr[data-row]")).to_have_count(len(found))
        assert rows(page) == found[::-1]
        page.goto("/loops?q=nothing+like+that")
        expect(page.get_by_text("No loop fits")).to_be_visible()
        page.goto("/loops?status=running")
        expect(page.get_by_text("No loop fits")).to_be_visible()


@pytest.mark.slow
def test_of_a_huge_output_only_a_window_is_read(server: DashboardServer, browser: Browser) -> None:
    with server, visit(browser, server) as page:
        loop_id = server.create(args=["--scenario=never"], max_iterations=1)
        server.until_status(loop_id, "paused")
        (output,) = server.cli.workspace.glob(".loop/*.progress/output/0001.jsonl")
        write_much(output, MEGABYTES)
        before = resident(server)
        page.goto(f"/loops/{loop_id}")
        expect(page.locator(".said").last).to_contain_text("The last line.")
        assert page.locator(".said").count() <= 300
        first_of_window = page.locator(".said").first.inner_text()
        page.get_by_role("button", name="Earlier output").click()
        expect(page.locator(".said").first).not_to_have_text(first_of_window)
        assert resident(server) - before < MEGABYTES * 2**20 / 2


def write_much(path: Path, megabytes: int) -> None:
    tool = json.dumps({"event": "tool", "tool": "bash", "summary": "ls"}) + "\n"
    size = number = 0
    with path.open("w") as file:
        while size < megabytes * 2**20:
            number += 1
            size += file.write(json.dumps({"event": "say", "text": f"Part {number}. " * 100}) + "\n" + tool)
        file.write(json.dumps({"event": "say", "text": "The last line."}) + "\n")


def resident(server: DashboardServer) -> int:
    import psutil

    assert server.process is not None
    return int(psutil.Process(server.process.pid).memory_info().rss)
