"""The login in a real browser: form and link, on a desk and on a phone, from another site, over a crash, and out again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.axe import violations
from tests.e2e.dashboard import PATIENCE, PICTURES, DashboardServer, chromium
from tests.support.command_line import CommandLine
from tests.support.serving import TOKEN, Server

DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(CommandLine(tmp_path_factory.mktemp("login"))) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@contextmanager
def stranger(browser: Browser, server: Server, **options: Any) -> Iterator[Page]:
    """A page of a browser that is not logged in."""
    context = browser.new_context(**{"base_url": server.url, "viewport": DESK, **options})
    context.set_default_timeout(PATIENCE)
    try:
        yield context.new_page()
    finally:
        context.close()


@contextmanager
def other_site(content: str) -> Iterator[tuple[str, list[str]]]:
    """A web server on another port of the same host: its address, and the cookies that it is sent."""
    cookies: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cookies.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}", cookies
    finally:
        listening.shutdown()
        thread.join(10)
        listening.server_close()


def log_in(page: Page, token: str = TOKEN) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_form_logs_in_and_leads_to_the_page_that_was_asked_for(
    browser: Browser, server: Server, size: dict[str, int], colours: str
) -> None:
    with stranger(browser, server, viewport=size, color_scheme=colours) as page:
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.goto("/?from=a%20link&x=%26")
        expect(page).to_have_url(f"{server.url}/login?next=%2F%3Ffrom%3Da%2520link%26x%3D%2526")
        assert problems == [], "its style sheet and its policy fit"
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        for name in ("Token", "Log in"):
            box = page.get_by_label(name).or_(page.get_by_role("button", name=name)).bounding_box()
            assert box is not None
            assert box["height"] >= 44
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(245, 246, 249)" if colours == "light" else "rgb(18, 21, 27)")
        log_in(page, "wrong")
        expect(page.get_by_role("alert")).to_have_text("That is not a valid token.")
        assert violations(page) == []
        PICTURES.mkdir(exist_ok=True)
        page.screenshot(path=PICTURES / f"login-{size['width']}-{colours}.png")
        log_in(page)
        expect(page).to_have_url(f"{server.url}/?from=a%20link&x=%26")
        expect(page.locator("body")).to_contain_text("untildone")


@pytest.mark.parametrize(
    ("language", "words"), [("zh-CN", "登录"), ("zh-TW", "登入"), ("de-DE", "Log in"), ("en-GB", "Log in")]
)
def test_the_page_speaks_the_language_of_the_browser(
    browser: Browser, server: Server, language: str, words: str
) -> None:
    with stranger(browser, server, locale=language) as page:
        page.goto("/login")
        expect(page.get_by_role("heading")).to_have_text(words)
        assert page.locator("html").get_attribute("lang") == {"zh-CN": "zh-Hans", "zh-TW": "zh-Hant"}.get(
            language, "en"
        )


def test_a_link_on_another_site_arrives_logged_in(browser: Browser, server: Server) -> None:
    loop_id = server.create(start=False)
    content = f'<a href="{server.url}/api/v1/loops/{loop_id}">the loop</a>'
    with other_site(content) as (address, _), stranger(browser, server) as page:
        page.goto("/login")
        log_in(page)
        expect(page).to_have_url(f"{server.url}/")
        for elsewhere in (address, address.replace("127.0.0.1", "localhost")):
            page.goto(elsewhere)
            page.get_by_role("link").click()
            expect(page.locator("body")).to_contain_text(loop_id)
            page.reload()
            expect(page.locator("body")).to_contain_text(loop_id)


def test_a_login_link_on_another_site_logs_in(browser: Browser, server: Server) -> None:
    link = server.client.post("/api/v1/login-links", json={"next": "/?then"}).json()["url"]
    with other_site(f'<a href="{link}">log in</a>') as (address, _), stranger(browser, server, viewport=PHONE) as page:
        page.goto(address.replace("127.0.0.1", "localhost"))
        page.get_by_role("link").click()
        expect(page).to_have_url(f"{server.url}/?then")
        page.reload()
        expect(page).to_have_url(f"{server.url}/?then")


WRITES = """async address => {
  const tries = [];
  const body = JSON.stringify({task: 'x', settings: {agent: 'scripted'}});
  for (const options of [
    {method: 'POST', mode: 'no-cors', credentials: 'include', body},
    {method: 'POST', mode: 'cors', credentials: 'include', body},
    {method: 'POST', mode: 'cors', credentials: 'include', body, headers: {'Content-Type': 'application/json'}},
    {method: 'POST', mode: 'no-cors', credentials: 'include', body, referrerPolicy: 'no-referrer'},
    {method: 'GET', mode: 'cors', credentials: 'include'},
  ]) {
    try { const answer = await fetch(address + '/api/v1/loops', options); tries.push(answer.status) } catch { tries.push('refused') }
  }
  return tries;
}"""


def test_a_page_on_another_port_cannot_use_the_cookie(browser: Browser, server: Server) -> None:
    form = f"""<form method=post enctype="text/plain" action="{server.url}/api/v1/loops">
    <input name='{{"task":"x","settings":{{"agent":"scripted","model":"' value='"}}}}'><button>go</button></form>"""
    with other_site(form) as (address, _), stranger(browser, server) as page:
        page.goto("/login")
        log_in(page)
        expect(page).to_have_url(f"{server.url}/")
        before = server.client.get("/api/v1/loops?limit=200").json()["loops"]
        page.goto(address)
        assert set(page.evaluate(WRITES, server.url)) <= {0, "refused"}
        page.get_by_role("button").click()
        expect(page.locator("body")).to_contain_text("pages of other sites are refused")
        assert server.client.get("/api/v1/loops?limit=200").json()["loops"] == before


FETCH = """([method, path, body]) => fetch(path, {
  method, body, headers: {'Content-Type': 'application/json', 'X-Untildone-Key': localStorage.getItem('untildone:key')}
}).then(answer => answer.status)"""


def test_our_own_page_writes_and_logs_out(browser: Browser, server: Server) -> None:
    # The first page of a server without dashboard forbids its scripts to connect.
    with stranger(browser, server, bypass_csp=True) as page:
        page.goto("/login")
        log_in(page)
        expect(page).to_have_url(f"{server.url}/")
        job = '{"task": "x", "settings": {"agent": "scripted"}}'
        assert page.evaluate(FETCH, ["POST", "/api/v1/loops", job]) == 201
        (cookie,) = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["name"]) == (True, "Lax", f"untildone_{server.port}")
        assert page.evaluate(FETCH, ["DELETE", "/api/v1/sessions/current", None]) == 204
        assert page.context.cookies() == []
        page.goto("/")
        expect(page.get_by_label("Token")).to_be_visible()
        page.context.add_cookies([cookie])  # type: ignore[list-item]
        page.goto("/")
        expect(page.get_by_label("Token")).to_be_visible()


def test_a_person_stays_logged_in_when_the_server_is_killed(browser: Browser, cli: CommandLine) -> None:
    with Server(cli) as server, stranger(browser, server) as page:
        page.goto("/login")
        log_in(page)
        expect(page).to_have_url(f"{server.url}/")
        server.kill()
        server.start()
        page.goto("/?again")
        expect(page).to_have_url(f"{server.url}/?again")
        expect(page.locator("body")).to_contain_text("untildone: the API")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_dashboard_leads_to_the_login_and_logs_out(
    browser: Browser, cli: CommandLine, size: dict[str, int]
) -> None:
    with DashboardServer(cli) as server, stranger(browser, server, viewport=size) as page:
        problems: list[str] = []
        page.on("pageerror", lambda problem: problems.append(str(problem)))
        loop_id = server.create("Write the docs", start=False)
        page.goto(f"/loops/{loop_id}")
        expect(page.get_by_label("Token")).to_be_visible()
        assert page.locator("link[href='/assets/base.css']").count() == 1
        log_in(page)
        expect(page).to_have_url(f"{server.url}/loops/{loop_id}")
        expect(page.get_by_role("heading", level=1)).to_contain_text("Write the docs")
        page.evaluate("localStorage.clear()")
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_label("Token")).to_be_visible()
        assert page.context.cookies() == [], "without its key, the session ended"
        log_in(page)
        expect(page).to_have_url(f"{server.url}/loops/{loop_id}")
        page.goto("/tokens")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        page.goto(f"/loops/{loop_id}")
        expect(page.get_by_label("Token")).to_be_visible()
        assert problems == []
