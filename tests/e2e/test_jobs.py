"""What a person comes for, from the first page on, with the clicks counted: at a desk, and by touch on a phone. And two people at once."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.dashboard import PATIENCE, PHONE, DashboardServer, browser, logged_in, status, visit, waits_for
from tests.support.command_line import CommandLine

from untildone.core.events import Rested, StartRequested
from untildone.core.kinds import Host
from untildone.core.model import Outcome

expect.set_options(timeout=PATIENCE)
__all__ = ["browser"]
COUNT_CLICKS = """addEventListener("click", (event) => event.isTrusted &&
    sessionStorage.setItem("clicks", `${1 + Number(sessionStorage.getItem("clicks") || 0)}`), true)"""
APART = """(places) => ((above, below) => above.bottom <= below.top)(
    ...places.map((each) => document.querySelector(each).getBoundingClientRect()))"""
DESK = {"viewport": {"width": 1440, "height": 900}}
WEEK = 7 * 86_400.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardServer]:
    with DashboardServer(CommandLine(tmp_path_factory.mktemp("jobs"))) as server:
        yield server


@pytest.fixture(scope="module")
def refused(server: DashboardServer) -> str:
    """A loop that is out of rounds; its check refused the only one."""
    turn: list[dict[str, Any]] = [
        {"write": {"app.py": "def total(a, b):\n    return a - b\n"}},
        {"say": "Finished."},
        {"claim": True},
    ]
    check = "echo 'assert 1 == 3'; exit 3"
    loop_id = server.create("Add the totals", args=[server.script(turn)], checks=[check], max_iterations=1, max_cost=2)
    server.until_status(loop_id, "paused")
    return loop_id


class Job:
    """A page of a person who begins at the first page."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def begin(self, *, nav: str = "") -> None:
        self.page.goto("/")
        self.page.evaluate("sessionStorage.removeItem('clicks')")
        if nav:
            self.page.get_by_role("navigation", name="Main").get_by_role("link", name=nav).click()

    def open(self, title: str) -> None:
        self.begin()
        self.page.get_by_role("link", name=title).click()
        expect(self.page.get_by_role("heading", level=1)).to_have_text(title)

    @property
    def clicks(self) -> int:
        return int(self.page.evaluate("sessionStorage.getItem('clicks') || '0'"))


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def job(request: pytest.FixtureRequest, browser: Browser, server: DashboardServer) -> Iterator[Job]:
    with visit(browser, server, **request.param) as page:
        page.add_init_script(COUNT_CLICKS)
        yield Job(page)


def resting(server: DashboardServer, title: str, outcome: Outcome, ago: float = 0.0) -> str:
    """A loop that came to rest some time ago."""
    loop_id = server.create(title, start=False)
    store = server.cli.store()
    store.clock = lambda: time.time() - ago
    with closing(store.open(loop_id)) as journal:
        journal.append(StartRequested(Host.TERMINAL), Rested(outcome))
    return loop_id


def test_jobs_with_a_loop_that_rests(job: Job, server: DashboardServer, refused: str) -> None:
    page = job.page
    job.open("Add the totals")
    expect(page.locator("#round-1 .terminal")).to_contain_text("assert 1 == 3")
    assert job.clicks == 1, "why did the round fail?"
    page.get_by_role("navigation", name="Parts of the loop").get_by_role("link", name="Changes").click()
    expect(page.locator("td.code", has_text="return a - b")).to_be_visible()
    assert job.clicks == 2, "the diff"
    job.open("Add the totals")
    before = server.show(refused)["budget"]["cost_usd"]
    page.get_by_role("button", name=re.compile(r"dollars? \+", re.IGNORECASE)).click()
    server.until(refused, lambda shown: shown["budget"]["cost_usd"] > before)
    assert job.clicks == 2, "the budget"
    other = resting(server, "Another job", Outcome.FAILED)
    job.open("Add the totals")
    page.locator("#more-acts > summary").click()
    page.get_by_role("link", name="Compare with another loop").click()
    page.get_by_label("Loop 2").select_option(other)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("row", name=re.compile("Rounds"))).to_be_visible()
    assert job.clicks == 4, "compare"
    job.begin()
    page.locator(f"#need-{other}").get_by_role("button", name="Retry").click()
    server.until(other, lambda shown: shown["status"] != "failed" or shown["spend"]["iterations"] > 0)
    assert job.clicks == 1, "retry"


