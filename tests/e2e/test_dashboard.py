"""The dashboard, through a real browser: a loop from its form to its receipt, controls, settings, many loops, safety."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.dashboard import (
    PATIENCE,
    PAUSE_CHOICES,
    PICTURES,
    DashboardServer,
    browser,
    page,
    server,
    status,
    visit,
    waits_for,
)
from tests.support.command_line import until
from tests.support.serving import TOKEN

from untildone.system import state_folder

expect.set_options(timeout=PATIENCE)
__all__ = ["browser", "page", "server"]
MARKUP = "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"


def choose(page: Page, setting: str, choice: str) -> None:
    page.locator(f".setting-{setting}").click()
    page.locator(".q-menu .q-item", has_text=choice).click()


def open_tab(page: Page, name: str) -> None:
    page.locator(".q-tab", has_text=name).click()


def test_a_loop_from_the_form_to_the_receipt(page: Page, server: DashboardServer) -> None:
    first_round = server.flag("go")
    script = server.script(
        [{"say": "I look around first."}, {"run": waits_for(first_round)}, {"say": "Nothing is written yet."}],
        [{"match": "also write docs", "write": {"docs.md": "# Docs\n"}, "say": "The docs are there."}, {"claim": True}],
    )
    page.goto("/")
    page.get_by_label("New loop").first.click()
    page.locator(".task-words textarea").fill("Write the application")
    choose(page, "agent", "scripted")
    page.locator("textarea.setting-args, .setting-args textarea").fill(script)
    page.locator("textarea.setting-checks, .setting-checks textarea").fill("test -f docs.md")
    page.get_by_role("button", name="Start", exact=True).click()

    expect(page.locator(".loop-title")).to_have_text("Write the application")
    status(page, "running")
    expect(page.locator(".said")).to_contain_text("I look around first.")
    page.get_by_label("Message").fill("[r+5] also write docs")
    expect(page.get_by_text("Added 5 rounds. Remaining: 9")).to_be_visible()
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".notice", has_text="Added 5 rounds. Remaining: 9")).to_be_visible()
    expect(page.get_by_text("1 of 10 rounds")).to_be_visible()

    page.get_by_role("button", name="Pause").first.click()
    expect(page.get_by_text("It pauses after this round.")).to_be_visible()
    first_round.touch()
    status(page, "paused")
    page.get_by_role("button", name="Resume").click()
    status(page, "verified")
    expect(page.locator(".said").first).to_contain_text("The docs are there.")
    expect(page.locator(".round")).to_have_count(2)
    page.locator(".round", has_text="Round 1").click()
    expect(page.locator(".said").first).to_contain_text("I look around first.")

    open_tab(page, "Gates")
    expect(page.locator(".gate", has_text="test -f docs.md").locator(".chip")).to_have_text("passed", ignore_case=True)
    open_tab(page, "Spend")
    expect(page.locator(".chart canvas").first).to_be_visible()
    open_tab(page, "Changes")
    expect(page.locator(".patch", has_text="docs.md")).to_contain_text("+# Docs")
    open_tab(page, "Log")
    expect(page.locator(".log")).to_contain_text("message (dashboard): [r+5] also write docs")
    open_tab(page, "Receipt")
    expect(page.locator("dd", has_text="verified")).to_be_visible()
    page.get_by_role("button", name="Run the checks again").click()
    expect(page.get_by_text("agrees with the receipt")).to_be_visible()
    page.goto("/history")
    page.locator(".row-link", has_text="Write the application").click()
    expect(page.locator("dd", has_text="verified")).to_be_visible()


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
    page.goto(f"/loops/{loop_id}")
    expect(page.locator(".said").first).to_contain_text("<script>document.title='hacked'</script><img src=x")
    expect(page.locator(".loop-title")).to_contain_text("<script>")
    for tab, words in (("Gates", ".terminal"), ("Changes", ".diff"), ("Log", ".log")):
        open_tab(page, tab)
        expect(page.locator(words).first).to_contain_text("<script>document.title=")
    page.goto("/")
    expect(page.locator(".row-title", has_text="<script>document.title")).to_be_visible()
    assert "hacked" not in page.title()
    assert page.locator(".page img").count() == 0


def test_stop_asks_first(page: Page, server: DashboardServer) -> None:
    loop_id = server.create(args=["--scenario=hang"])
    page.goto(f"/loops/{loop_id}")
    expect(page.locator(".said")).to_contain_text("I shall think about it.")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    assert server.show(loop_id)["status"] == "running"
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Stop now").click()
    status(page, "stopped")
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url(re.compile(r"/$"))
    assert server.client.get(f"/api/v1/loops/{loop_id}").status_code == 404


def test_a_delete_that_takes_a_while_leads_to_the_list(page: Page, server: DashboardServer) -> None:
    for loop_id in (server.create("Another one, whose snapshots stay"), server.create()):
        server.until_status(loop_id, "completed")
    page.goto(f"/loops/{loop_id}")
    status(page, "claimed")
    snapshots = Path(state_folder.folder(server.cli.environment), "snapshots")
    (repository,) = (each for each in snapshots.glob("*/repository") if (each / "refs/loops" / loop_id).exists())
    lock = repository / "packed-refs.lock"
    lock.touch()  # git waits a second for it, and meanwhile the page sees that the loop is gone
    try:
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        page.wait_for_url(re.compile(r"/$"))
    finally:
        lock.unlink()


def test_keys_pause_and_resume(page: Page, server: DashboardServer) -> None:
    loop_id = server.create("Keys", args=["--scenario=hang"])
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("Keys")
    expect(page.locator(".row-link:not(.hidden)")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator(".row-link.selected")).to_have_attribute("href", f"/loops/{loop_id}")
    page.keyboard.press("Enter")
    expect(page.locator(".said")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Next, previous loop")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("p")
    expect(page.get_by_text("It pauses after this round.")).to_be_visible()
    page.locator(PAUSE_CHOICES).click()
    page.get_by_text("Pause now").click()
    status(page, "paused")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    status(page, "running")
    server.client.post(f"/api/v1/loops/{loop_id}/stop", json={"now": True})
    status(page, "stopped")


def test_the_budget_can_be_changed(page: Page, server: DashboardServer) -> None:
    loop_id = server.create(start=False)
    page.goto(f"/loops/{loop_id}")
    expect(page.get_by_text("0 of 5 rounds")).to_be_visible()
    page.get_by_role("button", name="Change", exact=True).click()
    page.get_by_label("Rounds", exact=True).fill("12")
    page.get_by_label("Dollars").fill("2.5")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("0 of 12 rounds")).to_be_visible()
    expect(page.get_by_text("0 of 2.5 dollars")).to_be_visible()
    assert server.show(loop_id)["budget"]["cost_usd"] == 2.5


def test_refused_changes_are_approved_one_by_one_or_all_at_once(page: Page, server: DashboardServer) -> None:
    names = [f"tests/test_{number}.sh" for number in range(3)]
    for name in names:
        path = server.cli.workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("exit 1\n")
    work: list[dict[str, Any]] = [{"write": dict.fromkeys(names, "exit 0\n")}, {"claim": True}]
    checks = [f"sh {name}" for name in names]
    chosen = {"args": [server.script(work)], "checks": checks, "max_iterations": 1, "room": "restored"}
    loop_id = server.create("Weaken tests", start=True, **chosen)
    server.until_status(loop_id, "paused")
    page.goto(f"/loops/{loop_id}?tab=gates")
    card = page.locator(".card", has_text="Changes that the gates refused")
    for name in names:
        expect(card).to_contain_text(name)
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / "approve-desk.png", full_page=True)
    card.get_by_role("button", name=f"Approve: {names[0]}").click()
    expect(card).not_to_contain_text(names[0])
    assert server.show(loop_id)["approved"] == names[:1]
    card.get_by_role("button", name="Approve all").click()
    expect(card).to_be_hidden()
    page.get_by_role("button", name="Resume").click()
    status(page, "verified")
    assert server.show(loop_id)["approved"] == names


def test_tasks_are_added_dragged_changed_and_deleted(page: Page, server: DashboardServer) -> None:
    loop_id = server.create(start=False)
    page.goto(f"/loops/{loop_id}?tab=tasks")
    for number, words in enumerate(("one", "two", "three"), 1):
        page.get_by_label("New task").fill(words)
        page.get_by_role("button", name="Add").click()
        expect(page.locator(".task")).to_have_count(number)

    def texts() -> list[str]:
        return [task["text"] for task in server.client.get(f"/api/v1/loops/{loop_id}/tasks").json()["tasks"]]

    def drag_the_last_to_the_top() -> bool:
        """As a person drags: until the row is seen where it is wanted; and once more, if the hand slipped off."""
        grip, goal = page.locator(".task-handle").nth(2).bounding_box(), page.locator(".task").nth(0).bounding_box()
        assert grip is not None
        assert goal is not None
        page.mouse.move(grip["x"] + 8, grip["y"] + 8)
        page.mouse.down()
        page.mouse.move(goal["x"] + 20, goal["y"] + 30, steps=8)
        for _ in range(20):
            page.mouse.move(goal["x"] + 20, goal["y"] + 4, steps=8)
            if page.get_by_label("Task", exact=True).nth(0).input_value() == "three":
                break
        page.mouse.up()
        return page.get_by_label("Task", exact=True).nth(0).input_value() == "three"

    until(drag_the_last_to_the_top)
    until(lambda: texts() == ["three", "one", "two"])
    expect(page.get_by_label("Task", exact=True).nth(0)).to_have_value("three")
    page.get_by_label("Task", exact=True).nth(0).fill("three and a half")
    page.get_by_label("Task", exact=True).nth(0).press("Enter")
    page.locator(".task", has=page.get_by_label("Move up")).nth(1).get_by_label("Delete").click()
    until(lambda: texts() == ["three and a half", "two"])


def test_the_settings_come_from_the_schema_and_are_kept(page: Page, server: DashboardServer) -> None:
    page.goto("/settings")
    expect(page.get_by_text("Max Iterations: 5")).to_be_visible()
    expect(page.get_by_text("Safety limit to prevent infinite loops")).to_be_visible()
    promise = page.locator("input.setting-promise, .setting-promise input")
    expect(promise).to_have_attribute("placeholder", "e.g., <promise>COMPLETE</promise>")
    hint = "Exact string that signals task completion. Leave empty to rely only on max iterations."
    expect(page.get_by_text(hint)).to_be_visible()
    page.get_by_label("Enable Auto Loop").click()
    expect(page.get_by_text("Max Iterations: 5")).to_be_hidden()
    expect(promise).to_be_hidden()
    page.get_by_label("Enable Auto Loop").click()
    slider = page.get_by_role("slider", name="Max Iterations")
    expect(slider).to_have_attribute("aria-valuemin", "1")
    expect(slider).to_have_attribute("aria-valuemax", "50")
    expect(slider).to_be_visible()
    page.locator(".setting-max_iterations .q-slider__track-container").focus()
    for number in (6, 7, 8):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_text(f"Max Iterations: {number}")).to_be_visible()
    promise.fill("ALL DONE")
    page.get_by_label("Require change").click()
    page.locator("textarea.setting-checks, .setting-checks textarea").fill("true\npytest -q")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved")).to_be_visible()
    kept = tomllib.loads((server.cli.workspace / "untildone.toml").read_text())
    assert kept == {"max_iterations": 8, "promise": "ALL DONE", "require_change": True, "checks": ["true", "pytest -q"]}
    page.goto("/new")
    expect(page.get_by_text("Max Iterations: 8")).to_be_visible()
    expect(page.locator("input.setting-promise, .setting-promise input")).to_have_value("ALL DONE")
    (server.cli.workspace / "untildone.toml").unlink()


def test_what_cannot_be_is_said(page: Page, server: DashboardServer) -> None:
    page.goto("/new")
    page.locator(".task-words textarea").wait_for()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("The task is empty.")
    page.goto("/loops/there-is-none")
    expect(page.locator(".state-bad")).to_contain_text("There is no loop 'there-is-none'.")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["by the server", "by another process"])
def test_a_check_that_runs_is_shown(page: Page, server: DashboardServer, elsewhere: bool) -> None:
    flag = server.flag(f"go on {elsewhere}")
    check = waits_for(flag)[-1]
    if elsewhere:
        words = ("run", "Checked elsewhere", "--agent", "scripted", "--check", check)
        with server.cli.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as runner:
            loop_id = until(
                lambda: next((each["loop_id"] for each in server.cli.loops if each["title"] == words[1]), None)
            )
            see_check(page, loop_id, check, flag)
            assert runner.wait(PATIENCE / 1000) == 0
    else:
        see_check(page, server.create(checks=[check]), check, flag)


def see_check(page: Page, loop_id: str, check: str, flag: Path) -> None:
    page.goto(f"/loops/{loop_id}?tab=gates")
    try:
        expect(page.locator(".loop-head .notice")).to_contain_text("this check runs: while")
        expect(page.locator(".gate .mono")).to_have_text(check)
        expect(page.locator(".gate")).to_contain_text("since")
        open_tab(page, "Rounds")
        expect(page.locator(".round-about").first).to_contain_text("being checked")
    finally:
        flag.touch()
    status(page, "verified")
    expect(page.locator(".round-about").first).to_contain_text("all gates passed")
    open_tab(page, "Gates")
    expect(page.locator(".gate .chip")).to_have_text("passed")


def violated(page: Page, messages: list[str]) -> int:
    """How many violations the page reported; the browser hands out messages only while it is waited for."""
    page.wait_for_timeout(50)
    return sum("Content Security Policy" in message for message in messages)


def test_what_gets_into_a_page_later_does_not_run(browser: Browser, server: DashboardServer) -> None:
    context = browser.new_context(base_url=server.url)
    context.add_cookies([server.cookie])  # type: ignore[list-item]
    page = context.new_page()
    violations: list[str] = []
    page.on("console", lambda message: violations.append(message.text))
    page.goto("/new")
    page.locator(".task-words").wait_for()
    page.evaluate("text => { document.body.insertAdjacentHTML('beforeend', text) }", MARKUP)
    page.evaluate(
        "text => { document.body.append(Object.assign(document.createElement('script'), {text})) }", "alert()"
    )
    until(lambda: violated(page, violations) >= 2)
    assert "hacked" not in page.title()
    context.close()


@pytest.mark.parametrize("path", ["/", "/new", "/settings", "/history", "/_untildone/keys.js", "/login", "/nothing"])
def test_every_answer_says_what_it_may_be_used_for(server: DashboardServer, path: str) -> None:
    with httpx.Client(base_url=server.url, trust_env=False) as visitor:
        cookie = {"Cookie": f"{server.cookie['name']}={server.cookie['value']}"}
        for headers in (cookie, {}):
            told = visitor.get(path, headers=headers).headers
            assert "default-src 'none'" in told["Content-Security-Policy"]
            assert "frame-ancestors 'none'" in told["Content-Security-Policy"]
            assert "unsafe-inline" not in told["Content-Security-Policy"].split("style-src")[0]
            assert (told["X-Content-Type-Options"], told["Referrer-Policy"]) == ("nosniff", "same-origin")


def test_nobody_comes_in_without_the_cookie(server: DashboardServer) -> None:
    with httpx.Client(base_url=server.url, trust_env=False) as stranger:
        for path in (
            "/",
            "/new",
            "/settings",
            "/history",
            "/_nicegui_ws/socket.io/?EIO=4&transport=polling",
            "/_untildone/keys.js",
        ):
            assert stranger.get(path).status_code == 401, path
    handshake = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "x" * 22 + "==",
    }
    socket = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    cookie = {"Cookie": f"{server.cookie['name']}={server.cookie['value']}"}
    with httpx.Client(base_url=server.url, trust_env=False) as visitor:
        assert visitor.get(socket, headers=handshake).status_code == 403
        assert visitor.get(socket, headers={**handshake, **cookie, "Origin": "http://evil.example"}).status_code == 403
        assert visitor.get("/", headers={**cookie, "Host": "evil.example"}).status_code == 403
        assert visitor.get("/", headers=cookie).status_code == 200


def test_the_token_typed_into_the_form_logs_in(browser: Browser, server: DashboardServer) -> None:
    context = browser.new_context(base_url=server.url)
    page = context.new_page()
    page.goto("/login")
    for words, then in (("wrong", "That is not the token."), (TOKEN, "untildone")):
        page.get_by_label("Token").fill(words)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text(then).first).to_be_visible()
    expect(page).to_have_url(re.compile("/$"))
    context.close()


def test_the_reader_is_spoken_to_in_their_language(browser: Browser, server: DashboardServer) -> None:
    for language, words in (("zh-TW", "新增迴圈"), ("zh-CN", "新建循环"), ("de-DE", "New loop")):
        with visit(browser, server, locale=language) as page:
            page.goto("/new")
            expect(page.locator(".form-title")).to_have_text(words)


def test_light_or_dark_is_remembered(browser: Browser, server: DashboardServer) -> None:
    with visit(browser, server, color_scheme="dark") as page:
        page.goto("/")
        expect(page.locator("body")).to_have_class(re.compile("body--dark"))
        for _ in range(2):
            page.get_by_label("Light or dark").click()
        expect(page.locator("body")).to_have_class(re.compile("body--light"))
        until(lambda: any(cookie["value"] == "light" for cookie in page.context.cookies()))
        page.reload()
        expect(page.locator("body")).to_have_class(re.compile("body--light"))


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
    waiting = server.create("Something that is not started yet", start=False)
    loop_page = f"/loops/{loop_id}?tab="
    pages = {
        "loops": ("/", ".row-link"),
        "history": ("/history", ".row-link"),
        "new": ("/new", ".setting-agent"),
        "settings": ("/settings", ".setting-agent"),
        "loop": (f"{loop_page}work", ".said"),
        "gates": (f"{loop_page}gates", ".gate"),
        "spend": (f"{loop_page}spend", ".chart canvas"),
        "changes": (f"{loop_page}changes", ".patch"),
        "log": (f"{loop_page}log", ".log-line"),
        "receipt": (f"{loop_page}receipt", ".gate"),
        "tasks": (f"/loops/{waiting}?tab=tasks", ".loop-side"),
        "missing": ("/loops/none", ".state-bad"),
    }
    PICTURES.mkdir(exist_ok=True)
    views = (
        ("desk", 1280, "light", pages),
        ("desk-dark", 1280, "dark", ("loop", "changes")),
        ("phone", 360, "light", pages),
    )
    for name, width, colours, shown in views:
        options = {"viewport": {"width": width, "height": 800}, "color_scheme": colours}
        with visit(browser, server, **options) as page:
            for title in shown:
                path, sign = pages[title]
                page.goto(path)
                page.locator(sign).first.wait_for()
                assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{title} is too wide"
                page.screenshot(path=PICTURES / f"{title}-{name}.png", full_page=True)
