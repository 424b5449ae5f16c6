"""The forms of the dashboard in a real browser: a new loop, settings, and drafts that outlive the connection and the server."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request, expect
from tests.e2e.axe import violations
from tests.e2e.dashboard import PATIENCE, PICTURES, DashboardServer, browser, logged_in, page, server
from tests.support.command_line import CommandLine, until

expect.set_options(timeout=PATIENCE)
__all__ = ["browser", "page", "server"]
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
SIZES = pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
MARKUP = "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">{{7*7}}'\"</textarea>"


def field(page: Page, name: str) -> Locator:
    """The box of a setting that is not in a profile."""
    return page.locator(f"form > [data-field='{name}'], form :not([data-profile] *)[data-field='{name}']").first


def error_at(page: Page, name: str) -> Locator:
    return field(page, name).locator(".field-error")


@contextmanager
def many_tabs(browser: Browser, server: DashboardServer, **options: Any) -> Iterator[BrowserContext]:
    """A browser that is logged in, for several tabs and for a server that goes away, which its console reports."""
    context = logged_in(browser, server, **{"viewport": WIDE, **options})
    try:
        yield context
    finally:
        context.close()


def open_form(context: BrowserContext, path: str = "/new") -> Page:
    page = context.new_page()
    page.goto(path)
    return page


class Clicks:
    """Clicks as a person does, counted."""

    def __init__(self) -> None:
        self.count = 0

    def on(self, place: Locator) -> None:
        self.count += 1
        place.click()


@pytest.fixture
def own(tmp_path: Any) -> Iterator[DashboardServer]:
    """A server of one test, in a project with tests and settings."""
    cli = CommandLine(tmp_path)
    cli.project({"say": "There.", "write": {"done.md": "yes"}, "claim": True}, max_cost=5.0, require_change=True)
    (cli.workspace / "Makefile").write_text("test:\n\ttest -f done.md\n")
    with DashboardServer(cli) as server:
        yield server


LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": WIDE},
    "dark": {"viewport": WIDE, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "has_touch": True},
}


@pytest.mark.parametrize("look", LOOKS)
def test_everybody_can_use_the_pages(browser: Browser, own: DashboardServer, look: str) -> None:
    """axe-core finds nothing, nothing is wider than the window, and what a finger touches is large enough."""
    with many_tabs(browser, own, **LOOKS[look]) as context:
        page = context.new_page()
        for path in ("/new", "/settings", "/nowhere"):
            page.goto(path)
            for folded in page.locator("details:not([open]) > summary").all():
                folded.click()
            if path == "/new":
                page.get_by_role("button", name="make test").click()
                page.locator("#task").fill("")
                page.get_by_role("button", name="Start", exact=True).click()
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert look != "phone" or page.evaluate(SMALL_TARGETS) == []
            page.screenshot(path=PICTURES / f"forms{path.replace('/', '-')}-{look}.png")


SMALL_TARGETS = """() => [...document.querySelectorAll("main button, main a, main input, main select, main textarea, main summary")]
    .filter((each) => each.checkVisibility() && !each.closest("p a"))
    .map((each) => [each.outerHTML.slice(0, 120), (each.closest("label") ?? each).getBoundingClientRect().height])
    .filter(([, height]) => height < 43.5)"""


@SIZES
def test_a_loop_starts_with_two_clicks_and_sends_only_what_was_changed(
    browser: Browser, own: DashboardServer, size: Any
) -> None:
    sent: list[dict[str, Any]] = []
    with many_tabs(browser, own, viewport=size) as context:
        page = open_form(context)
        page.on("request", lambda request: sent.extend(_posted(request)))
        clicks = Clicks()
        page.keyboard.type("Write done.md")  # the task has the focus
        clicks.on(page.get_by_role("button", name="make test"))
        expect(page.locator("[data-rows] textarea")).to_have_value("make test")
        page.screenshot(path=PICTURES / f"new-loop-{size['width']}.png")
        clicks.on(page.get_by_role("button", name="Start", exact=True))
        page.wait_for_url(re.compile(r"/loops/loop-"))
    assert clicks.count == 2
    workspace = str(own.cli.workspace)
    assert sent == [
        {"task": "Write done.md", "settings": {"checks": ["make test"]}, "start": True, "workspace": workspace}
    ]
    loop = own.until_status(own.cli.loops[0]["loop_id"], "completed")
    assert (loop["outcome"], loop["settings"]["require_change"], loop["budget"]["cost_usd"]) == ("verified", True, 5.0)


def test_a_loop_is_created_with_other_settings_and_not_started(browser: Browser, own: DashboardServer) -> None:
    with many_tabs(browser, own) as context:
        page = open_form(context)
        expect(field(page, "max_cost").locator("input")).to_have_attribute("placeholder", "5")
        page.locator("#task").fill("Look around")
        page.get_by_role("slider").first.fill("12")
        expect(field(page, "max_iterations").locator("input[type=number]")).to_have_value("12")
        field(page, "mode").locator("select").select_option("phases")
        field(page, "route").locator("select").select_option("direct")
        page.get_by_text("More", exact=True).click()
        field(page, "require_change").get_by_role("switch").uncheck()
        field(page, "max_tokens").locator("input").fill("90000")
        page.get_by_role("button", name="Create without starting").click()
        page.wait_for_url(re.compile(r"/loops/loop-"))
    loop = own.show(own.cli.loops[0]["loop_id"])
    kept, budget = loop["settings"], loop["budget"]
    assert (loop["status"], kept["mode"], kept["require_change"]) == ("created", "phases", False)
    assert (budget["iterations"], budget["tokens"], budget["cost_usd"], kept["options"]["route"]) == (
        12,
        90000,
        5.0,
        "direct",
    )


def test_the_rounds_of_a_mode_are_shown_and_not_sent(browser: Browser, own: DashboardServer) -> None:
    with many_tabs(browser, own) as context:
        page = open_form(context)
        rounds = field(page, "max_iterations").locator("input[type=number]")
        expect(rounds).to_have_value("5")
        field(page, "mode").locator("select").select_option("supervise")
        expect(rounds).not_to_have_value("5")
        field(page, "loop_enabled").get_by_role("switch").uncheck()
        expect(field(page, "max_iterations")).to_be_hidden()


@SIZES
def test_errors_are_at_their_fields_and_the_first_has_the_focus(
    browser: Browser, own: DashboardServer, size: Any
) -> None:
    with many_tabs(browser, own, viewport=size) as context:
        page = open_form(context)
        start = page.get_by_role("button", name="Start", exact=True)
        start.click()
        expect(page.locator("#e-task")).to_have_text("Say what is to be done.")
        expect(page.locator("#task")).to_be_focused()
        page.locator("#task").fill("Something")
        field(page, "max_cost").locator("input").fill("-3")
        page.get_by_text("More", exact=True).click()
        field(page, "max_tokens").locator("input").fill("0")
        page.get_by_text("More", exact=True).click()
        start.click()
        expect(error_at(page, "max_cost")).to_contain_text("-3 is not a number of dollars. Give a number above 0")
        expect(error_at(page, "max_tokens")).to_contain_text("0 is not a number of tokens")
        expect(field(page, "max_cost").locator("input")).to_be_focused()
        expect(page.locator(".form-error")).to_be_hidden()
        expect(page.locator("#e-task")).to_be_hidden()
        page.screenshot(path=PICTURES / f"errors-at-fields-{size['width']}.png")
        field(page, "max_cost").locator("input").fill("3")
        field(page, "max_tokens").locator("input").fill("")
        field(page, "checks").get_by_role("button", name="Add a check").click()
        page.keyboard.type("# nothing")
        start.click()
        expect(error_at(page, "checks")).to_contain_text("runs nothing")
        expect(error_at(page, "max_cost")).to_be_hidden()
    assert own.cli.loops == []


def test_an_agent_that_is_not_installed_is_marked_before_and_told_at_its_field(
    browser: Browser, own: DashboardServer
) -> None:
    with many_tabs(browser, own) as context:
        page = open_form(context)
        agent = field(page, "agent")
        missing = agent.locator("option", has_text="not installed")
        if not missing.count():
            pytest.skip("every agent is installed on this machine")
        agent.locator("select").select_option(str(missing.first.get_attribute("value")))
        expect(agent.locator(".field-note")).to_contain_text("Not on this machine.")
        page.locator("#task").fill("Something")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(agent.locator(".field-error")).to_contain_text("is not on PATH")


class TestDrafts:
    def test_a_draft_outlives_a_reload_and_another_tab_shows_it(self, browser: Browser, own: DashboardServer) -> None:
        with many_tabs(browser, own) as context:
            one = open_form(context)
            one.locator("#task").fill("Half a thou")
            field(one, "max_minutes").locator("input").fill("30")
            one.get_by_role("button", name="make test").click()
            one.reload()
            self.holds(one, "Half a thou")
            two = open_form(context)
            self.holds(two, "Half a thou")
            two.locator("#task").fill("A whole thought")
            expect(one.locator("#task")).to_have_value("A whole thought")
            expect(one.locator("[data-rows] textarea")).to_have_value("make test")

    def holds(self, page: Page, task: str) -> None:
        expect(page.locator("#task")).to_have_value(task)
        expect(field(page, "max_minutes").locator("input")).to_have_value("30")
        expect(page.locator("[data-rows] textarea")).to_have_value("make test")
        expect(page.locator(".draft-note")).to_be_visible()

    def test_a_draft_is_forgotten_when_it_is_sent_or_discarded(self, browser: Browser, own: DashboardServer) -> None:
        with many_tabs(browser, own) as context:
            page = open_form(context)
            page.locator("#task").fill("Not this")
            page.reload()
            page.get_by_role("button", name="Discard").click()
            expect(page.locator("#task")).to_have_value("")
            page.locator("#task").fill("Write done.md")
            page.get_by_role("button", name="Create without starting").click()
            page.wait_for_url(re.compile(r"/loops/loop-"))
            page.goto("/new")
            expect(page.locator("#task")).to_have_value("")
            expect(page.locator(".draft-note")).to_be_hidden()

    def test_ten_seconds_offline_lose_nothing(self, browser: Browser, own: DashboardServer) -> None:
        with many_tabs(browser, own) as context:
            page = open_form(context)
            page.locator("#task").fill("In a tunnel")
            context.set_offline(True)
            page.get_by_role("button", name="Start", exact=True).click()
            expect(page.locator(".form-error")).to_contain_text("cannot be reached")
            page.wait_for_timeout(10_000)
            expect(page.locator("#task")).to_have_value("In a tunnel")
            context.set_offline(False)
            page.get_by_role("button", name="Start", exact=True).click()
            page.wait_for_url(re.compile(r"/loops/loop-"))
        assert len(own.cli.loops) == 1

    def test_a_killed_server_loses_nothing_and_a_repeated_start_makes_one_loop(
        self, browser: Browser, own: DashboardServer
    ) -> None:
        keys: list[str] = []
        before = own.client.get("/api/v1/loops").json()["total"]
        with many_tabs(browser, own) as context:
            page = open_form(context)
            page.on("request", lambda request: keys.extend(_key(request.headers)))
            page.locator("#task").fill("Write done.md")
            own.kill()
            start = page.get_by_role("button", name="Start", exact=True)
            start.click()
            expect(page.locator(".form-error")).to_contain_text("cannot be reached")
            expect(page.locator("#task")).to_have_value("Write done.md")
            own.start()
            start.click()
            page.wait_for_url(re.compile(r"/loops/loop-"))
        assert len(keys) == 2
        assert keys[0] == keys[1]
        assert own.client.get("/api/v1/loops").json()["total"] == before + 1

    def test_an_answer_that_was_lost_on_its_way_makes_no_second_loop(
        self, browser: Browser, own: DashboardServer
    ) -> None:
        with many_tabs(browser, own) as context:
            page = open_form(context)
            page.locator("#task").fill("Once")
            lost: list[str] = []

            def lose(route: Any) -> None:
                if not lost and route.request.method == "POST":
                    lost.append(route.fetch().text())
                    route.abort()
                else:
                    route.continue_()

            page.route("**/api/v1/loops", lose)
            create = page.get_by_role("button", name="Create without starting")
            create.click()
            expect(page.locator(".form-error")).to_contain_text("cannot be reached")
            page.reload()  # the key is a part of the draft
            create.click()
            page.wait_for_url(re.compile(r"/loops/loop-"))
        assert len(lost) == 1
        assert len(own.cli.loops) == 1


def _posted(request: Request) -> Iterator[dict[str, Any]]:
    if request.method == "POST":
        yield request.post_data_json  # type: ignore[misc]


def _key(headers: dict[str, str]) -> Iterator[str]:
    if "idempotency-key" in headers:
        yield headers["idempotency-key"]


def test_a_loop_like_another_one_with_edits(browser: Browser, own: DashboardServer) -> None:
    first = own.create("Write it", start=False, checks=["make test"], max_iterations=7, max_cost=2.0)
    with many_tabs(browser, own) as context:
        page = open_form(context, f"/new?from={first}")
        expect(page.locator("#task")).to_have_value("Write it")
        expect(page.locator("[data-rows] textarea")).to_have_value("make test")
        expect(field(page, "max_iterations").locator("input[type=number]")).to_have_value("7")
        page.locator("#task").fill("Write it well")
        field(page, "max_minutes").locator("input").fill("9")
        page.get_by_role("button", name="Create without starting").click()
        page.wait_for_url(re.compile(rf"/loops/(?!{first})"))
        other = page.url.rpartition("/")[2]
    loop = own.show(other)
    assert (loop["description"], loop["settings"]["checks"]) == ("Write it well", ["make test"])
    assert (loop["budget"]["iterations"], loop["budget"]["cost_usd"], loop["budget"]["minutes"]) == (7, 2.0, 9.0)


def test_another_workspace_has_other_settings_and_the_task_goes_along(browser: Browser, tmp_path: Any) -> None:
    cli = CommandLine(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "untildone.toml").write_text('agent = "scripted"\nmax_cost = 9.0\n')
    with (
        DashboardServer(cli, "--dir", str(cli.workspace), "--dir", str(other)) as server,
        many_tabs(browser, server) as context,
    ):
        page = open_form(context)
        expect(field(page, "max_cost").locator("input")).to_have_attribute("placeholder", "")
        page.locator("#task").fill("In which one?")
        page.get_by_label("Workspace", exact=True).select_option(str(other))
        expect(field(page, "max_cost").locator("input")).to_have_attribute("placeholder", "9")
        expect(page.locator("#task")).to_have_value("In which one?")
        page.get_by_role("button", name="Create without starting").click()
        page.wait_for_url(re.compile(r"/loops/loop-"))
        loop = server.show(page.url.rpartition("/")[2])
        assert (loop["settings"]["workspace"], loop["budget"]["cost_usd"]) == (str(other), 9.0)
        page.goto("/new")
        expect(page.locator("#task")).to_have_value("")


def test_checks_of_the_last_loops_are_suggested(browser: Browser, own: DashboardServer) -> None:
    own.create("Before", start=False, checks=["test -f of-last-loop"])
    with many_tabs(browser, own) as context:
        page = open_form(context)
        suggested = page.get_by_role("button", name="test -f of-last-loop")
        expect(suggested).to_contain_text("used before")
        suggested.click()
        expect(suggested).to_be_hidden()
        page.get_by_role("button", name="Remove").click()
        expect(suggested).to_be_visible()


class TestSettings:
    def test_changes_are_written_and_comments_stay(self, browser: Browser, own: DashboardServer) -> None:
        file = own.cli.workspace / "untildone.toml"
        file.write_text(
            "# ours\nmax_cost = 5.0  # dollars\nrequire_change = true\n\n[profiles.mine]\nagent = 'scripted'\n"
        )
        with many_tabs(browser, own) as context:
            page = open_form(context, "/settings")
            expect(page.locator("form[data-form]")).to_contain_text(str(file))
            field(page, "max_cost").locator("input").fill("7.5")
            field(page, "require_change").get_by_role("button", name="Remove from the file").click()
            field(page, "worktree").get_by_role("switch").check()
            page.locator("[data-profile='mine'] [data-field='model'] input").fill("large")
            page.locator("[data-new-profile]").fill("other")
            page.get_by_role("button", name="Add", exact=True).click()
            page.locator("[data-profile='other'] [data-field='agent'] select").select_option("scripted")
            page.get_by_role("button", name="Save").click()
            expect(page.get_by_text("Saved", exact=True)).to_be_visible()
            expect(field(page, "max_cost").locator("input")).to_have_value("7.5")
            page.screenshot(path=PICTURES / "settings-1440.png")
        assert file.read_text().startswith("# ours\nmax_cost = 7.5  # dollars\n")
        assert tomllib.loads(file.read_text()) == {
            "max_cost": 7.5,
            "worktree": True,
            "profiles": {"mine": {"agent": "scripted", "model": "large"}, "other": {"agent": "scripted"}},
        }

    def test_leaving_with_changes_asks_first_and_a_reload_keeps_them(
        self, browser: Browser, own: DashboardServer
    ) -> None:
        with many_tabs(browser, own) as context:
            page = open_form(context, "/settings")
            asked: list[str] = []

            def leave(dialog: Any) -> None:
                asked.append(dialog.type)
                dialog.accept()

            page.on("dialog", leave)
            page.reload()
            assert asked == []
            field(page, "max_minutes").locator("input").click()
            page.keyboard.type("44")
            expect(page.get_by_text("Not saved yet")).to_be_visible()
            page.reload()
            assert asked == ["beforeunload"]
            expect(field(page, "max_minutes").locator("input")).to_have_value("44")
            page.get_by_role("button", name="Undo changes").click()
            expect(field(page, "max_minutes").locator("input")).to_have_value("")

    def test_errors_are_at_their_fields(self, browser: Browser, own: DashboardServer) -> None:
        with many_tabs(browser, own) as context:
            page = open_form(context, "/settings")
            field(page, "notify_webhook").locator("input").fill("nowhere")
            field(page, "prices").locator("textarea").fill("no price")
            page.get_by_role("button", name="Save").click()
            expect(error_at(page, "prices")).to_contain_text("not of the form NAME=value")
            field(page, "prices").locator("textarea").fill("")
            page.get_by_role("button", name="Save").click()
            expect(error_at(page, "notify_webhook")).to_contain_text("not a web address")
            expect(field(page, "notify_webhook").locator("input")).to_be_focused()

    def test_secrets_are_not_shown_and_stay_when_something_else_is_saved(
        self, browser: Browser, own: DashboardServer
    ) -> None:
        file = own.cli.workspace / "untildone.toml"
        file.write_text(
            'notify_webhook = "https://example.test/x"\nnotify_secret = "s3cr3t-words"\n\n'
            '[profiles.mine]\nagent = "scripted"\n\n[profiles.mine.env]\nKEY = "k3y-words"\n'
        )
        with many_tabs(browser, own) as context:
            page = open_form(context, "/settings")
            assert "s3cr3t-words" not in page.content()
            assert "k3y-words" not in page.content()
            page.locator("[data-profile='mine'] [data-field='model'] input").fill("large")
            field(page, "max_cost").locator("input").fill("2")
            page.get_by_role("button", name="Save").click()
            expect(page.get_by_text("Saved", exact=True)).to_be_visible()
            kept = tomllib.loads(file.read_text())
            assert (kept["notify_secret"], kept["profiles"]["mine"]["env"]) == ("s3cr3t-words", {"KEY": "k3y-words"})
            field(page, "notify_secret").locator("input").fill("another")
            assert "another" not in str(page.evaluate("JSON.stringify(localStorage)"))
            page.get_by_role("button", name="Save").click()
            until(lambda: tomllib.loads(file.read_text())["notify_secret"] == "another")

    def test_what_the_environment_sets_says_so(self, browser: Browser, own: DashboardServer) -> None:
        with many_tabs(browser, own) as context:
            page = open_form(context, "/settings")
            expect(field(page, "retry_delay")).to_contain_text("UNTILDONE_RETRY_DELAY in the environment")


@pytest.mark.parametrize("path", ["/new", "/settings"])
def test_markup_in_values_is_text(browser: Browser, own: DashboardServer, path: str) -> None:
    own.create(MARKUP, start=False, checks=[f"echo {MARKUP}"])
    values: dict[str, Any] = {"model": MARKUP, "promise": MARKUP, "checks": [f"true {MARKUP}"], "agent": "scripted"}
    lines = "".join(f"{name} = {_toml(value)}\n" for name, value in values.items())
    (own.cli.workspace / "untildone.toml").write_text(lines + f"[profiles.{_toml(MARKUP)}]\nagent = 'scripted'\n")
    with many_tabs(browser, own) as context:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path)
        expect(field(page, "promise").locator("input")).to_have_value(MARKUP)
        expect(page.locator("[data-rows] textarea")).to_have_value(f"true {MARKUP}")
        page.wait_for_timeout(300)
        assert "hacked" not in page.title()
        assert page.locator("form img").count() == 0
        assert not [url for url in asked if url.endswith("/x")]


def test_markup_in_a_duplicated_task_is_text(browser: Browser, own: DashboardServer) -> None:
    first = own.create(MARKUP, start=False)
    with many_tabs(browser, own) as context:
        page = open_form(context, f"/new?from={first}")
        expect(page.locator("#task")).to_have_value(MARKUP)
        assert page.locator("form img").count() == 0


def _toml(text: str | list[str]) -> str:
    return json.dumps(text, ensure_ascii=False)


@pytest.mark.parametrize(
    "path", ["/nowhere", "/loops/loop-20260101-000000000-abcdef", "/new?workspace=/nowhere", "/new?from=x"]
)
def test_an_unknown_page_has_the_look_of_the_product_and_a_way_home(
    browser: Browser, own: DashboardServer, path: str
) -> None:
    with many_tabs(browser, own, color_scheme="dark", locale="zh-TW") as context:
        page = context.new_page()
        answer = page.goto(path)
        assert answer is not None
        assert answer.status in (404, 422)
        assert answer.headers["content-type"].startswith("text/html")
        expect(page.locator("h1")).to_be_visible()
        expect(page.get_by_role("link", name="回到收件匣")).to_have_attribute("href", "/")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(18, 21, 27)"


def test_the_forms_speak_chinese(browser: Browser, own: DashboardServer) -> None:
    with many_tabs(browser, own, locale="zh-CN") as context:
        page = open_form(context)
        expect(page.get_by_role("heading", name="新建循环")).to_be_visible()
        page.get_by_role("button", name="开始", exact=True).click()
        expect(page.locator("#e-task")).to_have_text("请说明要做什么。")
