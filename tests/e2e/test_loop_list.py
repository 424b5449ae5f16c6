"""The list of all loops, the money page, keys and the command palette, in the browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e import axe
from tests.e2e.dashboard import PATIENCE, PICTURES, DashboardServer, chromium, visit
from tests.support.command_line import CommandLine

from untildone.core.events import LoopCreated, Rested, StartRequested, TurnEnded, TurnStarted
from untildone.core.kinds import Host
from untildone.core.model import AgentChoice, Answer, Budget, LoopSettings, Outcome, Role, SessionUse, Usage
from untildone.store.files import FileStore
from untildone.store.seals import Seals
from untildone.system import state_folder

expect.set_options(timeout=PATIENCE)
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
PAGE = 25
MANY = 120
TOO_SMALL = """[...document.querySelectorAll(
    "main a, main button, main input:not([type=checkbox]), main label.switch, main select, header a, header button")]
  .filter((each) => each.getClientRects().length && !each.closest("table:not(.loops), p"))
  .filter((each) => each.getBoundingClientRect().height < 43.5).map((each) => each.outerHTML.slice(0, 120))"""
"""Things to touch that are lower than a finger; links in sentences and in tables of numbers are text."""


def add_loop(store: FileStore, number: int, agent: str = "claude") -> str:
    """A loop that was paused after a round of a few cents."""
    loop_id = f"loop-2026111{number % 10}-{number:06d}"
    settings = LoopSettings("ralph", AgentChoice(agent, "scripted"), str(store.home))
    store.create(LoopCreated(loop_id, f"Job number x{number}", "A job", settings, Budget(iterations=5)))
    with closing(store.open(loop_id)) as journal:
        answer = Answer("Some work.", usage=Usage(cost_usd=0.01 * (number % 7), tokens=100))
        journal.append(
            StartRequested(Host.TERMINAL),
            TurnStarted(Role.WORKER, 1, 1, agent, SessionUse.NEW, "Go on."),
            TurnEnded(Role.WORKER, 1, answer, 90.0),
            Rested(Outcome.PAUSED) if number % 3 else Rested(Outcome.STALLED, "It repeats itself."),
        )
    return loop_id


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardServer]:
    """Two workspaces: `workspace` with many loops, `shop` with two."""
    folder = tmp_path_factory.mktemp("list")
    cli = CommandLine(folder)
    shop = folder / "shop"
    shop.mkdir()
    for number in range(MANY):
        add_loop(cli.store(), number)
    other = FileStore(shop / ".loop", seals=Seals(state_folder.folder(cli.environment)))
    for number in (900, 901):
        add_loop(other, number, "codex")
    with DashboardServer(cli, "--dir", str(cli.workspace), "--dir", str(shop)) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: DashboardServer) -> Iterator[Page]:
    with visit(browser, server, viewport=WIDE) as page:
        yield page


def titles(page: Page) -> list[str]:
    page.wait_for_load_state()
    return page.locator("[data-row] [data-row-link]").all_inner_texts()


def test_filter_search_sort_and_page_are_in_the_address(page: Page) -> None:
    page.goto("/loops")
    expect(page.get_by_text(f"{MANY + 2} loops")).to_be_visible()
    assert len(titles(page)) == PAGE
    page.get_by_role("link", name="Next", exact=True).click()
    expect(page).to_have_url(re.compile(r"/loops\?page=2$"))
    page.get_by_role("searchbox", name="Search").fill("number x11")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"q=number\+x11"))
    assert sorted(titles(page)) == sorted(["Job number x11", *(f"Job number x{each}" for each in range(110, 120))])
    page.get_by_role("link", name="Title").click()
    expect(page).to_have_url(re.compile(r"sort=title"))
    assert titles(page) == sorted(titles(page))
    page.reload()
    assert titles(page)[0] == "Job number x11"
    page.locator("[data-row-link]").first.click()
    page.go_back()
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("number x11")


def test_a_search_for_a_number_does_not_find_the_date_in_ids(page: Page) -> None:
    page.goto("/loops?q=20261112")
    expect(page.get_by_text("No loop fits")).to_be_visible()


def test_filters_apply_at_once_and_rows_say_their_workspace(page: Page) -> None:
    page.goto("/loops?q=number+x90")
    assert page.locator("td.workspace").all_inner_texts() == ["shop", "shop", "workspace"]
    page.locator("select[name=workspace][data-submits]").select_option("shop")
    expect(page.get_by_text("2 loops")).to_be_visible()
    page.goto("/loops")
    page.locator("select[name=needs]").select_option("any")
    expect(page.locator(".chip.warn").first).to_have_text("stalled", ignore_case=True)
    assert {"Stalled"} == set(page.locator("[data-row] .chip").all_inner_texts())


def test_the_list_works_without_script(browser: Browser, server: DashboardServer) -> None:
    with visit(browser, server, viewport=WIDE, java_script_enabled=False) as page:
        page.goto("/loops")
        page.get_by_role("searchbox", name="Search").fill("number x77")
        page.get_by_role("button", name="Search").click()
        page.wait_for_url(re.compile("q=number"))
        assert titles(page) == ["Job number x77"]
        page.goto("/")
        expect(page.get_by_role("heading", name="Needs you")).to_be_visible()
        page.goto("/money")
        expect(page.get_by_role("rowheader", name="codex")).to_be_visible()


def test_rows_by_keyboard(page: Page, server: DashboardServer) -> None:
    page.goto("/loops?sort=title&q=number+x1")
    first, second, *_ = titles(page)
    page.keyboard.press("j")
    expect(page.locator("[data-row]:focus-within")).to_contain_text(first)
    page.keyboard.press("j")
    expect(page.locator("[data-row]:focus-within")).to_contain_text(second)
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/loops/loop-"))
    page.wait_for_load_state()
    page.keyboard.press("u")
    expect(page).to_have_url(re.compile(r"sort=title"))
    page.wait_for_load_state()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Inbox", level=1)).to_be_visible()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("New loop")
    expect(keys).to_contain_text("Money")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()


def test_the_selection_goes_over_the_edge_of_a_page(page: Page) -> None:
    page.goto("/loops?page=2")
    page.keyboard.press("j")
    expect(page.locator("[data-row]:focus-within")).to_have_count(1)
    page.keyboard.press("k")
    expect(page).to_have_url(re.compile(r"/loops$"))
    expect(page.locator("[data-row]").last.locator("[data-row-link]")).to_be_focused()


def test_the_palette_finds_loops_pages_and_acts(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox")
    expect(box).to_be_focused()
    box.fill("mone")
    expect(page.get_by_role("option", name="Money")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/money$"))
    page.wait_for_load_state()
    page.keyboard.press("Control+k")
    box.fill("number x117")
    expect(page.get_by_role("option", name="Job number x117")).to_be_visible()
    page.screenshot(path=PICTURES / "palette.png")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/loops/loop-2026111\d-000117$"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_people_with_a_screen_reader_stumble_over_nothing(
    browser: Browser, server: DashboardServer, scheme: str
) -> None:
    with visit(browser, server, viewport=WIDE, color_scheme=scheme) as page:
        for path in ("/", "/loops", "/money"):
            page.goto(path)
            assert axe.violations(page) == [], path
            page.screenshot(path=PICTURES / f"wide-{path.strip('/') or 'inbox'}-{scheme}.png")
        page.keyboard.press("Control+k")
        expect(page.get_by_role("option").first).to_be_visible()
        assert axe.violations(page) == []


def test_money_by_day_agent_and_workspace(page: Page) -> None:
    page.goto("/money")
    expect(page.get_by_role("img", name=re.compile("Dollars a day"))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("^claude"))).to_contain_text("120")
    expect(page.get_by_role("row", name=re.compile("^shop"))).to_contain_text("2")
    page.screenshot(path=PICTURES / "money.png", full_page=True)


def test_old_loops_are_counted_and_deleted(page: Page, server: DashboardServer) -> None:
    gone = server.create("An old job", start=False)
    assert server.client.post(f"/api/v1/loops/{gone}/stop").status_code == 200
    page.goto("/loops?q=old+job")
    expect(page.locator("[data-row]")).to_have_count(1)
    page.keyboard.press("c")
    dialog = page.get_by_role("dialog", name="Delete old loops")
    expect(dialog).to_contain_text("No loop ended so long ago.")
    delete = dialog.get_by_role("button", name="Delete")
    expect(delete).to_be_disabled()
    dialog.locator("option[value='1d']").evaluate("each => { each.value = '0h' }")
    dialog.get_by_label("Ended more than").select_option("0h")
    expect(dialog).to_contain_text("Loops that would be deleted: 1")
    assert axe.violations(page) == []
    page.screenshot(path=PICTURES / "clean.png")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate(TOO_SMALL.replace("main a, ", "dialog[open] button, dialog[open] select, main a, ")) == []
    page.screenshot(path=PICTURES / "clean-phone.png")
    delete.click()
    expect(page.get_by_text("Deleted loops: 1")).to_be_visible()
    expect(page.locator("[data-row]")).to_have_count(0)
    assert server.client.get(f"/api/v1/loops/{gone}").status_code == 404


@pytest.mark.parametrize("path", ["/", "/loops", "/money", "/loops?q=nothing-like-that"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_scrolls_sideways_on_a_phone(browser: Browser, server: DashboardServer, path: str, scheme: str) -> None:
    with visit(browser, server, viewport=PHONE, color_scheme=scheme) as page:
        page.goto(path)
        expect(page.locator("main h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert page.evaluate(TOO_SMALL) == []
        assert axe.violations(page) == []
        name = {"/": "inbox", "/loops": "loops", "/money": "money"}.get(path, "nothing")
        page.screenshot(path=PICTURES / f"{name}-phone-{scheme}.png", full_page=name == "money")
