"""The inbox as a person uses it: what needs them, with the one act that solves it; what works; what is done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.e2e.dashboard import PATIENCE, PICTURES, DashboardServer, chromium, visit
from tests.support.command_line import CommandLine, until

from untildone.core.events import Event, LimitReached, Rested, StartRequested, TurnRetried
from untildone.core.kinds import Host
from untildone.core.model import Failure, FailureKind, Outcome, Role
from untildone.core.values.codec import moment

expect.set_options(timeout=PATIENCE)
SIZES = {"wide": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
HOSTILE = '<img src=x onerror="document.title=\'pwned\'">{{7*7}}<script>document.title="pwned"</script>\u202egpj'
DONE = {"say": "Done.", "write": {"a.txt": "one\ntwo\n"}, "claim": True, "usage": {"tokens": 1200, "cost_usd": 0.35}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardServer]:
    with DashboardServer(CommandLine(tmp_path_factory.mktemp("inbox"))) as server:
        yield server


@pytest.fixture(params=SIZES)
def page(request: pytest.FixtureRequest, browser: Browser, server: DashboardServer) -> Iterator[Page]:
    with visit(browser, server, viewport=SIZES[request.param]) as page:
        page.name = request.param  # type: ignore[attr-defined]
        yield page


def resting(server: DashboardServer, title: str, *events: Event) -> str:
    """A loop whose journal says how it came to rest."""
    loop_id = server.create(title, start=False)
    with closing(server.cli.store().open(loop_id)) as journal:
        journal.append(StartRequested(Host.TERMINAL), *events)
    return loop_id


def need(page: Page, loop_id: str) -> Locator:
    return page.locator(f"#need-{loop_id}")


def test_an_answer_is_one_act(page: Page, server: DashboardServer) -> None:
    script = server.script({"say": "<blocked>Which port shall it listen on?</blocked>"}, DONE)
    loop_id = server.create("Serve the files", args=[script], checks=["true"])
    server.until_status(loop_id, "paused")
    page.goto("/")
    card = need(page, loop_id)
    expect(card).to_contain_text("Which port shall it listen on?")
    expect(page).to_have_title(re.compile(r"^\(\d+\) Inbox"))
    card.get_by_role("textbox").fill("Port 8080.")
    card.get_by_role("button", name="Answer and go on").click()
    expect(card).to_have_count(0)
    done = page.locator(f"#done-{loop_id}")
    expect(done).to_contain_text("true")
    expect(done).to_contain_text("$0.35")
    assert server.show(loop_id)["outcome"] == "verified"


def test_a_question_of_a_mode_goes_on_with_the_answer(page: Page, server: DashboardServer) -> None:
    loop_id = resting(server, "Choose the database", Rested(Outcome.PAUSED, "Postgres or SQLite?"))
    page.goto("/")
    field = need(page, loop_id).get_by_role("textbox")
    field.fill("SQLite.")
    field.press("Control+Enter")
    expect(need(page, loop_id)).to_have_count(0)
    assert "SQLite." in server.show(loop_id)["asked"]
    server.client.post(f"/api/v1/loops/{loop_id}/stop", json={"now": True})


def test_more_rounds_and_go_on_is_one_act(page: Page, server: DashboardServer) -> None:
    loop_id = server.create("Never enough", args=["--scenario=never"], max_iterations=1)
    server.until_status(loop_id, "paused")
    page.goto("/")
    need(page, loop_id).get_by_role("button", name="+5 rounds and go on").click()
    until(lambda: server.show(loop_id)["budget"]["iterations"] == 6)
    server.until(loop_id, lambda shown: shown["spend"]["iterations"] > 1)
    server.client.post(f"/api/v1/loops/{loop_id}/stop", json={"now": True})


def test_a_login_a_limit_a_failure_and_a_claim_have_their_acts(page: Page, server: DashboardServer) -> None:
    failure = Failure(FailureKind.AUTH, "Please run /login")
    again = TurnRetried(Role.WORKER, 1, 1, failure, 0.0)
    login = resting(server, "Log in first", again, Rested(Outcome.BLOCKED, "Worker: Please run /login."))
    failed = resting(server, "It broke", Rested(Outcome.FAILED, "Worker: it crashed (4 attempts)."))
    claimed = server.create("Only claimed", args=[server.script(DONE)])
    server.until_status(claimed, "completed")
    limit = resting(server, "Wait for it", LimitReached("scripted", moment(4e9), "resets at 11pm", 1))
    page.goto("/")
    expect(need(page, login).get_by_role("button", name="Log in, then retry")).to_be_visible()
    expect(need(page, failed).get_by_role("button", name="Retry")).to_be_visible()
    expect(need(page, claimed).get_by_role("link", name="Add a check")).to_have_attribute(
        "href", f"/new?from={claimed}"
    )
    expect(need(page, limit).get_by_role("button", name="Resume now")).to_be_visible()
    expect(need(page, limit)).to_contain_text("resets at 11pm")
    page.screenshot(path=PICTURES / f"inbox-{page.name}.png", full_page=True)  # type: ignore[attr-defined]
    page.goto(f"/loops/{limit}")
    expect(page.locator(".notice time")).to_have_attribute("data-moment", "")
    expect(page.locator(".moment-limit time").first).to_have_attribute("data-moment", "")
    page.goto("/")
    for loop_id in (login, failed, claimed, limit):
        server.client.delete(f"/api/v1/loops/{loop_id}", params={"force": "true"})
    expect(need(page, login)).to_have_count(0)


def test_what_works_shows_what_it_does_now(page: Page, server: DashboardServer) -> None:
    loop_id = server.create("Think hard", args=["--scenario=hang"], max_iterations=5)
    server.until(loop_id, lambda shown: bool(shown["turn"]))
    page.goto("/")
    card = page.locator(f"#working-{loop_id}")
    expect(card).to_contain_text("scripted works on round 1")
    expect(card).to_contain_text("I shall think about it.")
    expect(card.locator("time[data-since]").first).to_have_text(re.compile(r"^\d+:\d\d$"))
    expect(card.get_by_role("progressbar")).to_have_attribute("value", "20")
    card.locator("[data-row-link]").focus()
    page.keyboard.press("p")
    until(lambda: server.show(loop_id)["pause"])
    server.client.post(f"/api/v1/loops/{loop_id}/stop", json={"now": True})
    expect(card).to_have_count(0)


def test_hostile_texts_stay_texts(page: Page, server: DashboardServer) -> None:
    loop_id = resting(server, HOSTILE, Rested(Outcome.BLOCKED, HOSTILE))
    for path in ("/", "/loops", f"/loops?q={HOSTILE}&sort={HOSTILE}&page={HOSTILE}&status={HOSTILE}"):
        page.goto(path)
        expect(page.locator("main h1")).to_be_visible()
        assert "pwned" not in page.title()
        assert page.locator("main img, main script").count() == 0
    page.goto("/")
    expect(need(page, loop_id)).to_contain_text("{{7*7}}")
    expect(need(page, loop_id)).to_contain_text("U+202E")
    server.client.delete(f"/api/v1/loops/{loop_id}", params={"force": "true"})


RECORDS = """window.told = [];
window.asked = 0;
class Recorder extends EventTarget {
  constructor(title, options) { super(); window.told.push([title, options.body]); }
  static get permission() { return localStorage.getItem("test:permission") || "default"; }
  static async requestPermission() { window.asked += 1; localStorage.setItem("test:permission", "granted"); return "granted"; }
}
Object.defineProperty(window, "Notification", { value: Recorder });
Object.defineProperty(Document.prototype, "visibilityState", { get: () => window.isHidden ? "hidden" : "visible" });"""
NEWS = """(need) => document.dispatchEvent(new CustomEvent("untildone:loop", { detail: {
  loop_id: "loop-1", title: "Fix <b>it</b>", needs: need && { kind: "asks", act: "answer", text: need } } }))"""


def test_notifications_are_asked_for_by_a_switch_and_told_once(browser: Browser, server: DashboardServer) -> None:
    server.create("Something", start=False)
    with visit(browser, server) as page:
        page.add_init_script(RECORDS)
        page.goto("/")
        switch = page.get_by_role("switch", name="Notify me in this browser")
        expect(switch).not_to_be_checked()
        assert page.evaluate("window.asked") == 0
        switch.check()
        expect(switch).to_be_checked()
        page.reload()
        expect(switch).to_be_checked()
        page.evaluate(NEWS, "Seen, because the page is visible?")
        page.evaluate("window.isHidden = true")
        for need in ("Which port?", "Which port?", None, "Which port?"):
            page.evaluate(NEWS, need)
        assert page.evaluate("window.told") == [["Fix <b>it</b>", "Which port?"]] * 2
        page.evaluate("window.isHidden = false")
        switch.uncheck()
        page.evaluate("window.isHidden = true")
        page.evaluate(NEWS, "Which host?")
        assert len(page.evaluate("window.told")) == 2


def test_the_title_of_a_tab_in_the_background_counts_on(browser: Browser, server: DashboardServer) -> None:
    with visit(browser, server) as page:
        page.add_init_script(RECORDS)
        page.goto("/settings")
        page.evaluate("window.isHidden = true")
        before = page.title()
        loop_id = resting(server, "In the background", Rested(Outcome.BLOCKED, "Which port?"))
        expect(page).not_to_have_title(before)
        server.client.delete(f"/api/v1/loops/{loop_id}", params={"force": "true"})
        expect(page).to_have_title(before)
