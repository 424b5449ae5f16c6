"""What the pages of one loop show, as values: acts by state, sentences, the round to look at, moments, changes in pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from untildone.core.answers import amounts
from untildone.core.attention import need_of
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    Entry,
    Event,
    GatesRan,
    LimitReached,
    PauseRequested,
    Rested,
    TurnEnded,
    TurnInterrupted,
    TurnStarted,
)
from untildone.core.kinds import Interruption
from untildone.core.limits import Limit
from untildone.core.loop import Loop, UsageLimit
from untildone.core.model import Answer, Budget, Changes, GateResult, Outcome, Role, SessionUse, Spend, Status, Usage
from untildone.core.values.value import replace
from untildone.faces import web
from untildone.faces.web import chips
from untildone.faces.web.loop import acts, blocks, changes, head, rounds
from untildone.faces.web.render import diffs
from untildone.faces.web.translations.chinese import CHINESE
from untildone.faces.web.translations.texts import Texts
from untildone.operations.showing.moments import moment_of
from untildone.operations.showing.output_window import Block, Call, Kind
from untildone.operations.showing.timeline import Timeline, extended
from untildone.operations.showing.values import LoopView
from untildone.testing.driver import looping

T = Texts()
REFUSED = GateResult("check", "make test", passed=False, exit_code=2, reason="exit code 2", tests="3 failed")
PASSED = GateResult("check", "make test", passed=True, exit_code=0, tests="5 passed")


def view(loop: Loop | None = None, *events: Event, driven: bool = True, **changed: Any) -> LoopView:
    made = replace(loop or looping(["at work"]).loop, **changed)
    timeline = extended(Timeline(), tuple(Entry(seq, 100.0 + seq, event) for seq, event in enumerate(events, 1)))
    return LoopView((), made, timeline, (), driven)


def a_round(number: int, *results: GateResult, claimed: bool = True) -> tuple[Event, ...]:
    started = TurnStarted(Role.WORKER, number, 1, "claude", SessionUse.NEW, f"prompt {number}")
    ended = TurnEnded(
        Role.WORKER, number, Answer(text=f"words {number}", usage=Usage(0.5)), 2.0, Changes(tree="a" * 40)
    )
    return (started, ended, AnswerRead(claimed), *((GatesRan(results),) if results else ()))


def names(shown: LoopView) -> list[str]:
    return [each.name for each in acts.buttons(T, shown, need_of(shown.loop))]


@pytest.mark.parametrize(
    ("status", "outcome", "expected"),
    [
        (Status.CREATED, None, ["start"]),
        (Status.RUNNING, None, ["pause", "pause-now", "stop"]),
        (Status.PAUSED, Outcome.PAUSED, ["resume", "stop"]),
        (Status.PAUSED, Outcome.STALLED, ["resume", "stop"]),
        (Status.FAILED, Outcome.FAILED, ["retry", "begin-again"]),
        (Status.FAILED, Outcome.STOPPED, ["retry", "begin-again"]),
        (Status.COMPLETED, Outcome.CLAIMED, ["add-check"]),
    ],
)
def test_the_acts_of_each_state(status: Status, outcome: Outcome | None, expected: list[str]) -> None:
    shown = view(status=status, outcome=outcome, turn=None, pause=None, reason="")
    assert names(shown) == expected
    assert "delete" in [each.name for each in acts.more_buttons(T, shown)]


def test_out_of_rounds_is_extended_and_resumed_in_one_act() -> None:
    shown = view(
        status=Status.PAUSED, outcome=Outcome.BUDGET, budget=Budget(iterations=3), spend=Spend(iterations=3), turn=None
    )
    (extend, _) = acts.buttons(T, shown, need_of(shown.loop))
    assert extend.label == "+5 rounds and go on"
    assert extend.act == "POST /api/v1/loops/loop-1/resume"
    assert json.loads(extend.body) == {"budget": {"iterations": "+5"}, "now": True}
    assert extend.match == f'"{shown.loop.seq}"'


@pytest.mark.parametrize(("used", "more"), [(2, {}), (3, {"budget": {"iterations": "+2"}})])
def test_a_round_is_begun_again_with_rounds_for_it(used: int, more: dict[str, object]) -> None:
    budget, spend = Budget(iterations=3), Spend(iterations=used)
    shown = view(status=Status.PAUSED, outcome=Outcome.PAUSED, turn=None, budget=budget, spend=spend)
    again = acts.again_from(T, shown.loop, 2)
    assert again.act == "POST /api/v1/loops/loop-1/retry"
    assert json.loads(again.body) == {"from_round": 2, **more}
    assert ("More rounds that it gets: 2." in again.confirm) is bool(more)


def test_every_limit_is_raised_by_its_button() -> None:
    budget = Budget(iterations=3, minutes=60.0, cost_usd=2.0, tokens=10)
    gauges = head.head(T, view(status=Status.PAUSED, outcome=Outcome.PAUSED, budget=budget, turn=None)).gauges
    raised = [(each.limit, each.step_label, amounts.change(each.limit, each.step)) for each in gauges]
    assert raised == [
        (Limit.ITERATIONS, "+5", BudgetChanged(Limit.ITERATIONS, 5, add=True)),
        (Limit.MINUTES, "+30", BudgetChanged(Limit.MINUTES, 30.0, add=True)),
        (Limit.COST, "+$5.00", BudgetChanged(Limit.COST, 5.0, add=True)),
        (Limit.TOKENS, "+1,000,000", BudgetChanged(Limit.TOKENS, 1_000_000, add=True)),
    ]


def test_a_loop_at_a_limit_can_be_resumed_now() -> None:
    loop = looping(["at work"]).loop
    limits = {loop.agent_for(Role.WORKER).profile: UsageLimit(9e9, "resets at 5pm")}
    shown = view(loop, status=Status.RUNNING, outcome=None, turn=None, limits=limits)
    assert names(shown)[0] == "resume-now"
    (notice,) = head.head(T, shown).notices
    assert "resets at 5pm" in notice.text
    assert notice.until == 9e9


def test_a_verified_loop_names_its_gates() -> None:
    shown = view(status=Status.COMPLETED, outcome=Outcome.VERIFIED, gates=(PASSED,), turn=None)
    made = head.head(T, shown)
    assert made.chip == chips.Chip("verified", "good")
    assert [notice.text for notice in made.notices] == ["Done, and every gate agrees. make test: passed, 5 passed"]
    assert names(shown) == ["verify"]


def test_a_question_of_the_agent_is_its_own_words() -> None:
    shown = view(status=Status.PAUSED, outcome=Outcome.PAUSED, reason="Red or blue?", turn=None)
    made = head.head(T, shown)
    assert made.chip.word == "asks you"
    assert [(notice.text, notice.quote) for notice in made.notices] == [("The agent asks:", "Red or blue?")]


def test_gauges_write_money_one_way() -> None:
    loop = replace(looping(["x"]).loop, budget=Budget(iterations=4, cost_usd=5), spend=Spend(3, 60, 0.046))
    texts = [(each.text, each.percent, each.colour, each.step) for each in head.gauges(T, loop)]
    assert texts[0] == ("3 of 4 rounds", 75, "warn", "+5")
    assert texts[1][0] == "$0.05 of $5.00"


@pytest.mark.parametrize(
    ("status", "outcome", "opened"),
    [
        (Status.RUNNING, None, 3),
        (Status.PAUSED, Outcome.PAUSED, 2),
        (Status.FAILED, Outcome.STOPPED, 2),
        (Status.COMPLETED, Outcome.VERIFIED, 3),
    ],
)
def test_the_page_opens_at_the_failure(status: Status, outcome: Outcome | None, opened: int) -> None:
    events = (*a_round(1), *a_round(2, REFUSED), *a_round(3, claimed=False))
    shown = view(None, *events, status=status, outcome=outcome, turn=None)
    items = [each for each in rounds.page(T, shown).items if isinstance(each, rounds.RoundItem)]
    assert [each.round.number for each in items] == [3, 2, 1]
    assert [each.round.number for each in items if each.opened] == [opened]


def test_a_refused_round_says_why_and_opens_what_was_checked() -> None:
    shown = view(None, *a_round(1, REFUSED), status=Status.PAUSED, outcome=Outcome.PAUSED, turn=None)
    (item,) = (each for each in rounds.page(T, shown).items if isinstance(each, rounds.RoundItem))
    assert item.failed == ("make test: failed, exit code 2, 3 failed",)
    assert {each.name: each.opened for each in item.sections} == {
        "asked": False,
        "did": False,
        "changed": False,
        "checked": True,
    }


def test_moments_are_between_the_rounds_that_they_were_between() -> None:
    between = (Rested(Outcome.PAUSED), LimitReached("claude", 999.0, "later"))
    shown = view(None, *a_round(1), *between, *a_round(2), status=Status.RUNNING, outcome=None, turn=None)
    kinds = [
        each.moment.kind.value if isinstance(each, rounds.MomentItem) else each.round.number
        for each in rounds.page(T, shown).items
    ]
    assert kinds == [2, "limit", "rest", 1]


def test_a_long_loop_has_pages_and_the_chosen_round_is_on_the_page() -> None:
    events = tuple(event for number in range(1, 101) for event in a_round(number, claimed=False))
    shown = view(None, *events, status=Status.PAUSED, outcome=Outcome.PAUSED, turn=None)
    last = rounds.page(T, shown)
    assert (last.earlier, last.later) == (70, None)
    before = rounds.page(T, shown, until=70)
    assert (before.earlier, before.later) == (40, 100)
    chosen = rounds.page(T, shown, chosen=5)
    assert 5 in [each.round.number for each in chosen.items if isinstance(each, rounds.RoundItem) and each.opened]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (PauseRequested(), "Pause after the round was asked for"),
        (BudgetChanged(Limit.COST, 5, add=True), "Dollars: +$5.00"),
        (BudgetChanged(Limit.ITERATIONS, 8), "Rounds: 8 at most"),
        (BudgetChanged(Limit.ITERATIONS, None), "Rounds: no limit any more"),
        (LimitReached("claude", 9.0, "x"), "claude is at its usage limit"),
        (Rested(Outcome.STALLED, "x"), "Came to rest: stalled"),
        (TurnInterrupted(Role.WORKER, 1, Interruption.TIMEOUT), "interrupted at its time limit"),
    ],
)
def test_what_happened_is_said_in_a_few_words(event: Event, text: str) -> None:
    moment = moment_of(Entry(1, 5.0, event))
    assert moment is not None
    assert rounds.moment_text(T, moment) == text


@pytest.mark.parametrize(
    ("block", "summary", "part"),
    [
        (Block(Kind.SAID, 0, "**a**"), "", "<strong>a</strong>"),
        (Block(Kind.SAID, 0, '{"continue": false}'), "", '<span class="tk-t">&#34;continue&#34;</span>'),
        (Block(Kind.SAID, 0, "{not json}"), "", "{not json}"),
        (Block(Kind.SAID, 0, "\x1b[31mred\x1b[0m"), "", "ansi-fg-red"),
        (Block(Kind.THOUGHT, 0, "One.\nTwo."), "Thinking: One.", "Two."),
        (
            Block(Kind.TOOLS, 0, calls=(Call("Bash", "ls"), Call("Edit", "a.py", False, "no"))),
            "2 tool calls, last: Edit a.py (1 failed)",
            "",
        ),
    ],
)
def test_blocks_of_output(block: Block, summary: str, part: str) -> None:
    shown = blocks.shown(T, block)
    assert shown.summary == summary
    assert part in shown.html


def test_large_changes_are_folded_and_come_in_pages() -> None:
    body = "".join(f"+line {n}\n" for n in range(1000))
    text = "".join(
        f"diff --git a/f{n} b/f{n}\nnew file mode 100644\n--- /dev/null\n+++ b/f{n}\n@@ -0,0 +1,1000 @@\n{body}"
        for n in range(3)
    )
    shown = changes.shown(diffs.parsed(text))
    assert [each.opened for each in shown.files] == [True, False, False]
    assert (shown.files[0].rest, shown.added) == (400, 3000)
    assert changes.shown_file(0, shown.files[0].file, 800).rest is None


def test_every_text_of_these_pages_is_in_chinese() -> None:
    folder = Path(web.__file__).parent
    pages = [folder / "pages" / f"{name}.py" for name in ("loop", "changes", "about", "compare")]
    files = [*(folder / "templates" / "loop").rglob("*.html"), *(folder / "loop").glob("*.py"), *pages]
    used = (re.findall(r"""(?<!ge)\bt\(\s*(?:"([^"]+)"|'([^']+)')""", file.read_text()) for file in files)
    texts = {text for pairs in used for pair in pairs for text in pair if text}
    assert len(texts) > 150
    assert sorted(text for text in texts if text not in CHINESE) == []