def test_jobs_in_the_list_and_the_settings(job: Job, server: DashboardServer) -> None:
    page = job.page
    resting(server, "The job of last week", Outcome.STOPPED, ago=WEEK - 3600)
    resting(server, "The job of last month", Outcome.STOPPED, ago=5 * WEEK)
    job.begin(nav="Loops")
    page.locator("select[name=period]").select_option("7d")
    expect(page).to_have_url(re.compile("period=7d"))
    expect(page.get_by_role("link", name="The job of last week").first).to_be_visible()
    assert job.clicks == 1, "last week's loop"
    job.begin(nav="Settings")
    rounds = page.locator("[data-field=max_iterations] input[type=number]").first
    rounds.fill("9" if rounds.input_value() != "9" else "8")
    page.get_by_role("button", name="Save", exact=True).first.click()
    expect(page.locator("#toasts .toast")).to_contain_text("Saved")
    assert job.clicks == 2, "settings"
    assert page.evaluate(APART, ["#toasts", ".form-foot"]), "no message covers a button"


def test_jobs_with_a_loop_at_work(job: Job, server: DashboardServer) -> None:
    page, title = job.page, f"Write it at {job.page.viewport_size}"
    go = server.flag(f"go-{len(server.cli.loops)}")
    script = server.script([{"say": "I look around."}, {"run": waits_for(go)}, {"say": "More."}, {"claim": True}])
    loop_id = server.create(title, args=[script], max_iterations=4)
    job.open(title)
    expect(page.locator(".said").first).to_contain_text("I look around.")
    assert job.clicks == 1, "live output"
    page.get_by_label("Message to the agent").fill("[r+5] mind the docs")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".moment-message")).to_contain_text("mind the docs")
    assert (job.clicks, server.show(loop_id)["budget"]["iterations"]) == (2, 9), "a message with rounds"
    page.get_by_role("button", name="Pause now").click()
    status(page, "paused")
    assert job.clicks == 3, "pause now"
    go.touch()


def test_two_people_see_what_the_other_does_and_lose_nothing(browser: Browser, server: DashboardServer) -> None:
    go = server.flag("go-two")
    script = server.script([{"say": "First words."}, {"run": waits_for(go)}], [{"claim": True}])
    loop_id = server.create("For two", args=[script], max_iterations=4)
    one, two = logged_in(browser, server, **DESK), logged_in(browser, server, **PHONE)
    with closing(one), closing(two):
        ann, bob = one.new_page(), two.new_page()
        for page in (ann, bob):
            page.goto(f"/loops/{loop_id}")
            status(page, "running")
        bob.get_by_label("Message to the agent").fill("What I am typing")
        ann.get_by_role("button", name="Pause now").click()
        status(bob, "paused")
        expect(bob.get_by_label("Message to the agent")).to_have_value("What I am typing")
        bob.get_by_role("button", name="Send", exact=True).click()
        expect(ann.locator(".moment-message")).to_contain_text("What I am typing")
        go.touch()
        server.client.post(f"/api/v1/loops/{loop_id}/stop", json={"now": True}).raise_for_status()
        server.until_status(loop_id, "failed")
        for page in (ann, bob):
            status(page, "stopped")
        bob.locator("#more-acts > summary").click()
        bob.get_by_role("button", name="Delete").click()
        server.client.patch(f"/api/v1/loops/{loop_id}", json={"title": "Still wanted"}).raise_for_status()
        bob.locator("#delete-dialog").get_by_role("button", name="Delete").click()
        expect(bob.locator(".toast.bad")).to_contain_text("has changed")
        bob.locator(".toast.bad").get_by_role("button", name="Close").click()
        expect(bob.locator(".toast.bad")).to_have_count(0)
        assert server.show(loop_id)["title"] == "Still wanted"
