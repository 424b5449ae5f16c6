"""The dashboard in a real Chromium with 1,000 and 5,000 loops: a page shown, a row opened, and what the server and many tabs cost idle.

Each is compared with a static page of the same server: a document of a few bytes whose script fetches the same rows from the API and
shows them. Pages and static pages take turns, because the load of the machine changes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from unittest.mock import patch

import psutil
from figures import Row, figure, seconds_of
from playwright.sync_api import Browser, BrowserContext, Page
from tests.e2e.dashboard import DashboardServer, chromium, logged_in
from tests.support.command_line import CommandLine

from untildone.core.events import LoopCreated, Rested, StartRequested
from untildone.core.kinds import Host
from untildone.core.model import AgentChoice, Budget, LoopSettings, Outcome

SIZES, QUICK_SIZES = (1000, 5000), (100,)
TABS = 11
STATIC = "/api/v1/health"
"""A document of a few bytes. The script that a static page would have is put into it."""
MOST_KILOBYTES = 150.0
MOST_SERVER_MILLISECONDS = 50.0
MOST_IDLE_PERCENT = 1.0
SHOWN = """(selector) => new Promise((resolve) => {
  const look = () => requestAnimationFrame(() => document.querySelector(selector) ? resolve(performance.now()) : look());
  look();
})"""
"""Milliseconds from the start of the navigation to the frame in which an element is there."""
ROWS = """if (location.pathname === "/api/v1/health") addEventListener("DOMContentLoaded", async () => {
  const wanted = new URLSearchParams(location.search).get("loop");
  const answer = await (await fetch(wanted ? `/api/v1/loops/${wanted}` : "/api/v1/loops?limit=25")).json();
  const table = document.createElement("table");
  for (const loop of answer.loops || [answer]) {
    const row = table.insertRow();
    for (const name of ["status", "title", "agent", "mode", "updated_at", "loop_id"]) row.insertCell().textContent = loop[name];
  }
  table.id = "static";
  document.body.replaceChildren(table);
});"""


def rows(*, quick: bool) -> Iterator[Row]:
    with chromium() as browser:
        for number in QUICK_SIZES if quick else SIZES:
            yield from measured(browser, number, times=3 if quick else 15, idle=3.0 if quick else 15.0)


def measured(browser: Browser, number: int, times: int, idle: float) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        cli = CommandLine(Path(folder) / "bench")
        last = add_loops(cli, number)
        with DashboardServer(cli, "--quiet") as server, ExitStack() as contexts:
            page = contexts.enter_context(closing(visitor(browser, server))).new_page()
            static = contexts.enter_context(closing(visitor(browser, server))).new_page()
            yield from _served(server, number, times)
            yield from _shown(page, static, number, times)
            yield from _opened(page, static, number, times, last)
            yield from _weight(browser, server, number)
            yield from _idle(browser, server, number, idle)


def add_loops(cli: CommandLine, number: int) -> str:
    """Loops that rest: one in ten needs a person. Returns the id of the newest."""
    store, settings = cli.store(), LoopSettings("ralph", AgentChoice("claude", "claude"), str(cli.workspace))
    loop_id = ""
    for each in range(number):
        loop_id = f"loop-20261117-{each:06d}"
        created = LoopCreated(loop_id, f"Job number {each}", "A job", settings, Budget(iterations=5))
        rest = Rested(Outcome.PAUSED) if each % 10 else Rested(Outcome.BLOCKED, "Which port?")
        with patch.multiple(os, fsync=_nothing, fdatasync=_nothing):
            store.create(created, StartRequested(Host.TERMINAL), rest)
    return loop_id


def _nothing(_descriptor: int) -> None:
    """In place of a sync: these loops need not outlive a loss of power."""


def visitor(browser: Browser, server: DashboardServer) -> BrowserContext:
    """A browser that is logged in. Static pages fetch and write what the policy of the API's answers forbids."""
    context = logged_in(browser, server, viewport={"width": 1440, "height": 900}, bypass_csp=True)
    context.add_init_script(ROWS)
    return context


def _served(server: DashboardServer, number: int, times: int) -> Iterator[Row]:
    """What the server needs for a page, seen by a client on the same machine."""
    for path in ("/", "/loops", "/loops?q=number+77&sort=-cost", "/money"):
        took, listed = _asked(server, path, times), _asked(server, "/api/v1/loops?limit=25", times)
        what = f"{path} of {number:,} loops from the server"
        yield Row(what, figure(took, "ms"), "the API's list", figure(listed, "ms"), limit=MOST_SERVER_MILLISECONDS)


