"""Which entries of a journal people are told about, once each, and in which words."""

from __future__ import annotations

import pytest

from untildone.core.events import (
    BudgetWarned,
    Entry,
    Event,
    GatesRan,
    LimitReached,
    Rested,
    RunnerLeased,
    SettingsChanged,
    TurnEnded,
    TurnStarted,
)
from untildone.core.kinds import Host
from untildone.core.limits import Limit
from untildone.core.model import Answer, Failure, FailureKind, GateResult, Outcome, Role, SessionUse
from untildone.core.notices import FIELDS, TEMPLATES, TITLES, Noticed, NoticeKind, noticed, rendered, template_problem

LEASED = RunnerLeased("t", 1, "here", Host.TERMINAL)


def started(profile: str = "claude") -> TurnStarted:
    return TurnStarted(Role.WORKER, 1, 1, profile, SessionUse.NEW, "do it")


def ended(failure: Failure | None = None) -> TurnEnded:
    return TurnEnded(Role.WORKER, 1, Answer(text="done", failure=failure), 1.0)


def limit(strikes: int = 1) -> LimitReached:
    return LimitReached("claude", 99.0, "resets at noon", strikes)


def tampered(*paths: str, signs: tuple[str, ...] = ()) -> GatesRan:
    return GatesRan((GateResult("check", "pytest", passed=False, tampered=paths),), signs=signs)


def told(*events: Event, start: Noticed | None = None) -> list[tuple[str, str]]:
    state, found = start or Noticed(), []
    for seq, event in enumerate(events, state.seq + 1):
        state, notices = noticed(state, Entry(seq, 1.0, event))
        found += [(notice.kind.value, notice.about) for notice in notices]
    return found


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((LEASED, Rested(Outcome.BLOCKED, "Which database?")), [("blocked", "Which database?")]),
        ((LEASED, Rested(Outcome.VERIFIED)), [("rest", "")]),
        ((LEASED, Rested(Outcome.BUDGET, "5 of 5 rounds used.")), [("rest", "5 of 5 rounds used.")]),
        ((LEASED, Rested(Outcome.INTERRUPTED)), []),
        ((RunnerLeased("t", 1, "here", Host.NONE), Rested(Outcome.STOPPED)), []),
        ((BudgetWarned(Limit.TOKENS, 750, 1000),), [("budget", "750 of 1,000 tokens used")]),
        ((SettingsChanged(("untildone.toml",)),), [("tampering", "settings changed: untildone.toml")]),
        ((started(), ended(), started()), []),
    ],
)
def test_an_entry_is_told_by_its_kind(events: tuple[Event, ...], expected: list[tuple[str, str]]) -> None:
    assert told(*events) == expected


def test_a_limit_is_told_when_it_is_reached_and_when_it_is_over_however_often_it_is_met_between() -> None:
    failed = ended(Failure(FailureKind.LIMIT, "limit"))
    events = (started(), failed, limit(), started(), failed, limit(2), started("codex"), ended(), started(), ended())
    assert told(*events) == [("limit", "claude: resets at noon"), ("lifted", "claude")]


def test_a_sign_of_tampering_is_told_once() -> None:
    events = (tampered("tests/a.py"), tampered("tests/a.py", signs=("a skip was added",)), tampered("tests/a.py"))
    assert told(*events) == [("tampering", "judge file changed: tests/a.py"), ("tampering", "a skip was added")]


def test_an_entry_that_is_contained_already_is_not_told_again() -> None:
    state = Noticed(seq=5, driven=True)
    assert noticed(state, Entry(5, 1.0, Rested(Outcome.VERIFIED))) == (state, ())
    assert told(Rested(Outcome.VERIFIED), start=state) == [("rest", "")]


def test_every_kind_has_a_template_of_known_names() -> None:
    assert set(TEMPLATES) == set(TITLES) == set(NoticeKind)
    assert [template_problem(text) for text in (*TEMPLATES.values(), *TITLES.values())] == [""] * 12


def test_a_template_with_an_unknown_name_is_refused_and_braces_are_text() -> None:
    assert template_problem("{nonsense}") == f"{{nonsense}} is not known; there are {', '.join(FIELDS)}"
    assert template_problem("{} {0} {{x") == ""
    assert (
        rendered("{title}: {about}\n{link}\n\nend {} {0}", {"title": "T", "about": "{link}"}) == "T: {link}\nend {} {0}"
    )
