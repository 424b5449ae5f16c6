"""The dashboard of a cluster in a real browser: which machine runs what, and controls that reach a turn on another machine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.dashboard import PATIENCE as PAGE_PATIENCE
from tests.e2e.dashboard import PICTURES, DashboardServer, chromium, visit
from tests.support.cluster import PATIENCE, TestCluster, git
from tests.support.command_line import CommandLine, until

from untildone.core.model import Outcome

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
expect.set_options(timeout=PAGE_PATIENCE)


@pytest.fixture
def server(cluster: TestCluster, tmp_path: Path) -> Iterator[DashboardServer]:
    cli = CommandLine(tmp_path / "laptop")
    git(cli.workspace, "clone", "--quiet", str(cluster.remote), ".")
    told = {"temporal": cluster.parts.temporal, "queue": cluster.parts.queue}
    cli.environment |= {"UNTILDONE_STORE": cluster.parts.database, "UNTILDONE_CLUSTER": json.dumps(told)}
    with DashboardServer(cli, "--cluster") as server:
        yield server


@pytest.fixture
def page(server: DashboardServer) -> Iterator[Page]:
    with chromium() as browser, visit(browser, server) as page:
        yield page


def test_machines_are_shown_and_controls_reach_them(cluster: TestCluster, server: DashboardServer, page: Page) -> None:
    for name in ("one", "two"):
        cluster.machine(name, "--slots", "1")
    command = cluster.stepping_agent(9, 600)["command"]  # a round that outlasts the test
    tasks = ("Mend the roof", "Paint the door")
    loop_ids = [server.create(task, agent="command", command=command, max_iterations=3) for task in tasks]
    for loop_id in loop_ids:
        until(lambda: cluster.agents(loop_id), PATIENCE)  # noqa: B023 (asked at once)
    machines = {loop_id: cluster.until(loop_id, lambda loop: loop.runner).runner for loop_id in loop_ids}
    page.goto("/loops")
    for task, loop_id in zip(tasks, loop_ids, strict=True):
        runner = machines[loop_id]
        assert runner is not None
        expect(page.locator("tr[data-row]", has_text=task)).to_contain_text(runner.machine)
    page.screenshot(path=PICTURES / "cluster-list.png")

    page.get_by_role("link", name=tasks[0]).click()
    runner = machines[loop_ids[0]]
    assert runner is not None
    expect(page.locator(".loop-line")).to_contain_text(runner.machine)
    page.get_by_label("Message to the agent").fill("[r+5] Mind the gap.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("1 of 8 rounds")).to_be_visible()
    page.screenshot(path=PICTURES / "cluster-loop.png")

    asked_at = time.time()
    page.get_by_role("button", name="Pause now").click()
    expect(page.locator(".loop-line .chip").first).to_have_text("paused", ignore_case=True)
    print(f"pause acted after {cluster.loop(loop_ids[0]).updated_at - asked_at:.2f} s")
    until(lambda: not cluster.agents(loop_ids[0]), PATIENCE)
    page.get_by_role("button", name="Resume", exact=True).click()
    until(lambda: cluster.agents(loop_ids[0]), PATIENCE)

    asked_at = time.time()
    page.get_by_role("button", name="Stop…").click()
    page.get_by_role("button", name="Stop now").click()
    expect(page.locator(".loop-line .chip").first).to_have_text("stopped", ignore_case=True)
    shown_at = time.time()
    (stopped,) = cluster.until_rest(loop_ids[:1])
    print(f"stop acted after {stopped.updated_at - asked_at:.2f} s, and was shown after {shown_at - asked_at:.2f} s")
    assert (stopped.outcome, stopped.budget.iterations) == (Outcome.STOPPED, 8)
    until(lambda: not cluster.agents(loop_ids[0]), PATIENCE)
    assert cluster.agents(loop_ids[1]), "the other machine is at work"
