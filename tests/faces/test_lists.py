"""The cards of the inbox and of the list, the addresses of the list, and the money page: values by tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from untildone.core.attention import Act, Need, NeedKind
from untildone.core.doing import Doing, DoingKind
from untildone.core.limits import Limit
from untildone.core.model import Budget, Outcome, Spend, Status
from untildone.core.receipts.proof import Proof
from untildone.core.values.sentence import Sentence
from untildone.faces import web
from untildone.faces.web.chips import Chip
from untildone.faces.web.lists import addresses, cards
from untildone.faces.web.lists.addresses import Chosen
from untildone.faces.web.lists.cards import Card, Cards, Meter
from untildone.faces.web.pages import loops, money
from untildone.faces.web.translations.chinese import CHINESE
from untildone.faces.web.translations.texts import Language, Texts
from untildone.operations.loop_table import Row
from untildone.operations.showing.inbox import AtWork, Finished, Gate
from untildone.operations.showing.money import Money, Spent
from untildone.operations.showing.selecting import Sort
from untildone.operations.showing.values import Listing
from untildone.operations.showing.waiting import Waiting, Waits

T = Texts()
ONE = Cards(T, ["/srv/shop"])
NOW = 1_800_000_000.0


def row(**facts: Any) -> Row:
    return Row("loop-1", "/srv/shop", **{"status": Status.RUNNING, "title": "Fix it", "updated_at": NOW, **facts})


def acts(card: Card) -> list[tuple[str, str, Any]]:
    return [(each.label, each.act or each.href, json.loads(each.body or "null")) for each in card.buttons]


API = "POST /api/v1/loops/loop-1"


@pytest.mark.parametrize(
    ("need", "chip", "act"),
    [
        (Need(NeedKind.BLOCKED, Act.ANSWER, "?"), Chip("blocked", "warn"), ("Answer and go on", "", None)),
        (
            Need(NeedKind.BUDGET, Act.EXTEND, "", Limit.ITERATIONS, 5),
            Chip("budget used up", "warn"),
            ("+5 rounds and go on", f"{API}/resume", {"budget": {"iterations": "+5"}, "now": True}),
        ),
        (
            Need(NeedKind.BUDGET, Act.EXTEND, "", Limit.COST, 5),
            Chip("budget used up", "warn"),
            ("+$5 and go on", f"{API}/resume", {"budget": {"cost": "+5"}, "now": True}),
        ),
        (
            Need(NeedKind.BUDGET, Act.EXTEND, "", Limit.TOKENS, 1_000_000),
            Chip("budget used up", "warn"),
            ("+1,000,000 tokens and go on", f"{API}/resume", {"budget": {"tokens": "+1000000"}, "now": True}),
        ),
        (
            Need(NeedKind.BUDGET, Act.EXTEND, "", Limit.MINUTES, 30),
            Chip("budget used up", "warn"),
            ("+30 minutes and go on", f"{API}/resume", {"budget": {"minutes": "+30"}, "now": True}),
        ),
        (Need(NeedKind.LOGIN, Act.RETRY, ""), Chip("login", "bad"), ("Log in, then retry", f"{API}/retry", None)),
        (Need(NeedKind.FAILED, Act.RETRY, ""), Chip("failed", "bad"), ("Retry", f"{API}/retry", None)),
        (
            Need(NeedKind.CLAIMED, Act.ADD_CHECK, ""),
            Chip("not verified", "warn"),
            ("Add a check", "/new?from=loop-1", None),
        ),
        (
            Need(NeedKind.LIMIT, Act.RESUME_NOW, "", until=NOW),
            Chip("at a limit", "info"),
            ("Resume now", f"{API}/resume", {"now": True}),
        ),
    ],
)
def test_each_need_has_its_one_act(need: Need, chip: Chip, act: tuple[str, str, Any]) -> None:
    card = ONE.need(row(need=need))
    assert (card.chip, acts(card), card.until) == (chip, [act], need.until)


def test_every_kind_and_act_has_a_card() -> None:
    for kind in NeedKind:
        for act in Act:
            assert ONE.need(row(need=Need(kind, act, "text"))).buttons


@pytest.mark.parametrize(
    ("doing", "waiting", "text", "since"),
    [
        (Doing(DoingKind.WORKS, NOW, "claude"), None, "claude works on round 3", NOW),
        (Doing(DoingKind.CHECKS, NOW, "pytest -q"), None, "Check: pytest -q", NOW),
        (Doing(DoingKind.REVIEWS, NOW, "codex"), None, "codex reviews round 3", NOW),
        (Doing(DoingKind.STARTS, NOW), Waiting(Waits.SLOT, "It waits for a slot."), "It waits for a slot.", 0.0),
    ],
)
def test_a_card_says_what_a_loop_does_now(doing: Doing, waiting: Waiting | None, text: str, since: float) -> None:
    card = ONE.working(AtWork(row(doing=doing, spend=Spend(3)), waiting, "the last <line>"))
    assert (card.text, card.since, card.chip.word) == (text, since, "waiting" if waiting else "running")
    assert card.last == "the last &lt;line&gt;"


@pytest.mark.parametrize(
    ("budget", "spend", "meter"),
    [
        (Budget(), Spend(9), None),
        (Budget(iterations=4), Spend(1), Meter("1 of 4 rounds", 25)),
        (Budget(iterations=4), Spend(3), Meter("3 of 4 rounds", 75, "warn")),
        (Budget(iterations=10, cost_usd=1.0), Spend(1, cost_usd=0.5), Meter("$0.50 of $1.00 spent", 50)),
        (Budget(minutes=60), Spend(1, seconds=3600), Meter("60 of 60 minutes", 100, "bad")),
    ],
)
def test_the_tightest_limit_is_the_budget_line(budget: Budget, spend: Spend, meter: Meter | None) -> None:
    assert cards.meter_of(T, row(budget=budget, spend=spend)) == meter


@pytest.mark.parametrize(
    ("facts", "keys"),
    [
        ({}, "ps"),
        ({"status": Status.PAUSED, "outcome": Outcome.PAUSED}, "rs"),
        ({"status": Status.CREATED}, "rs"),
        ({"status": Status.COMPLETED, "outcome": Outcome.VERIFIED}, ""),
        ({"not_ours": "it has no seal"}, ""),
    ],
)
def test_the_keys_of_a_row(facts: dict[str, Any], keys: str) -> None:
    assert "".join(each.key for each in ONE.listed(row(**facts), None).buttons) == keys


def test_a_loop_that_nobody_drives_can_be_resumed() -> None:
    card = ONE.working(AtWork(row(doing=Doing(DoingKind.STARTS, NOW)), Waiting(Waits.NOBODY, "Nobody drives it.")))
    assert [each.label for each in card.buttons] == ["Resume", "Stop"]


def test_money_and_rounds_are_written_one_way() -> None:
    ended = row(status=Status.COMPLETED, outcome=Outcome.VERIFIED, spend=Spend(1, 5, 0.354), budget=Budget(5))
    card = ONE.done(Finished(ended, (Gate("pytest -q"),), 1, 12, 2))
    assert (card.rounds, card.cost, card.worked, card.meter) == ("1 round", "$0.35", "5 s", None)
    assert ONE.listed(row(spend=Spend(2, 5, 0.001), budget=Budget(5)), None).cost == "<$0.01"


def test_titles_of_agents_cannot_turn_the_text_around() -> None:
    assert "\u202e" not in ONE.listed(row(title="gpj.\u202eexe", reason="\u2066x"), None).title


@pytest.mark.parametrize(
    ("workspaces", "names"),
    [
        (["/a/shop"], [""]),
        (["/a/shop", "/a/site"], ["shop", "site"]),
        (["/a/shop", "/b/shop"], ["/a/shop", "/b/shop"]),
    ],
)
def test_the_workspace_is_named_if_there_are_several(workspaces: list[str], names: list[str]) -> None:
    made = Cards(T, workspaces)
    assert [made.listed(Row("x", path, Status.CREATED), None).workspace for path in workspaces] == names


def test_sentences_with_values_are_translated() -> None:
    text = Sentence("{agent} is at its usage limit: {message}", agent="claude", message="11pm {x}")
    need = Need(NeedKind.LIMIT, Act.RESUME_NOW, text)
    assert Cards(Texts(Language.SIMPLIFIED), ["/w"]).need(row(need=need)).text == "claude 达到使用限额：11pm {x}"


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ({}, Chosen()),
        ({"q": " a b ", "status": "paused", "page": "3"}, Chosen(q="a b", status="paused", page=3)),
        ({"sort": "-cost", "workspace": "/w", "period": "7d"}, Chosen(sort=Sort.COST, workspace="/w", period="7d")),
        ({"status": "nonsense", "sort": "x", "page": "-1", "workspace": "/other", "needs": "<b>"}, Chosen()),
        ({"page": "9" * 30}, Chosen()),
        ({"page": "٣"}, Chosen()),
    ],
)
def test_an_address_is_read_and_written_back(words: dict[str, str], chosen: Chosen) -> None:
    assert addresses.read(words, ["/w"]) == chosen
    query = dict(re.findall(r"(\w+)=([^&]*)", chosen.address(page=chosen.page)))
    again = {name: value.replace("+", " ").replace("%2F", "/") for name, value in query.items()}
    assert addresses.read(again, ["/w"]) == chosen


def test_another_filter_begins_at_the_first_page_and_a_second_click_turns_the_order() -> None:
    chosen = Chosen(q="x", page=4)
    assert chosen.address(status="paused") == "/loops?q=x&status=paused"
    assert chosen.sorted_by("cost") == "/loops?q=x&sort=-cost"
    assert Chosen(sort=Sort.COST).sorted_by("cost") == "/loops?sort=cost"
    assert (Chosen(sort=Sort.COST).order_of("cost"), Chosen().order_of("cost")) == ("descending", "none")
    assert chosen.filter().search == "x"
    assert Chosen(period="1d").filter(now=86_401.0).since == 1.0


@pytest.mark.parametrize(
    ("page", "pages", "links"),
    [(1, 1, (1,)), (1, 9, (1, 2, 3, 9)), (5, 9, (1, 3, 4, 5, 6, 7, 9)), (9, 9, (1, 7, 8, 9))],
)
def test_the_pages_around_are_linked(page: int, pages: int, links: tuple[int, ...]) -> None:
    assert addresses.around(page, pages) == links


def test_the_filters_count_and_damaged_is_rare() -> None:
    found = loops.filters(Chosen(status="paused"), Listing((), 2, 1, 1, {"paused": 2, "running": 1}))
    assert [(each.word, each.count, each.chosen) for each in found[:4]] == [
        ("All", 3, False),
        ("created", 0, False),
        ("running", 1, False),
        ("paused", 2, True),
    ]
    assert "damaged" not in [each.word for each in found]
    assert "damaged" in [each.word for each in loops.filters(Chosen(), Listing((), 1, 1, 1, {"damaged": 1}))]


@pytest.mark.parametrize(
    ("word", "offset"),
    [("", 0), ("540", 540), ("-300", -300), ("99999", 0), ("9999", 840), ("x", 0), ("--3", 0), ("٣", 0)],
)
def test_the_time_zone_of_the_browser(word: str, offset: int) -> None:
    assert money.offset_of(word) == offset


def test_the_plot_names_every_day() -> None:
    days = (Spent("2026-11-16", 0.5), Spent("2026-11-17", 2.0))
    view = money.view(T, Money(days, Spent("", 2.5), (), ()), ["/w"], 0)
    assert "2026-11-17: $2.00" in view.plot
    assert view.plot.count("<rect") == 2


def test_every_text_of_these_pages_is_in_chinese() -> None:
    folder = Path(web.__file__).parent
    files = [*(folder / "templates" / "lists").iterdir(), *(folder / "lists").glob("*.py")]
    used = (re.findall(r"""(?<!ge)\b_?t\((?:"([^"]+)"|'([^']+)')""", file.read_text()) for file in files)
    texts = {text for pairs in used for pair in pairs for text in pair if text}
    assert len(texts) > 80
    assert sorted(text for text in texts if text not in CHINESE) == []
    told = [*cards.DOING.values(), *(word for word, _ in cards.NEED_CHIPS.values()), *addresses.STATUSES]
    assert sorted(text for text in told if text not in CHINESE and text != "{what}") == []


def test_cards_tell_the_proof_level() -> None:
    verified = row(status=Status.COMPLETED, outcome=Outcome.VERIFIED, proof=Proof.CAUSAL)
    assert [ONE.listed(each, None).proof for each in (verified, row())] == ["causal", ""]
    assert ONE.done(Finished(verified)).proof == "causal"