def _asked(server: DashboardServer, path: str, times: int) -> list[float]:
    """Milliseconds of each request, without the first."""
    return [seconds_of(lambda: server.client.get(path).raise_for_status()) * 1000 for _ in range(times + 1)][1:]


def _show(page: Page, path: str, selector: str) -> float:
    page.goto(path, wait_until="commit")
    return float(page.evaluate(SHOWN, selector))


def _shown(page: Page, static: Page, number: int, times: int) -> Iterator[Row]:
    for path in ("/", "/loops"):
        ours, others = list[float](), list[float]()
        for each in range(times + 1):
            took = _show(page, path, "[data-row]"), _show(static, STATIC, "#static")
            if each:
                ours.append(took[0])
                others.append(took[1])
        what = f"{path} of {number:,} loops shown, warm"
        yield Row(what, figure(ours, "ms"), "a static page", figure(others, "ms"), goal=1.5)


def _opened(page: Page, static: Page, number: int, times: int, loop_id: str) -> Iterator[Row]:
    ours, others = list[float](), list[float]()
    for each in range(times + 1):
        _show(page, "/loops", "[data-row]")
        page.locator(f"#row-{loop_id} [data-row-link]").click(no_wait_after=True)
        page.wait_for_url(f"**/loops/{loop_id}", wait_until="commit")
        took = float(page.evaluate(SHOWN, "main h1")), _show(static, f"{STATIC}?loop={loop_id}", "#static")
        if each:
            ours.append(took[0])
            others.append(took[1])
    yield Row(f"a row of {number:,} opened", figure(ours, "ms"), "a static page", figure(others, "ms"), goal=1.5)


def _weight(browser: Browser, server: DashboardServer, number: int) -> Iterator[Row]:
    with closing(visitor(browser, server)) as context:
        page, sizes = context.new_page(), list[int]()
        page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
        page.goto("/", wait_until="load")
        yield Row(
            f"the inbox of {number:,} loops, cold, all files",
            figure([sum(sizes) / 1024], "KB"),
            limit=MOST_KILOBYTES,
            note=f"{len(sizes)} requests",
        )


def _idle(browser: Browser, server: DashboardServer, number: int, seconds: float) -> Iterator[Row]:
    """The share of a core that the server needs for tabs in which nothing happens, beyond that without any tab."""
    assert server.process is not None
    pid = server.process.pid
    alone = _percent(pid, seconds)
    with _bare_server() as bare:
        uvicorn = _percent(bare, seconds)
    yield Row(
        f"an idle server with {number:,} loops",
        figure([alone], "% of a core"),
        "an idle uvicorn",
        figure([uvicorn], "% of a core"),
        limit=MOST_IDLE_PERCENT,
    )
    with closing(visitor(browser, server)) as context:
        for _ in range(TABS):
            _show(context.new_page(), "/loops", "[data-row]")
        time.sleep(2.0)
        ours = _percent(pid, seconds)
    with closing(visitor(browser, server)) as context:
        for _ in range(TABS):
            _show(context.new_page(), STATIC, "#static")
        time.sleep(2.0)
        static = _percent(pid, seconds)
    yield Row(
        f"{TABS} idle tabs with {number:,} loops, beyond a server without tabs",
        figure([max(0.0, ours - alone)], "% of a core"),
        limit=MOST_IDLE_PERCENT,
        note=f"server without tabs {alone:.2f} %, with {TABS} tabs {ours:.2f} %, with {TABS} static pages {static:.2f} %",
    )


@contextmanager
def _bare_server() -> Iterator[int]:
    """A uvicorn that serves nothing; its process id."""
    code = "import uvicorn; uvicorn.run(lambda *_: None, port=0, lifespan='off', log_level='warning')"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        try:
            time.sleep(3.0)
            yield process.pid
        finally:
            process.terminate()


def _percent(pid: int, seconds: float) -> float:
    process = psutil.Process(pid)
    before = process.cpu_times()
    time.sleep(seconds)
    after = process.cpu_times()
    return 100 * (after.user + after.system - before.user - before.system) / seconds
