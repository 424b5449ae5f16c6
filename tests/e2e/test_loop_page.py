"""The page of one loop in a real browser: why a round failed, live output, changes, controls, messages, budget, tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.dashboard import PATIENCE, PICTURES, DashboardServer, browser, visit, waits_for
from tests.support.command_line import CommandLine, until

expect.set_options(timeout=PATIENCE)
__all__ = ["browser"]
COUNT_CLICKS = """addEventListener("click", (event) => event.isTrusted &&
    sessionStorage.setItem("clicks", `${1 + Number(sessionStorage.getItem("clicks") || 0)}`), true)"""
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardServer]:
    cli = CommandLine(tmp_path_factory.mktemp("loop-page"))
    with DashboardServer(cli) as server:
        yield server


@pytest.fixture(params=[WIDE, PHONE], ids=["1440", "390"])
def page(request: pytest.FixtureRequest, browser: Browser, server: DashboardServer) -> Iterator[Page]:
    with visit(browser, server, viewport=request.param) as page:
        page.add_init_script(COUNT_CLICKS)
        yield page


def clicks(page: Page) -> int:
    """How often a person has clicked in this tab."""
    return int(page.evaluate("sessionStorage.getItem('clicks') || '0'"))


def width(page: Page) -> int:
    return page.viewport_size["width"] if page.viewport_size else 0


def picture(page: Page, name: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"loop-{name}-{width(page)}.png", full_page=True)


def status(page: Page, word: str) -> None:
    expect(page.locator(".loop-head .chip").first).to_have_text(word, ignore_case=True)


FAILING: list[list[dict[str, Any]]] = [
    [{"say": "# Plan\n\nI look at **everything** first.", "think": "What is there?"}, {"run": ["echo", "hello"]}],
    [{"write": {"app.py": "def total(a, b):\n    return a + b\n"}, "say": "Half of it is there."}],
    [
        {"write": {"app.py": "def total(a, b):\n    return a - b\n", "优惠.md": "# 优惠\n"}},
        {"say": "Everything is finished.", "usage": {"cost_usd": 0.35, "tokens": 1200}},
        {"claim": True},
    ],
]


@pytest.fixture(scope="module")
def failed(server: DashboardServer) -> str:
    """A loop whose round 3 was refused by its check."""
    check = "printf '\\033[31mE   assert 1 == 3\\033[0m\\n'; exit 3"
    loop_id = server.create(
        "Add the totals", args=[server.script(*FAILING)], checks=[check], max_iterations=3, max_cost=2
    )
    server.until_status(loop_id, "paused")
    return loop_id


def test_why_did_round_3_fail_needs_no_click(page: Page, failed: str) -> None:
    page.goto(f"/loops/{failed}")
    status(page, "budget used up")
    third = page.locator("#round-3")
    expect(third.locator(".round-failed")).to_contain_text("exit code 3")
    expect(third.locator(".terminal .ansi-fg-red")).to_have_text("E   assert 1 == 3")
    expect(page.locator("#round-1 .section").first).to_be_hidden()
    assert clicks(page) == 0
    picture(page, "failed")
    third.locator(".section > summary", has_text="Asked").click()
    expect(third.locator(".prompt")).to_contain_text("Add the totals")
    third.locator(".section > summary", has_text="Changed").click()
    expect(third.locator(".file", has_text="优惠.md")).to_be_visible()
    expect(third.locator("td.code", has_text="return a - b")).to_be_visible()
    third.locator(".section > summary", has_text="Did").click()
    expect(third.locator(".said")).to_contain_text("Everything is finished.")
    picture(page, "round-open")


def test_live_output_pause_now_and_a_message_with_rounds(page: Page, server: DashboardServer) -> None:
    go = server.flag(f"go-{width(page)}")
    script = server.script(
        [{"say": "I look around first."}, {"run": waits_for(go)}, {"say": "Second words."}, {"run": waits_for(go)}],
        [{"say": "Third words."}, {"claim": True}],
    )
    loop_id = server.create("Write it", args=[script], max_iterations=5)
    page.goto(f"/loops/{loop_id}")
    status(page, "running")
    expect(page.locator(".said").first).to_contain_text("I look around first.")
    expect(page.locator(".loop-line time.clock")).to_have_text(re.compile(r"\d:\d\d"))
    expect(page.locator(".loop-line", has_text="last output")).to_be_visible()
    page.get_by_label("Message to the agent").fill("[r+5] mind the docs")
    expect(page.locator("#message-effect")).to_contain_text("Added 5 rounds. Remaining: 9")
    page.reload()
    expect(page.get_by_label("Message to the agent")).to_have_value("[r+5] mind the docs")
    expect(page.locator("#message-effect")).to_contain_text("Added 5 rounds. Remaining: 9")
    picture(page, "running")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_label("Message to the agent")).to_have_value("")
    expect(page.get_by_text("1 of 10 rounds")).to_be_visible()
    expect(page.locator(".moment-message")).to_contain_text("mind the docs")
    assert clicks(page) == 1
    page.get_by_role("button", name="Pause now").click()
    status(page, "paused")
    assert clicks(page) == 2
    go.touch()
    expect(page.locator("#round-1 .round-failed")).to_contain_text("interrupted by pause")
    page.get_by_role("button", name="Resume", exact=True).click()
    status(page, "claimed")
    expect(page.locator("#round-2 .said").first).to_contain_text("Third words.")


def test_output_grows_while_it_is_read(page: Page, server: DashboardServer) -> None:
    go = server.flag(f"more-{width(page)}")
    loop_id = server.create(
        args=[server.script([{"say": "One."}, {"run": waits_for(go)}, {"say": "Two."}, {"claim": True}])]
    )
    page.goto(f"/loops/{loop_id}")
    expect(page.locator(".said").first).to_contain_text("One.")
    go.touch()
    expect(page.locator(".output")).to_contain_text("Two.")
    page.get_by_label("Search in the output").fill("two.")
    expect(page.locator("[data-found]")).to_have_text("1 found")


def test_out_of_rounds_goes_on_with_one_click(page: Page, server: DashboardServer) -> None:
    script = server.script([{"say": "Not yet."}], [{"say": "Now."}, {"claim": True}])
    loop_id = server.create(args=[script], max_iterations=1)
    server.until_status(loop_id, "paused")
    page.goto(f"/loops/{loop_id}")
    status(page, "budget used up")
    page.get_by_role("button", name="+5 rounds and go on").click()
    status(page, "claimed")
    assert clicks(page) == 1
    assert server.show(loop_id)["max_iterations"] == 6


def test_a_failed_loop_is_retried_duplicated_or_deleted(page: Page, server: DashboardServer) -> None:
    script = server.script(
        [{"fail": {"kind": "refused", "message": "I will not."}}], [{"say": "Yes."}, {"claim": True}]
    )
    loop_id = server.create("Ask nicely", args=[script])
    server.until_status(loop_id, "failed", "paused")
    page.goto(f"/loops/{loop_id}")
    expect(page.locator("#round-1 .round-failed")).to_contain_text("I will not.")
    picture(page, "died")
    page.locator(".loop-acts button.primary").click()
    status(page, "claimed")
    assert clicks(page) == 1
    page.locator("#more-acts > summary").click()
    page.get_by_role("button", name="Duplicate", exact=True).click()
    page.wait_for_url(lambda url: loop_id not in url)
    status(page, "created")
    page.locator("#more-acts > summary").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url(re.compile(r"/$"))


def test_stop_asks_first_and_says_the_difference(page: Page, server: DashboardServer) -> None:
    loop_id = server.create(args=["--scenario=hang"])
    page.goto(f"/loops/{loop_id}")
    expect(page.locator(".said").first).to_contain_text("I shall think about it.")
    page.get_by_role("button", name="Stop…").click()
    expect(page.get_by_role("dialog")).to_contain_text("Now: the agent is ended at once")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert server.show(loop_id)["status"] == "running"
    page.keyboard.press("s")
    page.get_by_role("button", name="Stop now").click()
    status(page, "stopped")


def test_budget_and_title_are_changed_in_place(page: Page, server: DashboardServer) -> None:
    loop_id = server.create("An old title", start=False, max_iterations=5)
    page.goto(f"/loops/{loop_id}")
    page.get_by_role("button", name="Rounds +5").click()
    expect(page.get_by_text("0 of 10 rounds")).to_be_visible()
    page.get_by_text("Change the budget").click()
    page.locator("input[name=cost]").fill("2.5")
    page.locator(".budget-form button").click()
    expect(page.get_by_text("$0.00 of $2.50")).to_be_visible()
    page.locator("#more-acts > summary").click()
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Title").fill("A new title")
    page.get_by_role("button", name="Save").first.click()
    expect(page.locator("h1")).to_have_text("A new title")
    assert server.show(loop_id)["title"] == "A new title"


def test_tasks_are_added_ticked_changed_moved_and_deleted(page: Page, server: DashboardServer) -> None:
    loop_id = server.create("With tasks", start=False)
    page.goto(f"/loops/{loop_id}")
    for words in ("First", "Second"):
        page.get_by_label("New task").fill(words)
        page.get_by_role("button", name="Add").click()
        expect(page.locator(".task-text", has_text=words)).to_be_visible()
    page.get_by_role("button", name="Done: First").click()
    expect(page.locator(".task.completed")).to_contain_text("First")
    grip = page.locator(".task", has_text="Second").locator(".grip")
    grip.drag_to(page.locator(".task", has_text="First"), target_position={"x": 40, "y": 2})
    expect(page.locator(".task-text").first).to_have_text("Second")
    server.until(loop_id, lambda shown: shown["tasks"][0]["text"] == "Second")
    page.locator(".task", has_text="First").locator(".task-menu > summary").click()
    page.get_by_role("button", name="Move up").click()
    expect(page.locator(".task-text").first).to_have_text("First")
    page.locator(".task", has_text="Second").locator(".task-menu > summary").click()
    page.locator(".task", has_text="Second").get_by_label("Text").fill("Second, better")
    page.locator(".task", has_text="Second").get_by_role("button", name="Save").click()
    expect(page.locator(".task-text").last).to_have_text("Second, better")
    page.locator(".task", has_text="First").locator(".task-menu > summary").click()
    page.locator(".task", has_text="First").get_by_role("button", name="Delete").click()
    expect(page.locator(".task-text")).to_have_count(1)


def test_changes_side_by_side_and_comments_that_become_a_message(
    page: Page, server: DashboardServer, failed: str
) -> None:
    page.goto(f"/loops/{failed}/changes")
    expect(page.locator(".file")).to_have_count(2)
    page.get_by_label("View").select_option("split")
    expect(page.locator("table.split").first).to_be_visible()
    page.get_by_label("Changes", exact=True).select_option("3")
    expect(page.locator("td.old", has_text="return a + b")).to_be_visible()
    page.get_by_role("button", name="Comment on line 2").last.click()
    page.get_by_label("Comment", exact=True).fill("This must be a plus.")
    page.get_by_role("button", name="Add comment").click()
    page.reload()
    expect(page.locator("tr.comment.saved")).to_contain_text("This must be a plus.")
    picture(page, "changes")
    page.get_by_role("button", name="Send to the agent").click()
    expect(page.locator(".comment-bar")).to_be_hidden()
    assert "app.py:2\n> +    return a - b\nThis must be a plus." in server.show(failed)["inbox"][-1]


def test_changes_of_a_loop_that_has_not_begun(page: Page, server: DashboardServer) -> None:
    page.goto(f"/loops/{server.create(start=False)}/changes")
    expect(page.get_by_text("The loop has not begun yet.")).to_be_visible()
    expect(page.get_by_role("link", name="Raw")).to_have_count(0)


def test_about_receipt_and_verify(page: Page, server: DashboardServer) -> None:
    loop_id = server.create(
        "Make x", args=[server.script([{"write": {"x.txt": "x"}}, {"claim": True}])], checks=["test -f x.txt"]
    )
    server.until_status(loop_id, "completed")
    page.goto(f"/loops/{loop_id}/about")
    status(page, "verified")
    page.locator("#more-acts > summary").click()
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Title").fill("Make x, verified")
    page.get_by_label("Title").press("Enter")
    expect(page.locator("h1")).to_have_text("Make x, verified")
    expect(page.locator(".loop-head .notice")).to_contain_text("test -f x.txt: passed")
    expect(page.locator("dd", has_text="verified")).to_be_visible()
    page.get_by_role("button", name="Run the checks again").click()
    expect(page.locator("#act-result")).to_contain_text("agrees with the receipt")
    picture(page, "about")


def test_two_loops_side_by_side(page: Page, server: DashboardServer, failed: str) -> None:
    other = server.create("Another one", args=[server.script([{"claim": True}])], max_iterations=7)
    server.until_status(other, "completed")
    page.goto(f"/compare?a={failed}")
    page.get_by_label("Loop 2").select_option(other)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("row", name="Rounds 3 1")).to_be_visible()
    expect(page.locator("tr.differs", has_text="checks")).to_contain_text("exit 3")
    picture(page, "compare")


def test_a_question_is_answered_with_one_act(page: Page, server: DashboardServer) -> None:
    ask = "I cannot choose.\n<blocked>Red or blue?</blocked>"
    loop_id = server.create(
        args=[server.script([{"say": ask}], [{"match": "Blue", "say": "Blue it is."}, {"claim": True}])]
    )
    server.until_status(loop_id, "paused")
    page.goto(f"/loops/{loop_id}")
    expect(page.locator(".loop-head blockquote")).to_contain_text("Red or blue?")
    page.get_by_label("Message to the agent").fill("Blue")
    page.get_by_role("button", name="Send and go on").click()
    status(page, "claimed")
    expect(page.locator("#round-2 .said").first).to_contain_text("Blue it is.")


def test_a_branch_with_commits_has_the_command_that_merges_it(server: DashboardServer) -> None:
    script = server.script([{"write": {"merged.txt": "1"}}, {"claim": True}])
    loop_id = server.create(args=[script], worktree=True, commit=True)
    server.until_status(loop_id, "completed")
    for place in ("", "/changes"):
        shown = server.client.get(f"/loops/{loop_id}{place}").text
        assert re.search(r'data-copy="git -C \S+ merge untildone/', shown)


def test_a_round_is_taken_back_and_that_is_undone(page: Page, server: DashboardServer) -> None:
    turns = [[{"write": {f"step-{n}.txt": f"{n}"}}] for n in (1, 2)]
    loop_id = server.create(args=[server.script(*turns)], max_iterations=2, worktree=True)
    server.until_status(loop_id, "paused")
    page.goto(f"/loops/{loop_id}")
    expect(page.locator(".branch")).to_contain_text(f"untildone/{loop_id}")
    expect(page.locator(".branch")).to_contain_text("Nothing is committed on it: the work is in ")
    expect(page.locator(".branch [data-copy]")).to_have_count(0)
    page.locator("#round-1-card > summary").click()
    page.locator("#round-1").get_by_role("button", name="Take back to here").click()
    page.get_by_role("button", name="Yes").click()
    expect(page.locator(".moment-rewind")).to_contain_text("Taken back to where it was after round 1")
    expect(page.locator("[data-name=undo-rewind]")).to_be_attached()
    # The head may be shown anew in this moment: a key does not miss what moves.
    page.locator("#more-acts > summary").press("Enter")
    page.get_by_role("button", name="Undo the rewind").press("Enter")
    expect(page.locator(".moment-undo_rewind")).to_be_visible()
    expect(page.locator(".loop-head [data-name=extend]")).to_contain_text("+5 rounds and go on")
    page.locator("#round-2").get_by_role("button", name="Begin this round again").press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("More rounds that it gets: 1.")
    page.screenshot(path=PICTURES / f"begin-again-{width(page)}.png")
    page.get_by_role("button", name="Yes").click()
    server.until(loop_id, lambda shown: shown["current_iteration"] == 3 and shown["status"] == "paused")


def test_long_output_follows_its_end_unless_a_person_reads_back(page: Page, server: DashboardServer) -> None:
    go, again = server.flag(f"long-{width(page)}"), server.flag(f"longer-{width(page)}")
    many = [{"say": f"Line {n}.\n\n" + "word " * 40} for n in range(60)]
    parts: list[dict[str, Any]] = [*many, {"run": waits_for(go)}, {"say": "Later."}, {"run": waits_for(again)}]
    parts.append({"claim": True})
    loop_id = server.create(args=[server.script(parts)])
    page.goto(f"/loops/{loop_id}")
    output = page.locator(".output")
    expect(output).to_contain_text("Line 59.")
    page.wait_for_function(
        "() => ((each) => each.scrollHeight - each.scrollTop - each.clientHeight < 5)(document.querySelector('.output'))"
    )
    output.evaluate("each => { each.scrollTop = 0; }")
    expect(page.get_by_role("button", name="Jump to the end")).to_be_visible()
    go.touch()
    expect(output).to_contain_text("Later.")
    assert output.evaluate("each => each.scrollTop") == 0
    page.get_by_role("button", name="Jump to the end").click()
    expect(page.get_by_role("button", name="Jump to the end")).to_be_hidden()
    again.touch()
    status(page, "claimed")


def test_the_server_ends_at_once_although_somebody_reads_live_output(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    with DashboardServer(cli) as server, server.new_client() as reader:
        loop_id = server.create(args=["--scenario=hang"])
        path = f"/fragments/loops/{loop_id}/output/0001"
        until(lambda: reader.get(path).headers.get("x-going") == "1")
        size = reader.get(path).headers["x-size"]
        with ThreadPoolExecutor(1) as pool:
            held = pool.submit(reader.get, f"{path}?from=0&size={size}")
            assert not held.done()
            assert server.end() == 0
            assert held.result(PATIENCE / 1000).status_code == 200
